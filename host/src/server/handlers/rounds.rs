//! Multi-round calls: calls a plugin until its result is complete, and forwards its questions to
//! the client between the rounds.
//!
//! A client with a session is sent requests. A stateless one gets an `InputRequiredResult`, and
//! retries its request with the answers.
//!
//! Source: MCP 2026-07-28, basic/patterns/mrtr; the older revisions, client/*.

pub(super) mod input_required;

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::value::RawValue;
use tokio::time::{Instant, timeout_at};

pub(in crate::server) use self::input_required::{ResumePoint, ResumedInput};
use super::settled::Settled;
use crate::approvals::Decider;
use crate::budgets::Charge;
use crate::plugin::abi::{
    self, Answer, Elicited, GuestError, InputRequired, PromptOutcome, PromptResult, ReadOutcome, ReadResult, Reply,
    ToolOutcome, ToolResult,
};
use crate::plugin::{Access, Call, CallError, Denial, Fault, Provider};
use crate::protocol::{Ask, error};
use crate::server::Server;
use crate::server::bounds::WaitDeadline;
use crate::server::questions::{Question, QuestionKind};
use crate::server::refusal::Refusal;
use crate::server::relay::Relay;
use crate::server::scope::Scope;
use crate::server::wire::question::{self, Request};
use crate::server::wire::{Unrepresentable, answer};
use crate::text;

/// How keys of the host's own questions begin, by which clients may know them.
const OWN_KEYS: &str = "wharf/";

/// Maximum rounds of one call.
const ROUNDS: u32 = 32;

/// How far the rounds got.
pub(in crate::server) enum Advance<T> {
    Complete(T),
    /// The client has to answer before the next round; with the rounds so far.
    Asks(PreparedQuestions, u32),
}

/// The outcome of one round of a tool, prompt or resource.
pub(in crate::server) enum Round<T> {
    Complete(T),
    InputRequired(InputRequired),
}

impl From<ToolOutcome> for Round<ToolResult> {
    fn from(outcome: ToolOutcome) -> Self {
        match outcome {
            ToolOutcome::Complete(result) => Self::Complete(result),
            ToolOutcome::InputRequired(input) => Self::InputRequired(input),
        }
    }
}

impl From<PromptOutcome> for Round<PromptResult> {
    fn from(outcome: PromptOutcome) -> Self {
        match outcome {
            PromptOutcome::Complete(result) => Self::Complete(result),
            PromptOutcome::InputRequired(input) => Self::InputRequired(input),
        }
    }
}

impl From<ReadOutcome> for Round<ReadResult> {
    fn from(outcome: ReadOutcome) -> Self {
        match outcome {
            ReadOutcome::Complete(result) => Self::Complete(result),
            ReadOutcome::InputRequired(input) => Self::InputRequired(input),
        }
    }
}

/// Makes a call of one round, which cannot ask the client.
pub(in crate::server) async fn once<'a, T>(
    server: &Arc<Server>,
    scope: &Scope,
    provider: &Arc<dyn Provider>,
    charge: Option<Arc<Charge>>,
    invoke: impl FnOnce(Call) -> Calling<'a, T> + Send,
) -> Result<T, Refusal> {
    let mut relay = Relay::new(server, scope, provider);
    let permit = scope.client.bounds.acquire(provider.id(), &mut WaitDeadline::default()).await?;
    let outcome = relay.forward_during(invoke(call(scope, charge, &relay))).await;
    drop(permit);
    relay.finish().await;
    Ok(outcome?)
}

/// The parts that all calls of a request share.
fn call(scope: &Scope, charge: Option<Arc<Charge>>, relay: &Relay<'_>) -> Call {
    Call {
        caller: scope.caller.clone(),
        identity: Some(scope.identity.clone()),
        permissions: scope.permissions.clone(),
        charge,
        cost: scope.cost.clone(),
        // Nobody reads the outcome of a task yet.
        unread: scope.task.is_none().then(|| scope.client.bounds.unread.own().clone()),
        meta: Some(scope.meta.clone()),
        events: Some(relay.events()),
        as_task: scope.task.is_some(),
        cancelled: scope.cancelled.clone(),
        ..Call::new(scope.call.to_string())
    }
}

/// A request that a plugin answers in one or more rounds.
pub(in crate::server) struct Rounds<'a> {
    pub(in crate::server) server: &'a Arc<Server>,
    pub(in crate::server) scope: &'a Scope,
    pub(in crate::server) provider: &'a Arc<dyn Provider>,
    pub(in crate::server) method: &'static str,
    /// Of the tool or prompt, or the resource's URI.
    pub(in crate::server) name: &'a str,
    /// A JSON object.
    pub(in crate::server) arguments: &'a str,
    /// Who allowed it, if somebody was asked.
    pub(in crate::server) approved: Option<Decider>,
    /// The budgets that it is charged to.
    pub(in crate::server) charge: Option<Arc<Charge>>,
}

type Calling<'a, O> = Pin<Box<dyn Future<Output = Result<O, CallError>> + Send + 'a>>;

