//! From a component's bytes to a plugin that can be called: check, compile, link, list.
//!
//! Reads no file (`file` does) and decides nothing about names in the catalog.

mod listing;

use std::collections::BTreeSet;
use std::future::ready;
use std::sync::Arc;

use async_trait::async_trait;
use wasmtime::component::{ComponentNamedList, Lift, Lower};

use listing::list;

use super::abi::{CallContext, Completion, GuestError, PromptOutcome, ReadOutcome, Subject, ToolOutcome};
use super::component::compile;
use super::component::prescan::prescan;
use super::dialects::Dialect;
use super::dialects::linked::Linked;
use super::error::LoadError;
use super::events::Events;
use super::fault::{CallError, Fault};
use super::id::{Digest, PluginId};
use super::imports::granted::Granted;
use super::instance::call::Program;
use super::instance::function::Function;
use super::instance::invocation::{Invocation, Typed};
use super::limits::Limits;
use super::outcome;
use super::policy::access::Access;
use super::policy::denial::Denial;
use super::policy::grants::Grants;
use super::policy::redact::Said;
use super::provider::{Call, Provider};
use super::sandbox::Sandbox;
use super::schema::Schema;
use super::schema::allowance::Allowance;
use super::surface::Surface;

/// A loaded component. Calls in flight keep what they need, so it may be dropped any time.
pub struct Plugin {
    pub(in crate::plugin) program: Arc<Program>,
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

    /// Makes a call and checks what comes of it, where it runs and in its own time; what fails
    /// after a denial is told as that.
    async fn perform<I: Invocation, R: Send + 'static>(
        &self,
        invocation: I,
        call: Call,
        told: impl FnOnce(I::Outcome) -> Result<R, CallError> + Send + 'static,
        check: impl FnOnce(&Program, R) -> Result<R, Fault> + Send + 'static,
    ) -> Result<R, CallError> {
        let check = |program: Arc<Program>, _, outcome| ready(check(&program, outcome).map_err(CallError::from));
        checked(&self.program, invocation, call, ready(Ok(())), told, check, |_| false).await
    }

    /// As [`Self::perform`], by a function that is called alone.
    async fn ask<P, R>(
        &self,
        function: &Function<P, (Result<R, GuestError>,)>,
        call: Call,
        params: impl FnOnce(CallContext) -> P + Send + 'static,
        check: impl FnOnce(&Program, R) -> Result<R, Fault> + Send + 'static,
    ) -> Result<R, CallError>
    where
        P: ComponentNamedList + Lower + Send + Sync + 'static,
        R: Said + Send + 'static,
        (Result<R, GuestError>,): ComponentNamedList + Lift,
    {
        let invocation = Typed { function: function.clone(), params };
        self.perform(invocation, call, |outcome| outcome.map_err(CallError::Guest), check).await
    }
}

const NOT_FOUND: CallError = CallError::Guest(GuestError::NotFound);

/// Makes a call between a check of what goes in and one of what comes out; what fails after a denial
/// is told as that.
async fn checked<I: Invocation, R: Send + 'static, F>(
    program: &Arc<Program>,
    invocation: I,
    call: Call,
    before: impl Future<Output = Result<(), CallError>> + Send + 'static,
    told: impl FnOnce(I::Outcome) -> Result<R, CallError> + Send + 'static,
    check: impl FnOnce(Arc<Program>, Denials, R) -> F + Send + 'static,
    is_light: fn(&R) -> bool,
) -> Result<R, CallError>
where
    F: Future<Output = Result<R, CallError>> + Send + 'static,
{
    let denials = Denials::of(&call);
    let (own, of_check) = (program.clone(), denials.clone());
    let after = move |outcome: I::Outcome| async move {
        let outcome = of_check.tell(Ok(told(outcome)))?;
        check(own, of_check, outcome).await
    };
    match program.perform_checked(invocation, call, before, after, is_light).await {
        // The guest itself did not end well.
        Err(CallError::Fault(fault)) => denials.tell(Err(fault)),
        ended => ended,
    }
}

/// What a tool's call is checked with, before and after it.
struct Checks {
    program: Arc<Program>,
    input: Schema,
    output: Option<Schema>,
}

impl Checks {
    /// Makes a call between both checks, in its own time.
    async fn around<I: Invocation>(
        self,
        invocation: I,
        arguments: Arc<str>,
        call: Call,
        told: impl FnOnce(I::Outcome) -> Result<ToolOutcome, CallError> + Send + 'static,
    ) -> Result<ToolOutcome, CallError> {
        let Self { program, input, output } = self;
        let own = program.clone();
        let before = async move { own.sandbox.check(&input, &arguments).await?.map_err(CallError::Input) };
        let check = move |program: Arc<Program>, denials: Denials, outcome| async move {
            match (outcome::tool(&program, outcome, output.as_ref()).await?, denials.last()) {
                (ToolOutcome::Complete(result), Some(denial)) if result.is_error => {
                    Err(Fault::Denied { denial, said: outcome::first_text(result) }.into())
                }
                (outcome, _) => Ok(outcome),
            }
        };
        checked(&program, invocation, call, before, told, check, outcome::is_light).await
    }
}

