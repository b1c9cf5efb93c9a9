//! A plugin whose listing is known and whose code is still being compiled: its calls wait for the code.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use super::abi::{Completion, PromptOutcome, ReadOutcome, Subject, ToolOutcome};
use super::fault::{CallError, Fault};
use super::id::{Digest, PluginId};
use super::limits::Limits;
use super::policy::access::Access;
use super::policy::grants::Grants;
use super::policy::pages::PageReach;
use super::provider::{Call, Provider};
use super::surface::Surface;
use crate::identity::Identity;

/// Maximum time that a call waits for the code.
const MAX_WAIT: Duration = Duration::from_secs(60);

pub struct PendingPlugin {
    id: PluginId,
    content: Digest,
    surface: Surface,
    /// Those of its calls, the wait for the code included.
    limits: Limits,
    grants: Grants,
    loaded: watch::Receiver<Option<Arc<dyn Provider>>>,
}

/// Ends the waiting of a [`PendingPlugin`]'s calls. Dropped without a provider, its calls fail.
pub struct Compiled(watch::Sender<Option<Arc<dyn Provider>>>);

impl Compiled {
    /// Passes the calls on to the loaded plugin.
    pub fn serve_from(&self, provider: Arc<dyn Provider>) {
        self.0.send_replace(Some(provider));
    }

    /// Whether a call waits.
    pub fn is_awaited(&self) -> bool {
        // One receiver is the plugin's own; each call that waits has another.
        self.0.receiver_count() > 1
    }
}

impl PendingPlugin {
    /// Under these limits and grants, and those that some callers have in addition.
    pub fn new(id: PluginId, content: Digest, surface: Surface, limits: Limits, grants: Grants) -> (Self, Compiled) {
        let (compiled, loaded) = watch::channel(None);
        (Self { id, content, surface, limits, grants, loaded }, Compiled(compiled))
    }

    /// The loaded plugin, and the call with what is left of its time.
    ///
    /// # Errors
    /// If it is not there in time, or is refused.
    async fn loaded(&self, call: Call) -> Result<(Arc<dyn Provider>, Call), CallError> {
        let start = Instant::now();
        let holding = self.grants.extras.holding(call.identity.as_deref());
        let end = start + self.limits.with_extras(&self.grants.extras, holding).timeout;
        let deadline = call.deadline.map_or(end, |deadline| deadline.min(end));
        let provider = self.loaded_until(deadline.min(start + MAX_WAIT)).await?;
        Ok((provider, Call { deadline: Some(deadline), ..call }))
    }

    async fn loaded_until(&self, end: Instant) -> Result<Arc<dyn Provider>, CallError> {
        let mut loaded = self.loaded.clone();
        let waited = timeout_at(end, loaded.wait_for(Option::is_some)).await.map_err(|_| Fault::Compiling)?;
        let provider = waited.ok().and_then(|provider| provider.clone());
        Ok(provider.ok_or(Fault::NotLoaded)?)
    }
}

#[async_trait]
impl Provider for PendingPlugin {
    fn id(&self) -> &PluginId {
        &self.id
    }

    fn digest(&self) -> &Digest {
        &self.content
    }

    fn surface(&self) -> &Surface {
        &self.surface
    }

    fn may_ask(&self, access: Access, caller: &Identity) -> bool {
        self.loaded.borrow().as_ref().is_some_and(|provider| provider.may_ask(access, caller))
    }

    fn differs_by_caller(&self) -> bool {
        self.loaded.borrow().as_ref().is_none_or(|provider| provider.differs_by_caller())
    }

    fn page_reach(&self) -> PageReach<'_> {
        self.grants.page_reach()
    }

    fn extras(&self, caller: &Identity) -> Vec<Box<str>> {
        self.grants.extras.names(caller)
    }

    async fn call_tool(&self, name: &str, arguments: Arc<str>, call: Call) -> Result<ToolOutcome, CallError> {
        let (provider, call) = self.loaded(call).await?;
        provider.call_tool(name, arguments, call).await
    }

    async fn check_arguments(&self, name: &str, arguments: Arc<str>) -> Result<(), CallError> {
        let provider = self.loaded_until(Instant::now() + self.limits.timeout.min(MAX_WAIT)).await?;
        provider.check_arguments(name, arguments).await
    }

    async fn check_form(&self, schema: &str, content: &str) -> Result<(), CallError> {
        self.loaded_until(Instant::now() + self.limits.timeout.min(MAX_WAIT)).await?.check_form(schema, content).await
    }

    async fn read_resource(&self, uri: &str, call: Call) -> Result<ReadOutcome, CallError> {
        if let Some(read) = self.surface.skills.read_file(uri, call.unread.as_ref()) {
            return read;
        }
        let (provider, call) = self.loaded(call).await?;
        provider.read_resource(uri, call).await
    }

    async fn get_prompt(
        &self,
        name: &str,
        arguments: Vec<(String, String)>,
        call: Call,
    ) -> Result<PromptOutcome, CallError> {
        let (provider, call) = self.loaded(call).await?;
        provider.get_prompt(name, arguments, call).await
    }

    async fn complete(
        &self,
        subject: Subject,
        name: &str,
        value: &str,
        given: Vec<(String, String)>,
        call: Call,
    ) -> Result<Completion, CallError> {
        let (provider, call) = self.loaded(call).await?;
        provider.complete(subject, name, value, given, call).await
    }

    async fn call_method(&self, name: &str, params: &str, call: Call) -> Result<String, CallError> {
        let (provider, call) = self.loaded(call).await?;
        provider.call_method(name, params, call).await
    }
}

#[cfg(test)]
mod tests;