impl<'a> Rounds<'a> {
    /// Runs the rounds until there is a result, or the client has to retry.
    pub(in crate::server) async fn run<T, O: Into<Round<T>>>(
        &self,
        resumed: ResumedInput,
        invoke: impl Fn(Call) -> Calling<'a, O> + Send,
    ) -> Result<Settled<T>, Refusal> {
        let start = self.resume(resumed).await?;
        self.settle(self.advance(start, invoke).await?)
    }

    /// What a request gets of it: a question becomes an `InputRequiredResult`.
    pub(in crate::server) fn settle<T>(&self, advanced: Advance<T>) -> Result<Settled<T>, Refusal> {
        match advanced {
            Advance::Complete(result) => Ok(Settled::Complete(result)),
            Advance::Asks(prepared, round) => self.input_required(prepared, round).map(Settled::InputRequired),
        }
    }

    /// Runs the rounds until there is a result, or somebody has to answer who cannot be asked at once.
    pub(in crate::server) async fn advance<T, O: Into<Round<T>>>(
        &self,
        start: ResumePoint,
        invoke: impl Fn(Call) -> Calling<'a, O> + Send,
    ) -> Result<Advance<T>, Refusal> {
        let mut relay = Relay::new(self.server, self.scope, self.provider);
        let advanced = self.drive(start, invoke, &mut relay).await;
        relay.finish().await;
        advanced
    }

    async fn drive<T, O: Into<Round<T>>>(
        &self,
        start: ResumePoint,
        invoke: impl Fn(Call) -> Calling<'a, O> + Send,
        relay: &mut Relay<'a>,
    ) -> Result<Advance<T>, Refusal> {
        let ResumePoint { mut answers, mut state, round: before } = start;
        let mut unanswered = HashMap::new();
        for round in before + 1..=ROUNDS {
            unanswered.extend(answers.iter().filter_map(without_answer));
            let wanted = match self.call(&answers, &state, &invoke, relay).await?.into() {
                Round::Complete(result) => return Ok(Advance::Complete(result)),
                Round::InputRequired(wanted) => wanted,
            };
            // A cancelled request must not ask the client; this error is not sent.
            if self.scope.cancelled.is_cancelled() {
                return Err(error::internal("cancelled", "the request was cancelled").into());
            }
            let prepared = self.prepare(wanted)?;
            if let Some(refusal) = prepared.questions().find_map(|question| self.still_required(question, &unanswered))
            {
                return Err(refusal);
            }
            // Without a question to ask, the plugin continues with the replies it has.
            let nothing = prepared.requests.is_empty() && !prepared.refused.is_empty();
            if !nothing && !self.scope.client.takes_requests() {
                return Ok(Advance::Asks(prepared, round));
            }
            answers = self.ask(&prepared).await;
            state = prepared.state;
        }
        Err(Refusal::TooManyRounds)
    }

