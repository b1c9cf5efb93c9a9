//! A loaded plugin: what it lists, and the calls of it.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;

use super::abi::{Completion, GuestError, PromptOutcome, ReadOutcome, Subject, ToolOutcome};
use super::dialects::Dialect;
use super::dialects::linked::Linked;
use super::error::LoadError;
use super::fault::{CallError, Fault};
use super::id::{Digest, PluginId};
use super::imports::granted::Granted;
use super::instance::call::PreparedComponent;
use super::limits::Limits;
use super::pinned_pages;
use super::policy::access::Access;
use super::policy::grants::Grants;
use super::policy::pages::PageReach;
use super::provider::{Call, Provider};
use super::schema::allowance::Allowance;
use super::skills::Skills;
use super::stored_listing::StoredListing;
use super::surface::{Listed, ListingWarning, Surface};
use super::tape::kept::Kept;
use super::tape::{Called, Completing, Taping};
use crate::identity::Identity;

/// A loaded component. May be dropped at any time: calls in flight share ownership of what they need.
pub struct Plugin {
    pub(in crate::plugin) prepared: Arc<PreparedComponent>,
    pub(in crate::plugin) linked: Arc<Linked>,
    surface: Arc<Surface>,
    pub(in crate::plugin) warnings: Vec<ListingWarning>,
}

impl Plugin {
    /// What people should know of its lists.
    pub fn warnings(&self) -> &[ListingWarning] {
        &self.warnings
    }

    /// How it is spoken to, where components of its kind differ in that; a text for people.
    pub fn spoken(&self) -> Option<String> {
        self.linked.dialect.spoken()
    }

    /// The kinds of access that its imports require.
    pub fn needs(&self) -> &BTreeSet<Access> {
        &self.linked.needs
    }

    /// The same plugin under other limits and grants, listed again.
    ///
    /// # Errors
    /// As `Sandbox::load`.
    pub async fn granted(&self, limits: Limits, grants: Grants) -> Result<Self, LoadError> {
        let (linked, skills) = (self.linked.clone(), self.surface.skills.clone());
        Self::listed(self.prepared.with_settings(limits, grants), linked, skills, None).await
    }

    /// Opens the granted folders, as a call would, so that errors are logged.
    pub async fn try_grants(&self, grants: Grants) {
        Granted::new(self.prepared.id.clone(), grants, &self.prepared.runtime.resources).open_folders().await;
    }

    /// Calls its list functions and freezes the surface; stores the listing in `stored`.
    pub(in crate::plugin) async fn listed(
        prepared: Arc<PreparedComponent>,
        linked: Arc<Linked>,
        skills: Skills,
        stored: Option<StoredListing>,
    ) -> Result<Self, LoadError> {
        let listed = linked.dialect.list(&prepared).await?;
        let listed = Listed { schemas: prepared.runtime.schemas, skills, ..listed };
        // On a blocking thread: compiling the schemas of a listing may take long.
        let freezing = prepared.runtime.freezing.acquire().await;
        let dialect = linked.clone();
        let frozen = prepared.runtime.guests().spawn_blocking(move || dialect.dialect.freeze(listed)).await;
        drop(freezing);
        let (surface, mut warnings) = frozen.map_err(|error| LoadError::Host(error.to_string()))??;
        warnings.extend(surface.page_warnings(&prepared.id, prepared.granted.grants.page_reach()));
        let (pages, unpinned) = pinned_pages::read(&prepared, &linked, &surface).await;
        warnings.extend(unpinned);
        let surface = Arc::new(Surface { pages, ..surface });
        if let Some(stored) = stored {
            let surface = surface.clone();
            let storing = prepared.runtime.guests().spawn_blocking(move || stored.store(&surface));
            storing.await.map_err(|error| LoadError::Host(error.to_string()))?;
        }
        // Most plugins are called much later or never, so their code pages need not stay in memory.
        linked.unmap_code();
        Ok(Self { prepared, linked, surface, warnings })
    }

