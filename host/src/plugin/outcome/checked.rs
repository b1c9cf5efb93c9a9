//! Calls between the check of what goes in and the check of what comes out.
//!
//! Both are part of the call: they run where it runs, under its deadline and computing time.

use std::future::ready;
use std::sync::Arc;

use wasmtime::component::{ComponentNamedList, Lift, Lower};

use super::{first_text, guest_error, is_light};
use crate::plugin::abi::{CallContext, Completion, GuestError, PromptOutcome, ReadOutcome, ToolOutcome};
use crate::plugin::events::Events;
use crate::plugin::fault::{CallError, Fault};
use crate::plugin::instance::call::Program;
use crate::plugin::instance::function::Function;
use crate::plugin::instance::invocation::{Invocation, Typed};
use crate::plugin::policy::denial::Denial;
use crate::plugin::policy::redact::Said;
use crate::plugin::provider::Call;
use crate::plugin::surface::FrozenTool;

/// Calls a tool: its arguments are checked against its input schema, its result against the output
/// schema. `read` makes an outcome of what the guest gave.
pub(in crate::plugin) async fn tool<I: Invocation>(
    program: &Arc<Program>,
    tool: &FrozenTool,
    arguments: Arc<str>,
    invocation: I,
    call: Call,
    read: impl FnOnce(I::Outcome) -> Result<ToolOutcome, CallError> + Send + 'static,
) -> Result<ToolOutcome, CallError> {
    let (own, input, output) = (program.clone(), tool.input.clone(), tool.output.clone());
    let before = async move { own.runtime.checker.check(&input, &arguments).await?.map_err(CallError::Input) };
    let check = move |program: Arc<Program>, denials: Denials, outcome| async move {
        match (super::tool(&program, outcome, output.as_ref()).await?, denials.last()) {
            (ToolOutcome::Complete(result), Some(denial)) if result.is_error => {
                Err(Fault::Denied { denial, said: first_text(result) }.into())
            }
            (outcome, _) => Ok(outcome),
        }
    };
    checked(program, invocation, call, before, read, check, is_light).await
}

/// Makes any other call, and checks what comes of it.
pub(in crate::plugin) async fn any<I: Invocation, R: Send + 'static>(
    program: &Arc<Program>,
    invocation: I,
    call: Call,
    read: impl FnOnce(I::Outcome) -> Result<R, CallError> + Send + 'static,
    check: impl FnOnce(&Program, R) -> Result<R, Fault> + Send + 'static,
) -> Result<R, CallError> {
    let check = |program: Arc<Program>, _, outcome| ready(check(&program, outcome).map_err(CallError::from));
    checked(program, invocation, call, ready(Ok(())), read, check, |_| false).await
}

/// The check of a resource that was read.
pub(in crate::plugin) fn read(program: &Program, outcome: ReadOutcome) -> Result<ReadOutcome, Fault> {
    super::read(outcome, &program.forms, program.limits.output)
}

/// That of a prompt.
pub(in crate::plugin) fn prompt(program: &Program, outcome: PromptOutcome) -> Result<PromptOutcome, Fault> {
    super::prompt(outcome, &program.forms, program.limits.output)
}

/// That of suggestions.
pub(in crate::plugin) fn completion(program: &Program, outcome: Completion) -> Result<Completion, Fault> {
    super::completion(outcome, program.limits.output)
}

/// That of what a method of a plugin's own gives.
pub(in crate::plugin) fn method(program: &Program, outcome: String) -> Result<String, Fault> {
    super::method(outcome, program.limits.output)
}

/// As [`any`], by a function whose types are known.
pub(in crate::plugin) async fn typed<P, R>(
    program: &Arc<Program>,
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
    any(program, invocation, call, |outcome| outcome.map_err(CallError::Guest), check).await
}

/// What fails after a denial is told as that.
async fn checked<I: Invocation, R: Send + 'static, F>(
    program: &Arc<Program>,
    invocation: I,
    call: Call,
    before: impl Future<Output = Result<(), CallError>> + Send + 'static,
    read: impl FnOnce(I::Outcome) -> Result<R, CallError> + Send + 'static,
    check: impl FnOnce(Arc<Program>, Denials, R) -> F + Send + 'static,
    is_light: fn(&R) -> bool,
) -> Result<R, CallError>
where
    F: Future<Output = Result<R, CallError>> + Send + 'static,
{
    let denials = Denials(call.events.clone());
    let (own, of_check) = (program.clone(), denials.clone());
    let after = move |outcome: I::Outcome| async move {
        let outcome = of_check.explain(Ok(read(outcome)))?;
        check(own, of_check, outcome).await
    };
    match program.perform_checked(invocation, call, before, after, is_light).await {
        // The guest itself did not end well.
        Err(CallError::Fault(fault)) => denials.explain(Err(fault)),
        ended => ended,
    }
}

/// What one call was denied.
#[derive(Clone)]
struct Denials(Option<Arc<Events>>);

impl Denials {
    fn last(&self) -> Option<Denial> {
        self.0.as_ref().and_then(|events| events.denied())
    }

    /// A failure after a denial becomes that denial.
    fn explain<R>(&self, outcome: Result<Result<R, CallError>, Fault>) -> Result<R, CallError> {
        let error = match outcome {
            Ok(Ok(outcome)) => return Ok(outcome),
            Ok(Err(CallError::Guest(error))) => guest_error(error),
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