    /// Calls the plugin once, when it has a permit and the client reads.
    async fn call<O>(
        &self,
        answers: &[Answer],
        state: &Option<Vec<u8>>,
        invoke: &(impl Fn(Call) -> Calling<'a, O> + Send),
        relay: &mut Relay<'a>,
    ) -> Result<O, Refusal> {
        let bounds = &self.scope.client.bounds;
        let mut deadline = WaitDeadline::default();
        loop {
            let permit = bounds.acquire(self.provider.id(), &mut deadline).await?;
            let features = self.scope.client.features();
            let shared = call(self.scope, self.charge.clone(), relay);
            let round = Call { client: features, answers: answers.to_vec(), state: state.clone(), ..shared };
            let outcome = relay.forward_during(invoke(round)).await;
            drop(permit);
            match outcome {
                // The unread limit was reached while the call waited for a permit: it has not started.
                Err(CallError::Fault(Fault::Busy)) if !bounds.unread.is_open() => {}
                outcome => return Ok(outcome?),
            }
        }
    }

    /// Parses an answer; a form's content is validated against the form's schema.
    pub(in crate::server) async fn reply(
        &self,
        kind: &QuestionKind,
        raw: &RawValue,
        path: &str,
    ) -> Result<Reply, Refusal> {
        let reply = answer::reply(kind, raw, path)?;
        if let (QuestionKind::Form(schema), Reply::Elicited(Elicited { content: Some(content), .. })) = (kind, &reply) {
            self.provider.check_form(schema, content).await.map_err(|error| match error {
                CallError::Input(violations) => Refusal::Request(answer::mismatch(&violations, path)),
                error => Refusal::Call(error),
            })?;
        }
        Ok(reply)
    }

    /// The error if a question is repeated that was unavailable before.
    fn still_required(&self, again: &Question, unanswered: &HashMap<String, String>) -> Option<Refusal> {
        let why = unanswered.get(&again.key)?;
        let needs = again.kind.needs();
        Some(if !self.provider.may_ask(access(needs), &self.scope.identity) {
            Fault::Denied { denial: Denial::without_grant(access(needs)), message: None }.into()
        } else if self.scope.client.capabilities.allows(needs) {
            // The client supports it and did not answer: the call fails with that.
            Refusal::Call(CallError::Guest(GuestError::Failed(why.clone())))
        } else {
            Refusal::NeedsClient(needs)
        })
    }

    /// Why this plugin cannot ask this client such a question: a missing grant or capability.
    fn unsupported_reason(&self, kind: &QuestionKind) -> Option<String> {
        let needs = kind.needs();
        self.missing_grant(kind).or_else(|| {
            let allowed = self.scope.client.capabilities.allows(needs);
            (!allowed).then(|| format!("the client does not support {}", needs.name()))
        })
    }

    /// Why this plugin gets no answer to such a question, whether it asked or not.
    fn missing_grant(&self, kind: &QuestionKind) -> Option<String> {
        let access = access(kind.needs());
        let granted = self.provider.may_ask(access, &self.scope.identity);
        (!granted).then(|| format!("the plugin has no grant '{}'", access.name()))
    }

    /// Separates the questions that this client supports from the others.
    fn prepare(&self, wanted: InputRequired) -> Result<PreparedQuestions, Refusal> {
        let broken = |why: String| Refusal::from(Fault::BadOutput(why));
        if wanted.questions.is_empty() && wanted.state.is_none() {
            return Err(broken("an input request without questions and state".into()));
        }
        let mut prepared = PreparedQuestions { state: wanted.state, requests: Vec::new(), refused: Vec::new() };
        for abi::Question { key, ask } in wanted.questions {
            if key.starts_with(OWN_KEYS) {
                return Err(broken(format!("a question with a key of the host: {}", text::quote(&key, 120))));
            }
            let question = Question { key, kind: QuestionKind::from(&ask) };
            if let Some(why) = self.unsupported_reason(&question.kind) {
                prepared.refused.push((question, Reply::Unavailable(why)));
                continue;
            }
            let visit = self.server.elicitation_id(self.scope.call, &question.key);
            match question::request(self.scope.revision, &self.scope.client.capabilities, &ask, &visit) {
                Ok(request) => prepared.requests.push((question, request)),
                Err(Unrepresentable::NotInRevision(why)) => {
                    prepared.refused.push((question, Reply::Unavailable(why.into())))
                }
                Err(Unrepresentable::Invalid(why)) => return Err(broken(why)),
            }
        }
        Ok(prepared)
    }

    /// Sends all questions to the client at once, and waits for all answers.
    async fn ask(&self, prepared: &PreparedQuestions) -> Vec<Answer> {
        let mut pending = Vec::new();
        for (question, request) in &prepared.requests {
            pending.push((question, self.scope.client.ask(request).await));
        }
        let until = Instant::now() + self.server.settings.ask_timeout;
        let refused = prepared.refused.iter();
        let mut answers: Vec<Answer> =
            refused.map(|(question, reply)| Answer { key: question.key.clone(), reply: reply.clone() }).collect();
        for (question, pending) in pending {
            let reply = match pending {
                Err(why) => Err(why),
                Ok(mut pending) => tokio::select! {
                    () = self.scope.cancelled.cancelled() => Err("the call was cancelled".to_owned()),
                    answered = timeout_at(until, pending.answer()) => match answered {
                        Ok(Ok(raw)) => self.reply(&question.kind, &raw, "result").await.map_err(|refusal| {
                            let why = match refusal {
                                Refusal::Request(error) => error.message,
                                refusal => refusal.code().into(),
                            };
                            format!("the client's answer cannot be used: {why}")
                        }),
                        Ok(Err(why)) => Err(why),
                        Err(_) => Err("the client did not answer in time".to_owned()),
                    },
                },
            };
            answers.push(Answer { key: question.key.clone(), reply: reply.unwrap_or_else(Reply::Unavailable) });
        }
        answers
    }
}

/// The questions of one round: as requests to the client, or refused.
pub(in crate::server) struct PreparedQuestions {
    pub(in crate::server) state: Option<Vec<u8>>,
    pub(in crate::server) requests: Vec<(Question, Request)>,
    /// With the reply that the plugin gets instead of an answer.
    pub(in crate::server) refused: Vec<(Question, Reply)>,
}

impl PreparedQuestions {
    fn questions(&self) -> impl Iterator<Item = &Question> {
        self.requests.iter().map(|(question, _)| question).chain(self.refused.iter().map(|(question, _)| question))
    }
}

/// The key of an unavailable question, and the reason.
fn without_answer(answer: &Answer) -> Option<(String, String)> {
    match &answer.reply {
        Reply::Unavailable(why) => Some((answer.key.clone(), why.clone())),
        _ => None,
    }
}

/// The grant that a plugin needs for such a question.
fn access(ask: Ask) -> Access {
    match ask {
        Ask::Roots => Access::Roots,
        Ask::Sampling | Ask::SamplingTools | Ask::SamplingContext => Access::Sample,
        Ask::ElicitationForm | Ask::ElicitationUrl => Access::Elicit,
    }
}

#[cfg(test)]
mod tests;
