//! From a component's bytes to a plugin that can be called: check, compile, link, list.
//!
//! Reads no file (`file` does) and decides nothing about names in the catalog.

mod error;
mod linked;
mod listing;
mod prescan;

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use wasmtime::component::{ComponentNamedList, Lift, Lower};

pub use error::LoadError;
pub(super) use linked::{InUse, Linked};
use listing::list;
pub(super) use prescan::{classify, prescan};

use super::abi::{CallContext, Completion, GuestError, PromptOutcome, ReadOutcome, Subject, ToolOutcome};
use super::call::Program;
use super::compile;
use super::dialect::Dialect;
use super::events::Events;
use super::fault::{CallError, Fault};
use super::function::Function;
use super::granted::Granted;
use super::grants::{Access, Grants};
use super::id::{Digest, PluginId};
use super::invocation::Invocation;
use super::limits::Limits;
use super::outcome;
use super::provider::{Call, Provider};
use super::redact::Said;
use super::sandbox::Sandbox;
use super::surface::Surface;

/// A loaded component. Calls in flight keep what they need, so it may be dropped any time.
pub struct Plugin {
    pub(super) program: Arc<Program>,
    surface: Arc<Surface>,
    warnings: Vec<String>,
}

impl Sandbox {
    /// Makes a plugin of a component's bytes: compiles it (or finds it in the cache), links
    /// it and asks it what it offers. May be called from any runtime.
    ///
    /// # Errors
    /// One clear reason why these bytes are no plugin; nothing is left behind.
    pub async fn load(
        self: &Arc<Self>,
        id: PluginId,
        component: Vec<u8>,
        limits: Limits,
        grants: Grants,
    ) -> Result<Plugin, LoadError> {
        let sandbox = self.clone();
        let loading = self.guests().spawn(async move {
            let (digest, component) = (Digest::of(&component), Arc::new(component));
            let (bytes, limit) = (component.clone(), limits.clone());
            compile::blocking(move || prescan(&bytes, &limit)).await??;
            let linked = sandbox.in_use.get_or_make(digest, async {
                let code = compile::compiled(&sandbox, component.clone(), digest).await?;
                Linked::new(&sandbox, code, &component)
            });
            let linked = linked.await?;
            drop(component);
            linked.fits(&limits)?;
            let program = Program::new(sandbox, id, digest, limits, grants, linked);
            // The listing's own time is short.
            program.granted.open_folders().await;
            Plugin::listed(program).await
        });
        match loading.await {
            Ok(loaded) => loaded,
            Err(error) => Err(LoadError::Host(error.to_string())),
        }
    }
}

impl Plugin {
    /// What was dropped from its lists, and why; for people.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The kinds of access without which some of its imports are of no use.
    pub fn needs(&self) -> &BTreeSet<Access> {
        &self.program.linked.needs
    }

    /// The same plugin under other limits and grants, asked again what it offers.
    ///
    /// # Errors
    /// As [`Sandbox::load`].
    pub async fn granted(&self, limits: Limits, grants: Grants) -> Result<Self, LoadError> {
        Self::listed(self.program.with_settings(limits, grants)).await
    }

    /// Opens what is granted, as a call would, so that the log says what is wrong with it.
    pub async fn try_grants(&self, grants: Grants) {
        Granted::new(self.program.id.clone(), grants, &self.program.sandbox).open_folders().await;
    }

    /// Asks what it offers.
    async fn listed(program: Arc<Program>) -> Result<Self, LoadError> {
        let (surface, warnings) = list(&program).await?;
        // Most plugins are called much later, or never.
        program.linked.rest();
        Ok(Self { program, surface: Arc::new(surface), warnings })
    }

    /// Makes a call; what fails after a denial is told as that.
    async fn perform<R>(
        &self,
        invocation: impl Invocation<Outcome = Result<R, CallError>>,
        call: Call,
    ) -> Result<R, CallError> {
        let denials = Denials::of(&call);
        denials.tell(self.program.perform(invocation, call).await)
    }

    /// Calls one function; what fails after a denial is told as that.
    async fn ask<P, R>(
        &self,
        function: &Function<P, (Result<R, GuestError>,)>,
        call: Call,
        params: impl FnOnce(CallContext) -> P + Send + 'static,
    ) -> Result<R, CallError>
    where
        P: ComponentNamedList + Lower + Send + Sync + 'static,
        R: Said + Send + 'static,
        (Result<R, GuestError>,): ComponentNamedList + Lift,
    {
        let denials = Denials::of(&call);
        let outcome = self.program.invoke(function, call, params).await;
        denials.tell(outcome.map(|outcome| outcome.map_err(CallError::Guest)))
    }
}

const NOT_FOUND: CallError = CallError::Guest(GuestError::NotFound);

/// What one call was denied.
struct Denials(Option<Arc<Events>>);

impl Denials {
    fn of(call: &Call) -> Self {
        Self(call.events.clone())
    }

    fn last(&self) -> Option<Access> {
        self.0.as_ref().and_then(|events| events.denied())
    }

    /// What failed after a denial is told as that.
    fn tell<R>(&self, outcome: Result<Result<R, CallError>, Fault>) -> Result<R, CallError> {
        let error = match outcome {
            Ok(Ok(outcome)) => return Ok(outcome),
            Ok(Err(CallError::Guest(error))) => outcome::guest_error(error),
            Ok(Err(error)) => error,
            Err(fault) => fault.into(),
        };
        Err(match (error, self.last()) {
            (CallError::Guest(GuestError::Failed(said)), Some(access)) => {
                Fault::Denied { access, said: Some(said) }.into()
            }
            (CallError::Fault(Fault::Trap), Some(access)) => Fault::Denied { access, said: None }.into(),
            (error, _) => error,
        })
    }
}

