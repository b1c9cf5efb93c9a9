//! A source of tools, resources and prompts, whatever is behind it.
//!
//! Implemented by loaded components, by what the host itself offers, and by doubles in
//! tests. Knows neither wire nor folder.

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
use super::surface::Surface;
use crate::budget::Budget;

/// A source of tools, resources and prompts. Dropping a call's future cancels the call; what
/// is not there to be called is not found.
#[async_trait]
pub trait Provider: Send + Sync {
    fn id(&self) -> &PluginId;

    /// The hash of what runs, to tell two versions of a plugin apart.
    fn digest(&self) -> &Digest;

    /// Whether it is the host's own: its names come first, and no plugin takes them.
    fn is_host(&self) -> bool {
        false
    }

    /// What it offers. The same for as long as the provider lives.
    fn surface(&self) -> &Surface;

    /// Whether it may ask a client for that. Who asks for it all the same is denied it, which
    /// its operator is told.
    fn may_ask(&self, access: Access) -> bool {
        let _ = access;
        true
    }

    /// The same source under other limits and grants; calls that run keep those that they began
    /// with. `None`: there are none to change.
    fn with_settings(&self, limits: Limits, grants: Grants) -> Option<Arc<dyn Provider>> {
        let _ = (limits, grants);
        None
    }

    /// The same source, asked again what it offers; for when it says that a list has
    /// changed. What cannot change has nothing new to say.
    ///
    /// # Errors
    /// As [`super::sandbox::Sandbox::load`]; this provider goes on as it was.
    async fn list_again(&self) -> Result<Option<Arc<dyn Provider>>, LoadError> {
        Ok(None)
    }

    /// `arguments` is the text of a JSON object. That it fits the tool's input schema is checked
    /// as part of the call, and what is returned has passed the checks of `outcome`.
    async fn call_tool(&self, name: &str, arguments: Arc<str>, call: Call) -> Result<ToolOutcome, CallError> {
        let _ = (name, arguments, call);
        Err(CallError::Guest(GuestError::NotFound))
    }

    /// Whether a form's answer satisfies the schema that the plugin gave with the form: JSON text
    /// both, checked as a call is.
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

    /// A method of its own. `params` is the text of a JSON object, and so is the result.
    async fn call_method(&self, name: &str, params: &str, call: Call) -> Result<String, CallError> {
        let _ = (name, params, call);
        Err(CallError::Guest(GuestError::NotFound))
    }
}

/// What a call is about beside its arguments.
#[derive(Debug, Clone)]
pub struct Call {
    /// The host's name for the call, for its log. Not the JSON-RPC id.
    pub id: String,
    /// For whom it is made: callers share a plugin's turns and its queue fairly. Empty for the
    /// host itself.
    pub caller: Arc<str>,
    /// Counts the bytes that wait for the caller. The call begins only while that is open: it
    /// may have closed while the call waited for its turn.
    pub unread: Option<Budget>,
    /// What the plugin may ask the client for.
    pub client: ClientFeatures,
    /// Answers to what an earlier round asked for.
    pub answers: Vec<Answer>,
    /// What the plugin wanted back from that round.
    pub state: Option<Vec<u8>>,
    /// The request's `_meta`, text of a JSON object.
    pub meta: Option<String>,
    /// When the call must be over, if that is before the plugin's own limit.
    pub deadline: Option<Instant>,
    /// Where what the plugin says is put for the caller.
    pub events: Option<Arc<Events>>,
    /// Tells the plugin that the caller has given up. It does not stop the call: dropping
    /// the future does.
    pub cancelled: CancellationToken,
}

impl Call {
    /// A call that expects nothing of the client.
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            caller: Arc::default(),
            unread: None,
            client: ClientFeatures::empty(),
            answers: Vec::new(),
            state: None,
            meta: None,
            deadline: None,
            events: None,
            cancelled: CancellationToken::new(),
        }
    }
}
