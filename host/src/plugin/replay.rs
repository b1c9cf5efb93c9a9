//! Runs a recorded call again: nothing of this machine reaches the guest, and nothing of the guest leaves it.

use std::sync::Arc;

use serde_json::Value;
use tokio::time::timeout;

use super::abi::{PromptOutcome, ReadOutcome, ToolOutcome};
use super::error::LoadError;
use super::events::Events;
use super::fault::CallError;
use super::limits::Limits;
use super::loaded::Plugin;
use super::provider::{Call, Provider as _};
use super::sandbox::Sandbox;
use super::tape::kept::Kept;
use super::tape::{Called, Completing, Difference, Input, Recorded, Spending, Tape, outcome};
use crate::metrics::Cost;

/// How a recorded call went when it ran again.
#[derive(Debug)]
pub struct Replayed {
    /// What it asked, said, got and cost now. `None`: the recording did not answer all that it asked.
    pub now: Option<Recorded>,
    /// Where it differs in what it asks and says.
    pub differences: Vec<Difference>,
    /// The outcome that was recorded, and the new one, if they differ.
    pub outcomes: Option<(Value, Value)>,
}

impl Replayed {
    /// Whether it is the same in all that counts.
    pub fn is_same(&self) -> bool {
        self.now.is_some() && self.differences.is_empty() && self.outcomes.is_none()
    }
}

/// Runs a recorded call with a component: under the recorded limits, and with nothing granted but what was recorded.
///
/// # Errors
/// Why the component cannot be loaded.
pub async fn replay(
    sandbox: &Arc<Sandbox>,
    component: Arc<Vec<u8>>,
    recorded: &Recorded,
) -> Result<Replayed, LoadError> {
    let (grants, limits) = recorded.surroundings.settings();
    let longest = limits.timeout + Limits::LISTING;
    let plugin = sandbox.load(recorded.input.plugin.clone(), component, limits, grants).await?;
    let tape = Tape::replaying(recorded);
    let cost = Arc::new(Cost::default());
    let call = Call {
        cost: Some(cost.clone()),
        events: Some(Arc::new(Events::default())),
        as_task: recorded.input.as_task,
        tape: Some(tape.clone()),
        ..Call::new("replay")
    };
    let ended = tokio::select! {
        ended = timeout(longest, called(&plugin, &recorded.input, call)) => ended.ok(),
        () = tape.unanswered() => None,
    };
    // A guest that is stopped there ends with a fault, which is none of its own.
    let ended = ended.filter(|_| !tape.is_unanswered());
    let spent = cost.spent();
    let spending = Spending { cpu: spent.cpu, memory: spent.memory };
    let input =
        Input { digest: *plugin.digest(), wharf: env!("CARGO_PKG_VERSION").to_owned(), ..recorded.input.clone() };
    let differences = tape.differences();
    let outcomes = ended.clone().filter(|now| *now != recorded.outcome).map(|now| (recorded.outcome.clone(), now));
    let now = ended.and_then(|outcome| tape.finish(&input, outcome, spending, None).ok());
    Ok(Replayed { now, differences, outcomes })
}

async fn called(plugin: &Plugin, input: &Input, call: Call) -> Value {
    fn shown<T: Kept>(input: &Input, ended: &Result<T, CallError>) -> Value {
        outcome(&input.plugin, ended)
    }
    match &input.called {
        Called::Tool(name, arguments) => {
            let ended: Result<ToolOutcome, _> = plugin.call_tool(name, arguments.as_str().into(), call).await;
            shown(input, &ended)
        }
        Called::Resource(uri) => {
            let ended: Result<ReadOutcome, _> = plugin.read_resource(uri, call).await;
            shown(input, &ended)
        }
        Called::Prompt(name, arguments) => {
            let ended: Result<PromptOutcome, _> = plugin.get_prompt(name, arguments.clone(), call).await;
            shown(input, &ended)
        }
        Called::Completion(Completing { subject, argument, value, given }) => {
            shown(input, &plugin.complete(subject.clone(), argument, value, given.clone(), call).await)
        }
        Called::Method(name, params) => shown(input, &plugin.call_method(name, params, call).await),
    }
}
