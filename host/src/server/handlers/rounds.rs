//! Calls a plugin until it is done, answering what it asks for on the way.
//!
//! Nothing can be asked of the client yet, so every answer is that it cannot be had.

use std::future::Future;
use std::pin::Pin;

use crate::plugin::abi::{
    Answer, InputRequired, PromptOutcome, PromptResult, Question, ReadOutcome, ReadResult, Reply, ToolOutcome,
    ToolResult,
};
use crate::plugin::{Call, CallError};
use crate::server::fault::Insists;
use crate::server::scope::Scope;

/// How one call ended, whatever was called.
pub(in crate::server) enum Round<T> {
    Complete(T),
    InputRequired(InputRequired),
}

impl From<ToolOutcome> for Round<ToolResult> {
    fn from(outcome: ToolOutcome) -> Self {
        match outcome {
            ToolOutcome::Complete(result) => Self::Complete(result),
            ToolOutcome::InputRequired(asked) => Self::InputRequired(asked),
        }
    }
}

impl From<PromptOutcome> for Round<PromptResult> {
    fn from(outcome: PromptOutcome) -> Self {
        match outcome {
            PromptOutcome::Complete(result) => Self::Complete(result),
            PromptOutcome::InputRequired(asked) => Self::InputRequired(asked),
        }
    }
}

impl From<ReadOutcome> for Round<ReadResult> {
    fn from(outcome: ReadOutcome) -> Self {
        match outcome {
            ReadOutcome::Complete(result) => Self::Complete(result),
            ReadOutcome::InputRequired(asked) => Self::InputRequired(asked),
        }
    }
}

type Calling<'a, O> = Pin<Box<dyn Future<Output = Result<O, CallError>> + Send + 'a>>;

/// The result of what `invoke` calls, once or twice.
pub(in crate::server) async fn settle<'a, T, O: Into<Round<T>>>(
    scope: &Scope,
    invoke: impl Fn(Call) -> Calling<'a, O> + Send,
) -> Result<T, Insists> {
    let call = Call { client: scope.features(), meta: Some(scope.meta.clone()), ..Call::new(scope.call.to_string()) };
    let asked = match invoke(call.clone()).await?.into() {
        Round::Complete(result) => return Ok(result),
        Round::InputRequired(asked) => asked,
    };
    let call = Call { answers: unavailable(&asked), state: asked.state, ..call };
    match invoke(call).await?.into() {
        Round::Complete(result) => Ok(result),
        Round::InputRequired(_) => Err(Insists::OnInput),
    }
}

fn unavailable(asked: &InputRequired) -> Vec<Answer> {
    let refusal = |question: &Question| Answer {
        key: question.key.clone(),
        reply: Reply::Unavailable("this server cannot ask the client for anything yet".into()),
    };
    asked.questions.iter().map(refusal).collect()
}