/// What one call was denied.
#[derive(Clone)]
struct Denials(Option<Arc<Events>>);

impl Denials {
    fn of(call: &Call) -> Self {
        Self(call.events.clone())
    }

    fn last(&self) -> Option<Denial> {
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
            (CallError::Guest(GuestError::Failed(said)), Some(denial)) => {
                Fault::Denied { denial, said: Some(said) }.into()
            }
            (CallError::Fault(Fault::Trap), Some(denial)) => Fault::Denied { denial, said: None }.into(),
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

    async fn call_tool(&self, name: &str, arguments: Arc<str>, call: Call) -> Result<ToolOutcome, CallError> {
        let Some(tool) = self.surface.tool(name) else {
            return Err(NOT_FOUND);
        };
        let (name, given) = (name.to_owned(), arguments.clone());
        let caller = call.caller.clone();
        let checks = Checks { program: self.program.clone(), input: tool.input.clone(), output: tool.output.clone() };
        let called = async {
            match &self.program.linked.dialect {
                Dialect::Wharf(exports) => {
                    let tools = exports.tools.as_ref().ok_or(NOT_FOUND)?;
                    let function = tools.call.clone();
                    let invocation = Typed { function, params: |context| (name, arguments, context) };
                    checks.around(invocation, given, call, |outcome| outcome.map_err(CallError::Guest)).await
                }
                Dialect::Wasmcp(exports) => {
                    let invocation = exports.call_tool(name, &arguments).ok_or(NOT_FOUND)?;
                    checks.around(invocation, given, call, |outcome| outcome).await
                }
                Dialect::Plain(functions) => {
                    let function = functions.call(&name, arguments, self.program.limits.output);
                    checks.around(function.ok_or(NOT_FOUND)?, given, call, |outcome| outcome).await
                }
            }
        };
        self.program.breaker.around(&caller, called).await
    }

    async fn check_form(&self, schema: &str, content: &str) -> Result<(), CallError> {
        let (program, schema, content) = (self.program.clone(), schema.to_owned(), content.to_owned());
        let checked = async move {
            // The time of a listing is as much as a form's schema may take to compile.
            let schema = program
                .forms
                .compile(&schema, &mut Allowance::new())
                .map_err(|why| Fault::BadOutput(format!("a form with a bad schema: {why}")))?;
            program.sandbox.check(&schema, &content).await?.map_err(CallError::Input)
        };
        self.program.compute(checked).await
    }

    async fn read_resource(&self, uri: &str, call: Call) -> Result<ReadOutcome, CallError> {
        let uri = uri.to_owned();
        let caller = call.caller.clone();
        let called = async {
            let check = |program: &Program, outcome| outcome::read(outcome, &program.forms, program.limits.output);
            match &self.program.linked.dialect {
                Dialect::Wharf(exports) => {
                    let resources = exports.resources.as_ref().ok_or(NOT_FOUND)?;
                    self.ask(&resources.read, call, |context| (uri, context), check).await
                }
                Dialect::Wasmcp(exports) => {
                    let request = exports.read_resource(uri).ok_or(NOT_FOUND)?;
                    self.perform(request, call, |outcome| outcome, check).await
                }
                Dialect::Plain(_) => Err(NOT_FOUND),
            }
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
            let check = |program: &Program, outcome| outcome::prompt(outcome, &program.forms, program.limits.output);
            match &self.program.linked.dialect {
                Dialect::Wharf(exports) => {
                    let prompts = exports.prompts.as_ref().ok_or(NOT_FOUND)?;
                    self.ask(&prompts.get, call, |context| (name, arguments, context), check).await
                }
                Dialect::Wasmcp(exports) => {
                    let request = exports.get_prompt(name, &arguments).ok_or(NOT_FOUND)?;
                    self.perform(request, call, |outcome| outcome, check).await
                }
                Dialect::Plain(_) => Err(NOT_FOUND),
            }
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
            let check = |program: &Program, outcome| outcome::completion(outcome, program.limits.output);
            match &self.program.linked.dialect {
                Dialect::Wharf(exports) => {
                    let completions = exports.completions.as_ref().ok_or(NOT_FOUND)?;
                    let params = |context| (subject, name, value, given, context);
                    self.ask(&completions.complete, call, params, check).await
                }
                Dialect::Wasmcp(exports) => {
                    let request = exports.complete(subject, name, value, &given).ok_or(NOT_FOUND)?;
                    self.perform(request, call, |outcome| outcome, check).await
                }
                Dialect::Plain(_) => Err(NOT_FOUND),
            }
        };
        self.program.breaker.around(&caller, called).await
    }

    async fn call_method(&self, name: &str, params: &str, call: Call) -> Result<String, CallError> {
        let Dialect::Wharf(exports) = &self.program.linked.dialect else { return Err(NOT_FOUND) };
        let extensions = exports.extensions.as_ref().ok_or(NOT_FOUND)?;
        let (name, params) = (name.to_owned(), params.to_owned());
        let caller = call.caller.clone();
        let check = |program: &Program, outcome| outcome::method(outcome, program.limits.output);
        let called = self.ask(&extensions.call, call, |context| (name, params, context), check);
        self.program.breaker.around(&caller, called).await
    }
}