    /// Refuses the contents of a page that are not those which are pinned.
    async fn only_pinned(&self, uri: &str, read: ReadOutcome) -> Result<ReadOutcome, CallError> {
        let Some(pinned) = self.surface.pages.get(uri).copied() else { return Ok(read) };
        let ReadOutcome::Complete(result) = read else { return Ok(read) };
        // A page may have megabytes.
        let compared = async move {
            match pinned_pages::digest(&result) == pinned {
                true => Ok(ReadOutcome::Complete(result)),
                false => Err(CallError::Fault(Fault::BadOutput("a page that is not the one which is pinned".into()))),
            }
        };
        self.prepared.compute(compared).await
    }

    /// Records a call, if it is to be recorded.
    fn taping(&self, call: &mut Call, called: impl FnOnce() -> Called) -> Option<Taping> {
        if call.tape.is_some() {
            return None;
        }
        let of = (&self.prepared.id, &self.prepared.digest);
        if self.linked.pre().is_none() {
            self.prepared.runtime.recorder.leave_out(&self.prepared.id, self.linked.is_only_elsewhere());
            return None;
        }
        let mut taping = self.prepared.runtime.recorder.begin(of, call.as_task, called)?;
        call.tape = Some(taping.tape());
        taping.cost(&mut call.cost);
        Some(taping)
    }

    fn dialect(&self) -> &dyn Dialect {
        self.linked.dialect.as_ref()
    }
}

/// The outcome of a call, which is recorded if the call is.
fn ended<T: Kept>(taping: Option<Taping>, outcome: Result<T, CallError>) -> Result<T, CallError> {
    if let Some(taping) = taping {
        taping.end(&outcome);
    }
    outcome
}

#[async_trait]
impl Provider for Plugin {
    fn id(&self) -> &PluginId {
        &self.prepared.id
    }

    fn digest(&self) -> &Digest {
        &self.prepared.digest
    }

    fn surface(&self) -> &Surface {
        &self.surface
    }

    fn may_ask(&self, access: Access, caller: &Identity) -> bool {
        self.prepared.of_caller(Some(caller)).granted.may_ask(access)
    }

    fn differs_by_caller(&self) -> bool {
        self.prepared.granted.grants.differ_by_caller()
    }

