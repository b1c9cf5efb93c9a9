//! A plugin implemented by closures.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;

use crate::catalog::{Member, Naming};
use crate::identity::Identity;
use crate::plugin::abi::{
    Completion, Content, GuestError, Prompt, PromptArgument, ResourceDescription, Subject, TextContent, Tool,
    ToolOutcome, ToolResult,
};
use crate::plugin::{Access, Call, CallError, Digest, FrozenTool, LoadError, PluginId, Provider, Surface, Violation};

type Playing<T> = Pin<Box<dyn Future<Output = Result<T, CallError>> + Send>>;
type Completing = dyn Fn(String, String, Call) -> Result<Completion, CallError> + Send + Sync;

/// A plugin, empty unless a builder method adds something.
pub(in crate::server) struct Double {
    id: PluginId,
    digest: Digest,
    surface: Surface,
    /// Access that it was not granted.
    denied: Vec<Access>,
    tool: Box<dyn Fn(Call) -> Playing<ToolOutcome> + Send + Sync>,
    completion: Option<Box<Completing>>,
    /// How often it was listed again.
    listed: Arc<AtomicUsize>,
}

impl Double {
    pub(in crate::server) fn new(id: &str) -> Self {
        Self {
            id: PluginId::parse(id).expect("an id"),
            digest: Digest::of(b""),
            surface: Surface::default(),
            denied: Vec::new(),
            tool: Box::new(|_| Box::pin(async { Err(CallError::Guest(GuestError::NotFound)) })),
            completion: None,
            listed: Arc::default(),
        }
    }

    /// Adds one tool, `t`, implemented by `play`.
    pub(in crate::server) fn tool<F>(mut self, play: impl Fn(Call) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<ToolOutcome, CallError>> + Send + 'static,
    {
        let tool = Tool::new("t", r#"{"type":"object"}"#);
        self.surface.tools = Some(vec![FrozenTool::freeze(tool).expect("a tool")]);
        self.tool = Box::new(move |call| Box::pin(play(call)));
        self
    }

    /// Adds one prompt, `p`, with an argument `a`.
    pub(in crate::server) fn prompt(mut self) -> Self {
        let argument = PromptArgument { name: "a".into(), title: None, description: None, required: false };
        let (title, description, meta) = (None, None, None);
        let prompt =
            Prompt { name: "p".into(), title, description, arguments: vec![argument], icons: Vec::new(), meta };
        self.surface.prompts = Some(vec![prompt]);
        self
    }

    /// Adds resources with those URIs.
    pub(in crate::server) fn resources(mut self, uris: &[&str]) -> Self {
        let resource = |uri: &&str| ResourceDescription::new(*uri, *uri);
        self.surface.resources = Some(uris.iter().map(resource).collect());
        self
    }

    /// Adds completions, made from a description of the request and the value so far.
    pub(in crate::server) fn completes(
        mut self,
        complete: impl Fn(String, String, Call) -> Result<Completion, CallError> + Send + Sync + 'static,
    ) -> Self {
        self.surface.completions = true;
        self.completion = Some(Box::new(complete));
        self
    }

    pub(in crate::server) fn denied(mut self, access: Access) -> Self {
        self.denied.push(access);
        self
    }

    /// Counts how often it is listed again.
    pub(in crate::server) fn listed(&self) -> Arc<AtomicUsize> {
        self.listed.clone()
    }

    pub(in crate::server) fn member(self) -> Member {
        Member { provider: Arc::new(self), naming: Naming::Prefixed, pinned_surface: None }
    }
}

#[async_trait]
impl Provider for Double {
    fn id(&self) -> &PluginId {
        &self.id
    }
    fn digest(&self) -> &Digest {
        &self.digest
    }
    fn surface(&self) -> &Surface {
        &self.surface
    }
    fn may_ask(&self, access: Access, _: &Identity) -> bool {
        !self.denied.contains(&access)
    }
    async fn list_again(&self) -> Result<Option<Arc<dyn Provider>>, LoadError> {
        self.listed.fetch_add(1, Ordering::SeqCst);
        Ok(None)
    }
    async fn call_tool(&self, _: &str, _: Arc<str>, call: Call) -> Result<ToolOutcome, CallError> {
        (self.tool)(call).await
    }
    /// Content without `misfit` satisfies every schema.
    async fn check_form(&self, _: &str, content: &str) -> Result<(), CallError> {
        if !content.contains("misfit") {
            return Ok(());
        }
        let (path, reason) = ("/name".into(), "does not match".into());
        Err(CallError::Input(vec![Violation { path, reason, expected: "{}".into() }]))
    }
    async fn complete(
        &self,
        subject: Subject,
        name: &str,
        value: &str,
        given: Vec<(String, String)>,
        call: Call,
    ) -> Result<Completion, CallError> {
        let complete = self.completion.as_ref().expect("completions were requested, but not added");
        complete(format!("{subject:?} {name}={value} {given:?}"), value.to_owned(), call)
    }
}

/// A result with one text.
pub(in crate::server) fn done(text: &str) -> ToolOutcome {
    let content = vec![Content::Text(TextContent::new(text))];
    ToolOutcome::Complete(ToolResult { content, structured: None, is_error: false, meta: None })
}
