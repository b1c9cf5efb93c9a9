//! A plugin whose listing is known and whose code is still being compiled: its calls wait for the code.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use super::abi::{Completion, GuestError, PromptOutcome, ReadOutcome, Subject, ToolOutcome};
use super::fault::{CallError, Fault};
use super::id::{Digest, PluginId};
use super::policy::access::Access;
use super::provider::{Call, Provider};
use super::surface::Surface;

/// Maximum time that a call waits for the code.
const MAX_WAIT: Duration = Duration::from_secs(60);

pub struct PendingPlugin {
    id: PluginId,
    content: Digest,
    surface: Surface,
    loaded: watch::Receiver<Option<Arc<dyn Provider>>>,
}

/// Ends the waiting of a [`PendingPlugin`]'s calls. Dropped without a provider, its calls find nothing.
pub struct Compiled(watch::Sender<Option<Arc<dyn Provider>>>);

impl Compiled {
    /// Passes the calls on to the loaded plugin.
    pub fn serve_from(&self, provider: Arc<dyn Provider>) {
        self.0.send_replace(Some(provider));
    }
}

impl PendingPlugin {
    pub fn new(id: PluginId, content: Digest, surface: Surface) -> (Self, Compiled) {
        let (compiled, loaded) = watch::channel(None);
        (Self { id, content, surface, loaded }, Compiled(compiled))
    }

    /// The loaded plugin.
    ///
    /// # Errors
    /// If it is not there in time, or is refused.
    async fn loaded(&self, call: Option<&Call>) -> Result<Arc<dyn Provider>, CallError> {
        let mut loaded = self.loaded.clone();
        let end = end_of_wait(Instant::now(), call.and_then(|call| call.deadline));
        let waited = timeout_at(end, loaded.wait_for(Option::is_some)).await.map_err(|_| Fault::Compiling)?;
        let provider = waited.ok().and_then(|provider| provider.clone());
        provider.ok_or(CallError::Guest(GuestError::NotFound))
    }
}

fn end_of_wait(start: Instant, deadline: Option<Instant>) -> Instant {
    let latest = start + MAX_WAIT;
    deadline.map_or(latest, |deadline| deadline.min(latest))
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

    fn may_ask(&self, access: Access) -> bool {
        self.loaded.borrow().as_ref().is_some_and(|provider| provider.may_ask(access))
    }

    async fn call_tool(&self, name: &str, arguments: Arc<str>, call: Call) -> Result<ToolOutcome, CallError> {
        self.loaded(Some(&call)).await?.call_tool(name, arguments, call).await
    }

    async fn check_form(&self, schema: &str, content: &str) -> Result<(), CallError> {
        self.loaded(None).await?.check_form(schema, content).await
    }

    async fn read_resource(&self, uri: &str, call: Call) -> Result<ReadOutcome, CallError> {
        self.loaded(Some(&call)).await?.read_resource(uri, call).await
    }

    async fn get_prompt(
        &self,
        name: &str,
        arguments: Vec<(String, String)>,
        call: Call,
    ) -> Result<PromptOutcome, CallError> {
        self.loaded(Some(&call)).await?.get_prompt(name, arguments, call).await
    }

    async fn complete(
        &self,
        subject: Subject,
        name: &str,
        value: &str,
        given: Vec<(String, String)>,
        call: Call,
    ) -> Result<Completion, CallError> {
        self.loaded(Some(&call)).await?.complete(subject, name, value, given, call).await
    }

    async fn call_method(&self, name: &str, params: &str, call: Call) -> Result<String, CallError> {
        self.loaded(Some(&call)).await?.call_method(name, params, call).await
    }
}

#[cfg(test)]
mod tests;