    fn page_reach(&self) -> PageReach<'_> {
        self.prepared.granted.grants.page_reach()
    }

    fn extras(&self, caller: &Identity) -> Vec<Box<str>> {
        self.prepared.granted.grants.extras.names(caller)
    }

    fn limits(&self) -> Limits {
        self.prepared.limits.clone()
    }

    fn asked(&self) -> BTreeSet<Access> {
        self.prepared.granted.asked()
    }

    fn missing_grants(&self) -> Vec<String> {
        self.prepared.granted.missing()
    }

    fn unusable_grants(&self) -> Vec<String> {
        self.prepared.granted.unusable()
    }

    fn lacked_folder(&self) -> bool {
        self.prepared.granted.lacked_folder()
    }

    fn with_settings(&self, limits: Limits, grants: Grants) -> Option<Arc<dyn Provider>> {
        let prepared = self.prepared.with_settings(limits, grants);
        let (linked, surface) = (self.linked.clone(), self.surface.clone());
        Some(Arc::new(Self { prepared, linked, surface, warnings: Vec::new() }))
    }

    async fn list_again(&self) -> Result<Option<Arc<dyn Provider>>, LoadError> {
        let skills = self.surface.skills.clone();
        let newer = Self::listed(self.prepared.clone(), self.linked.clone(), skills, None).await?;
        for warning in &newer.warnings {
            tracing::warn!(plugin = %self.prepared.id, "{warning}");
        }
        Ok(Some(Arc::new(newer)))
    }

    async fn call_tool(&self, name: &str, arguments: Arc<str>, mut call: Call) -> Result<ToolOutcome, CallError> {
        let tool = self.surface.tool(name).ok_or(CallError::Guest(GuestError::NotFound))?;
        let caller = call.caller.clone();
        let prepared = self.prepared.of_caller(call.identity.as_deref());
        let prepared = if call.as_task { prepared.as_task() } else { prepared };
        let taping = self.taping(&mut call, || Called::Tool(name.to_owned(), arguments.to_string()));
        let arguments = tool.taken(arguments);
        let called = self.dialect().call_tool(prepared, tool, arguments, call);
        ended(taping, self.prepared.breaker.around(&caller, called).await)
    }

    async fn check_arguments(&self, name: &str, arguments: Arc<str>) -> Result<(), CallError> {
        let tool = self.surface.tool(name).ok_or(CallError::Guest(GuestError::NotFound))?;
        let (prepared, input, arguments) = (self.prepared.clone(), tool.input.clone(), tool.taken(arguments));
        let checked =
            async move { prepared.runtime.checker.check(&input, &arguments).await?.map_err(CallError::Input) };
        self.prepared.compute(checked).await
    }

    async fn check_form(&self, schema: &str, content: &str) -> Result<(), CallError> {
        let (prepared, schema, content) = (self.prepared.clone(), schema.to_owned(), content.to_owned());
        let checked = async move {
            // A form's schema may take as long to compile as a listing.
            let schema = prepared
                .forms
                .compile(&schema, &mut Allowance::new())
                .map_err(|why| Fault::BadOutput(format!("a form with an invalid schema: {why}")))?;
            prepared.runtime.checker.check(&schema, &content).await?.map_err(CallError::Input)
        };
        self.prepared.compute(checked).await
    }

    async fn read_resource(&self, uri: &str, mut call: Call) -> Result<ReadOutcome, CallError> {
        if let Some(read) = self.surface.skills.read_file(uri, call.unread.as_ref()) {
            return read;
        }
        let caller = call.caller.clone();
        let prepared = self.prepared.of_caller(call.identity.as_deref());
        let taping = self.taping(&mut call, || Called::Resource(uri.to_owned()));
        let called = self.dialect().read_resource(prepared, uri, call);
        let read = ended(taping, self.prepared.breaker.around(&caller, called).await)?;
        self.only_pinned(uri, read).await
    }

    async fn get_prompt(
        &self,
        name: &str,
        arguments: Vec<(String, String)>,
        mut call: Call,
    ) -> Result<PromptOutcome, CallError> {
        let caller = call.caller.clone();
        let prepared = self.prepared.of_caller(call.identity.as_deref());
        let taping = self.taping(&mut call, || Called::Prompt(name.to_owned(), arguments.clone()));
        let called = self.dialect().get_prompt(prepared, name, arguments, call);
        ended(taping, self.prepared.breaker.around(&caller, called).await)
    }

    async fn complete(
        &self,
        subject: Subject,
        name: &str,
        value: &str,
        given: Vec<(String, String)>,
        mut call: Call,
    ) -> Result<Completion, CallError> {
        let caller = call.caller.clone();
        let prepared = self.prepared.of_caller(call.identity.as_deref());
        let taping = self.taping(&mut call, || {
            let (argument, value) = (name.to_owned(), value.to_owned());
            Called::Completion(Completing { subject: subject.clone(), argument, value, given: given.clone() })
        });
        let called = self.dialect().complete(prepared, subject, name, value, given, call);
        ended(taping, self.prepared.breaker.around(&caller, called).await)
    }

    async fn call_method(&self, name: &str, params: &str, mut call: Call) -> Result<String, CallError> {
        let caller = call.caller.clone();
        let prepared = self.prepared.of_caller(call.identity.as_deref());
        let taping = self.taping(&mut call, || Called::Method(name.to_owned(), params.to_owned()));
        let called = self.dialect().call_method(prepared, name, params, call);
        ended(taping, self.prepared.breaker.around(&caller, called).await)
    }
}
