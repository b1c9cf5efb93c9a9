//! A source of tools, resources and prompts.
//!
//! Implemented by loaded components, by the host's own tools, and by doubles in tests. Independent
//! of the protocol and of folders.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::abi::{Answer, ClientFeatures, Completion, GuestError, PromptOutcome, ReadOutcome, Subject, ToolOutcome};
use super::error::LoadError;
use super::events::Events;
use super::fault::CallError;
use super::id::{Digest, PluginId};
use super::limits::Limits;
use super::policy::access::Access;
use super::policy::grants::Grants;
use super::policy::pages::PageReach;
use super::surface::Surface;
use super::tape::Tape;
use crate::budgets::Charge;
use crate::byte_budget::ByteBudget;
use crate::identity::Identity;
use crate::metrics::Cost;
use crate::rights::Permissions;

/// A source of tools, resources and prompts. Dropping a call's future cancels the call; methods
/// that are not implemented return not found.
#[async_trait]
pub trait Provider: Send + Sync {
    fn id(&self) -> &PluginId;

    /// The digest of the code, which identifies a version of a plugin.
    fn digest(&self) -> &Digest;

    /// Whether it is part of the host: its names take precedence over those of plugins.
    fn is_host(&self) -> bool {
        false
    }

    /// Its lists and tool descriptions. Constant during the provider's lifetime.
    fn surface(&self) -> &Surface;

    /// Whether it has the grant for a request to that caller's client. If not, the missing grant is
    /// logged.
    fn may_ask(&self, access: Access, caller: &Identity) -> bool {
        let _ = (access, caller);
        true
    }

    /// Whether callers have different grants, or values, folders and secrets of their own: what it gives to one is not for
    /// others.
    fn differs_by_caller(&self) -> bool {
        false
    }

    /// What its pages may reach, of what they ask for.
    fn page_reach(&self) -> PageReach<'_> {
        PageReach::None
    }

    /// The names of the extra grants and limits that hold for a caller.
    fn extras(&self, caller: &Identity) -> Vec<Box<str>> {
        let _ = caller;
        Vec::new()
    }

    /// The limits of its calls.
    fn limits(&self) -> Limits {
        Limits::default()
    }

    /// What it asked of clients since it was loaded, without what it may not ask.
    fn asked(&self) -> BTreeSet<Access> {
        BTreeSet::new()
    }

    /// The grants that it was denied for lack of them, as words for `wharf grant`.
    fn missing_grants(&self) -> Vec<String> {
        Vec::new()
    }

    /// Why it was denied what is granted: what is wrong, and what to do.
    fn unusable_grants(&self) -> Vec<String> {
        Vec::new()
    }

    /// Whether a call failed for lack of a file while no folder is granted, which may be the reason.
    fn lacked_folder(&self) -> bool {
        false
    }

    /// The same source under other limits and grants; running calls keep those that they started
    /// with. `None`: it has none.
    fn with_settings(&self, limits: Limits, grants: Grants) -> Option<Arc<dyn Provider>> {
        let _ = (limits, grants);
        None
    }

    /// The same source, listed again after it reported a changed list. `None` if its lists cannot
    /// change.
    ///
    /// # Errors
    /// As [`super::sandbox::Sandbox::load`]; this provider stays usable.
    async fn list_again(&self) -> Result<Option<Arc<dyn Provider>>, LoadError> {
        Ok(None)
    }

    /// `arguments` is the text of a JSON object. It is validated against the tool's input schema
    /// as part of the call, and the result has passed the checks of `outcome`.
    async fn call_tool(&self, name: &str, arguments: Arc<str>, call: Call) -> Result<ToolOutcome, CallError> {
        let _ = (name, arguments, call);
        Err(CallError::Guest(GuestError::NotFound))
    }

    /// Validates arguments as [`Self::call_tool`] does, without calling it.
    async fn check_arguments(&self, name: &str, arguments: Arc<str>) -> Result<(), CallError> {
        let _ = (name, arguments);
        Ok(())
    }

    /// Validates a form's answer against the form's schema, under the limits of a call. Both are
    /// JSON text.
    async fn check_form(&self, schema: &str, content: &str) -> Result<(), CallError> {
        let _ = (schema, content);
        Err(CallError::Guest(GuestError::NotFound))
    }

    async fn read_resource(&self, uri: &str, call: Call) -> Result<ReadOutcome, CallError> {
        let _ = (uri, call);
        Err(CallError::Guest(GuestError::NotFound))
    }

    async fn get_prompt(
        &self,
        name: &str,
        arguments: Vec<(String, String)>,
        call: Call,
    ) -> Result<PromptOutcome, CallError> {
        let _ = (name, arguments, call);
        Err(CallError::Guest(GuestError::NotFound))
    }

    async fn complete(
        &self,
        subject: Subject,
        name: &str,
        value: &str,
        given: Vec<(String, String)>,
        call: Call,
    ) -> Result<Completion, CallError> {
        let _ = (subject, name, value, given, call);
        Err(CallError::Guest(GuestError::NotFound))
    }

    /// A method of the plugin. `params` and the result are the text of a JSON object.
    async fn call_method(&self, name: &str, params: &str, call: Call) -> Result<String, CallError> {
        let _ = (name, params, call);
        Err(CallError::Guest(GuestError::NotFound))
    }
}

/// The context of a call, besides its arguments.
#[derive(Debug, Clone)]
pub struct Call {
    /// The host's id of the call, for the log. Not the JSON-RPC id.
    pub id: String,
    /// The caller: a plugin's permits and queue are shared fairly among callers. Empty for the
    /// host itself.
    pub caller: Arc<str>,
    /// Whose call it is, for what each user has of their own. `None`: of the host itself.
    pub identity: Option<Arc<Identity>>,
    /// What the caller may use, for the host's own tools.
    pub permissions: Permissions,
    /// The budgets that its computing time is charged to.
    pub charge: Option<Arc<Charge>>,
    /// Adds up what it costs, if somebody wants to know.
    pub cost: Option<Arc<Cost>>,
    /// Counts the bytes that the caller has not read. The call starts only while this is open: it
    /// may have closed while the call waited for a permit.
    pub unread: Option<ByteBudget>,
    /// The client features that the plugin may use.
    pub client: ClientFeatures,
    /// Answers to the questions of the previous round.
    pub answers: Vec<Answer>,
    /// The plugin's state from that round.
    pub state: Option<Vec<u8>>,
    /// The request's `_meta`, text of a JSON object.
    pub meta: Option<String>,
    /// The deadline, if it is earlier than the plugin's timeout.
    pub deadline: Option<Instant>,
    /// Receives the plugin's events for the caller.
    pub events: Option<Arc<Events>>,
    /// Whether it may become a task: it has their limits, and permits of its own.
    pub as_task: bool,
    /// Where what it asks of the host is written down, or answered from.
    pub tape: Option<Tape>,
    /// Signals to the plugin that the caller has cancelled. It does not stop the call: dropping the
    /// future does.
    pub cancelled: CancellationToken,
}

impl Call {
    /// A call without client features.
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            caller: Arc::default(),
            identity: None,
            permissions: Permissions::open(),
            charge: None,
            cost: None,
            unread: None,
            client: ClientFeatures::empty(),
            answers: Vec::new(),
            state: None,
            meta: None,
            deadline: None,
            events: None,
            as_task: false,
            tape: None,
            cancelled: CancellationToken::new(),
        }
    }
}
