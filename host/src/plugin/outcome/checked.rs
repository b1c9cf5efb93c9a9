//! Calls with checks of their input and output.
//!
//! Both checks are part of the call: they run on its threads, under its deadline and CPU limit.

use std::future::ready;
use std::sync::Arc;

use wasmtime::component::{ComponentNamedList, Lift, Lower};

use super::{first_text, guest_error, is_small};
use crate::plugin::abi::{CallContext, Completion, GuestError, PromptOutcome, ReadOutcome, ToolOutcome};
use crate::plugin::events::Events;
use crate::plugin::fault::{CallError, Fault};
use crate::plugin::imports::granted::Granted;
use crate::plugin::instance::call::PreparedComponent;
use crate::plugin::instance::function::Function;
use crate::plugin::instance::invocation::{Invocation, Typed};
use crate::plugin::policy::denial::Denial;
use crate::plugin::policy::redact::Redactable;
use crate::plugin::provider::Call;
use crate::plugin::surface::FrozenTool;

/// Calls a tool: validates its arguments against the input schema, and its result against the output
/// schema. `read` converts what the guest returned to an outcome.
pub(in crate::plugin) async fn tool<I: Invocation>(
    prepared: &Arc<PreparedComponent>,
    tool: &FrozenTool,
    arguments: Arc<str>,
    invocation: I,
    call: Call,
    read: impl FnOnce(I::Outcome) -> Result<ToolOutcome, CallError> + Send + 'static,
) -> Result<ToolOutcome, CallError> {
    let (own, input, output) = (prepared.clone(), tool.input.clone(), tool.output.clone());
    let before = async move { own.runtime.checker.check(&input, &arguments).await?.map_err(CallError::Input) };
    let check = move |prepared: Arc<PreparedComponent>, denials: Denials, outcome| async move {
        match super::tool(&prepared, outcome, output.as_ref()).await? {
            ToolOutcome::Complete(result) if result.is_error => {
                let message = first_text(&result);
                match denials.behind(message) {
                    Some(denial) => Err(Fault::Denied { denial, message: message.map(str::to_owned) }.into()),
                    None => Ok(ToolOutcome::Complete(result)),
                }
            }
            outcome => Ok(outcome),
        }
    };
    checked(prepared, invocation, call, before, read, check, is_small).await
}

/// Makes any other call, and checks its outcome.
pub(in crate::plugin) async fn any<I: Invocation, R: Send + 'static>(
    prepared: &Arc<PreparedComponent>,
    invocation: I,
    call: Call,
    read: impl FnOnce(I::Outcome) -> Result<R, CallError> + Send + 'static,
    check: impl FnOnce(&PreparedComponent, R) -> Result<R, Fault> + Send + 'static,
) -> Result<R, CallError> {
    let check =
        |prepared: Arc<PreparedComponent>, _, outcome| ready(check(&prepared, outcome).map_err(CallError::from));
    checked(prepared, invocation, call, ready(Ok(())), read, check, |_| false).await
}

/// Checks the contents of a resource.
pub(in crate::plugin) fn read(prepared: &PreparedComponent, outcome: ReadOutcome) -> Result<ReadOutcome, Fault> {
    super::read(outcome, &prepared.forms, prepared.limits.output)
}

/// Checks a prompt.
pub(in crate::plugin) fn prompt(prepared: &PreparedComponent, outcome: PromptOutcome) -> Result<PromptOutcome, Fault> {
    super::prompt(outcome, &prepared.forms, prepared.limits.output)
}

/// Checks suggestions.
pub(in crate::plugin) fn completion(prepared: &PreparedComponent, outcome: Completion) -> Result<Completion, Fault> {
    super::completion(outcome, prepared.limits.output)
}

/// Checks the result of a method of the plugin.
pub(in crate::plugin) fn method(prepared: &PreparedComponent, outcome: String) -> Result<String, Fault> {
    super::method(outcome, prepared.limits.output)
}

/// As [`any`], for a function with static types.
pub(in crate::plugin) async fn typed<P, R>(
    prepared: &Arc<PreparedComponent>,
    function: &Function<P, (Result<R, GuestError>,)>,
    call: Call,
    params: impl FnOnce(CallContext) -> P + Send + 'static,
    check: impl FnOnce(&PreparedComponent, R) -> Result<R, Fault> + Send + 'static,
) -> Result<R, CallError>
where
    P: ComponentNamedList + Lower + Send + Sync + 'static,
    R: Redactable + Send + 'static,
    (Result<R, GuestError>,): ComponentNamedList + Lift,
{
    let invocation = Typed { function: function.clone(), params };
    any(prepared, invocation, call, |outcome| outcome.map_err(CallError::Guest), check).await
}

/// A failure after a denied access is reported as that denial.
async fn checked<I: Invocation, R: Send + 'static, F>(
    prepared: &Arc<PreparedComponent>,
    invocation: I,
    call: Call,
    before: impl Future<Output = Result<(), CallError>> + Send + 'static,
    read: impl FnOnce(I::Outcome) -> Result<R, CallError> + Send + 'static,
    check: impl FnOnce(Arc<PreparedComponent>, Denials, R) -> F + Send + 'static,
    is_small: fn(&R) -> bool,
) -> Result<R, CallError>
where
    F: Future<Output = Result<R, CallError>> + Send + 'static,
{
    let denials = Denials { granted: prepared.granted.clone(), events: call.events.clone() };
    let (own, of_check) = (prepared.clone(), denials.clone());
    let after = move |outcome: I::Outcome| async move {
        let outcome = of_check.explain(Ok(read(outcome)))?;
        check(own, of_check, outcome).await
    };
    match prepared.invoke_checked(invocation, call, before, after, is_small).await {
        // The guest trapped.
        Err(CallError::Fault(fault)) => denials.explain(Err(fault)),
        ended => ended,
    }
}

/// What C libraries say of a path in no granted folder. That a guest asked for its folders is not enough: some runtimes
/// do so before they print.
const NO_SUCH_FILE: &str = "No such file or directory";

/// The denied accesses of one call.
#[derive(Clone)]
struct Denials {
    granted: Arc<Granted>,
    events: Option<Arc<Events>>,
}

impl Denials {
    /// The last denied access before a failure with this message; none of a guest that crashed. Without one, a missing
    /// folder may be the reason, which is recorded.
    fn behind(&self, message: Option<&str>) -> Option<Denial> {
        let events = self.events.as_ref()?;
        let denied = events.denied();
        let is_of_file = message.is_none_or(|message| message.contains(NO_SUCH_FILE));
        if denied.is_none() && is_of_file && events.found_no_folder() {
            self.granted.suspect_missing_folder();
        }
        denied
    }

    /// A failure after a denial becomes that denial.
    fn explain<R>(&self, outcome: Result<Result<R, CallError>, Fault>) -> Result<R, CallError> {
        let error = match outcome {
            Ok(Ok(outcome)) => return Ok(outcome),
            Ok(Err(CallError::Guest(error))) => guest_error(error),
            Ok(Err(error)) => error,
            Err(fault) => fault.into(),
        };
        let message = match &error {
            CallError::Guest(GuestError::Failed(message)) => Some(message.clone()),
            CallError::Fault(Fault::Trap(_)) => None,
            _ => return Err(error),
        };
        Err(self.behind(message.as_deref()).map_or(error, |denial| Fault::Denied { denial, message }.into()))
    }
}