#[async_trait]
impl Provider for Plugin {
    fn id(&self) -> &PluginId {
        &self.program.id
    }

    fn digest(&self) -> &Digest {
        &self.program.digest
    }

    fn surface(&self) -> &Surface {
        &self.surface
    }

    fn may_ask(&self, access: Access) -> bool {
        let granted = &self.program.granted;
        let may = granted.grants.allow(access);
        if !may {
            granted.tell_denied(access, &access.line());
        }
        may
    }

    fn with_settings(&self, limits: Limits, grants: Grants) -> Option<Arc<dyn Provider>> {
        let program = self.program.with_settings(limits, grants);
        Some(Arc::new(Self { program, surface: self.surface.clone(), warnings: Vec::new() }))
    }

    async fn list_again(&self) -> Result<Option<Arc<dyn Provider>>, LoadError> {
        let newer = Self::listed(self.program.clone()).await?;
        for warning in &newer.warnings {
            tracing::warn!(plugin = %self.program.id, "{warning}");
        }
        Ok(Some(Arc::new(newer)))
    }

    async fn call_tool(&self, name: &str, arguments: &str, call: Call) -> Result<ToolOutcome, CallError> {
        let Some(tool) = self.surface.tool(name) else {
            return Err(NOT_FOUND);
        };
        let (name, arguments) = (name.to_owned(), arguments.to_owned());
        let denials = Denials::of(&call);
        let caller = call.caller.clone();
        let called = async {
            let outcome = match &self.program.linked.dialect {
                Dialect::Wharf(exports) => {
                    let tools = exports.tools.as_ref().ok_or(NOT_FOUND)?;
                    self.ask(&tools.call, call, |context| (name, arguments, context)).await?
                }
                Dialect::Wasmcp(exports) => {
                    self.perform(exports.call_tool(name, arguments).ok_or(NOT_FOUND)?, call).await?
                }
                Dialect::Plain(functions) => {
                    let function = functions.call(&name, arguments, self.program.limits.output);
                    self.perform(function.ok_or(NOT_FOUND)?, call).await?
                }
            };
            let outcome = outcome::tool(outcome, tool, self.program.limits.output)?;
            match (outcome, denials.last()) {
                (ToolOutcome::Complete(result), Some(access)) if result.is_error => {
                    Err(Fault::Denied { access, said: outcome::first_text(result) }.into())
                }
                (outcome, _) => Ok(outcome),
            }
        };
        self.program.breaker.around(&caller, called).await
    }

    async fn read_resource(&self, uri: &str, call: Call) -> Result<ReadOutcome, CallError> {
        let uri = uri.to_owned();
        let caller = call.caller.clone();
        let called = async {
            let outcome = match &self.program.linked.dialect {
                Dialect::Wharf(exports) => {
                    let resources = exports.resources.as_ref().ok_or(NOT_FOUND)?;
                    self.ask(&resources.read, call, |context| (uri, context)).await?
                }
                Dialect::Wasmcp(exports) => self.perform(exports.read_resource(uri).ok_or(NOT_FOUND)?, call).await?,
                Dialect::Plain(_) => return Err(NOT_FOUND),
            };
            Ok(outcome::read(outcome, self.program.limits.output)?)
        };
        self.program.breaker.around(&caller, called).await
    }

    async fn get_prompt(
        &self,
        name: &str,
        arguments: Vec<(String, String)>,
        call: Call,
    ) -> Result<PromptOutcome, CallError> {
        let name = name.to_owned();
        let caller = call.caller.clone();
        let called = async {
            let outcome = match &self.program.linked.dialect {
                Dialect::Wharf(exports) => {
                    let prompts = exports.prompts.as_ref().ok_or(NOT_FOUND)?;
                    self.ask(&prompts.get, call, |context| (name, arguments, context)).await?
                }
                Dialect::Wasmcp(exports) => {
                    self.perform(exports.get_prompt(name, &arguments).ok_or(NOT_FOUND)?, call).await?
                }
                Dialect::Plain(_) => return Err(NOT_FOUND),
            };
            Ok(outcome::prompt(outcome, self.program.limits.output)?)
        };
        self.program.breaker.around(&caller, called).await
    }

    async fn complete(
        &self,
        subject: Subject,
        name: &str,
        value: &str,
        given: Vec<(String, String)>,
        call: Call,
    ) -> Result<Completion, CallError> {
        let (name, value) = (name.to_owned(), value.to_owned());
        let caller = call.caller.clone();
        let called = async {
            let outcome = match &self.program.linked.dialect {
                Dialect::Wharf(exports) => {
                    let completions = exports.completions.as_ref().ok_or(NOT_FOUND)?;
                    self.ask(&completions.complete, call, |context| (subject, name, value, given, context)).await?
                }
                Dialect::Wasmcp(exports) => {
                    let request = exports.complete(subject, name, value, &given);
                    self.perform(request.ok_or(NOT_FOUND)?, call).await?
                }
                Dialect::Plain(_) => return Err(NOT_FOUND),
            };
            Ok(outcome::completion(outcome, self.program.limits.output)?)
        };
        self.program.breaker.around(&caller, called).await
    }

    async fn call_method(&self, name: &str, params: &str, call: Call) -> Result<String, CallError> {
        let Dialect::Wharf(exports) = &self.program.linked.dialect else { return Err(NOT_FOUND) };
        let extensions = exports.extensions.as_ref().ok_or(NOT_FOUND)?;
        let (name, params) = (name.to_owned(), params.to_owned());
        let caller = call.caller.clone();
        let called = async {
            let outcome = self.ask(&extensions.call, call, |context| (name, params, context)).await?;
            Ok(outcome::method(outcome, self.program.limits.output)?)
        };
        self.program.breaker.around(&caller, called).await
    }
}
