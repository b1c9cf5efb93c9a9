//! Calls a plugin until it is done, putting what it asks for to the client in between.
//!
//! Where the client takes requests, they are sent and awaited. Otherwise the answer to the
//! client's own request says what is asked for, and the next request brings the answers.
//!
//! Source: MCP 2026-07-28, basic/patterns/mrtr; the older revisions, client/*.

use std::borrow::Cow;
use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::SystemTime;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use tokio::time::{Instant, timeout_at};

use super::settled::Settled;
use crate::json::{self, Raw};
use crate::plugin::abi::{
    self, Answer, Elicited, GuestError, InputRequired, PromptOutcome, PromptResult, ReadOutcome, ReadResult, Reply,
    ToolOutcome, ToolResult,
};
use crate::plugin::{Access, Call, CallError, Denial, Fault, Provider};
use crate::protocol::request::Retry;
use crate::protocol::result::{self, Envelope, ResultType};
use crate::protocol::{Ask, ErrorObject, error};
use crate::server::Server;
use crate::server::bounds::Patience;
use crate::server::fault::Refusal;
use crate::server::relay::Relay;
use crate::server::scope::Scope;
use crate::server::seal::{Binding, Broken, EXPIRY, Kind, Question, Sealed};
use crate::server::wire::question::{self, Request};
use crate::server::wire::{Unaskable, answer, text};

/// Rounds of one call.
const ROUNDS: u32 = 32;
/// Answers that are read of a client that does not bring back its state.
const ANSWERS: usize = 32;

/// How one round ended, whatever was called.
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

/// What a request brings back from its earlier rounds.
#[derive(Default)]
pub(in crate::server) struct Brought {
    /// An object of answers by key.
    answers: Option<Box<RawValue>>,
    state: Option<String>,
}

impl From<Retry<'_>> for Brought {
    fn from(retry: Retry<'_>) -> Self {
        Self {
            answers: retry.input_responses.map(RawValue::to_owned),
            state: retry.request_state.map(|state| state.into_owned()),
        }
    }
}

impl Brought {
    /// Whether the request is a retry of an earlier one.
    pub(in crate::server) fn is_something(&self) -> bool {
        self.answers.is_some() || self.state.is_some()
    }
}

/// Makes a call that cannot ask for anything.
pub(in crate::server) async fn once<'a, T>(
    server: &Arc<Server>,
    scope: &Scope,
    provider: &Arc<dyn Provider>,
    invoke: impl FnOnce(Call) -> Calling<'a, T> + Send,
) -> Result<T, Refusal> {
    let mut relay = Relay::new(server, scope, provider);
    let place = scope.client.bounds.enter(provider.id(), &mut Patience::default()).await?;
    let outcome = relay.during(invoke(call(scope, &relay))).await;
    drop(place);
    relay.end().await;
    Ok(outcome?)
}

/// What every call of this request is about.
fn call(scope: &Scope, relay: &Relay<'_>) -> Call {
    Call {
        caller: scope.caller.clone(),
        unread: Some(scope.client.bounds.unread.own().clone()),
        meta: Some(scope.meta.clone()),
        events: Some(relay.events()),
        cancelled: scope.cancelled.clone(),
        ..Call::new(scope.call.to_string())
    }
}

/// A request to a plugin.
pub(in crate::server) struct Rounds<'a> {
    pub(in crate::server) server: &'a Arc<Server>,
    pub(in crate::server) scope: &'a Scope,
    pub(in crate::server) provider: &'a Arc<dyn Provider>,
    pub(in crate::server) method: &'static str,
    /// Of the tool or prompt, or the resource's URI.
    pub(in crate::server) name: &'a str,
    /// A JSON object.
    pub(in crate::server) arguments: &'a str,
}

type Calling<'a, O> = Pin<Box<dyn Future<Output = Result<O, CallError>> + Send + 'a>>;

impl<'a> Rounds<'a> {
    /// Makes the call, and makes it again with the answers, until it is settled.
    pub(in crate::server) async fn settle<T, O: Into<Round<T>>>(
        &self,
        brought: Brought,
        invoke: impl Fn(Call) -> Calling<'a, O> + Send,
    ) -> Result<Settled<T>, Refusal> {
        let mut relay = Relay::new(self.server, self.scope, self.provider);
        let settled = self.go_round(brought, invoke, &mut relay).await;
        relay.end().await;
        settled
    }

    async fn go_round<T, O: Into<Round<T>>>(
        &self,
        brought: Brought,
        invoke: impl Fn(Call) -> Calling<'a, O> + Send,
        relay: &mut Relay<'a>,
    ) -> Result<Settled<T>, Refusal> {
        let Resumed { mut answers, mut state, round: before } = self.resume(brought).await?;
        let mut unanswered = HashMap::new();
        for round in before + 1..=ROUNDS {
            unanswered.extend(answers.iter().filter_map(without_answer));
            let wanted = match self.call(&answers, &state, &invoke, relay).await?.into() {
                Round::Complete(result) => return Ok(Settled::Complete(result)),
                Round::InputRequired(wanted) => wanted,
            };
            // Who has given up is asked nothing more, and hears nothing of this either.
            if self.scope.cancelled.is_cancelled() {
                return Err(error::internal("cancelled", "the request was cancelled").into());
            }
            let put = self.put(wanted)?;
            if let Some(insists) = put.questions().find_map(|question| self.insists(question, &unanswered)) {
                return Err(insists);
            }
            // With nothing to ask, the plugin goes on with what it has been told.
            let nothing = put.requests.is_empty() && !put.refused.is_empty();
            if !nothing && !self.scope.client.takes_requests() {
                return self.answer_with(put, round).map(Settled::Asks);
            }
            answers = self.ask(&put).await;
            state = put.state;
        }
        Err(Refusal::TooManyRounds)
    }

    /// One round, once there is a place for it and the client reads.
    async fn call<O>(
        &self,
        answers: &[Answer],
        state: &Option<Vec<u8>>,
        invoke: &(impl Fn(Call) -> Calling<'a, O> + Send),
        relay: &mut Relay<'a>,
    ) -> Result<O, Refusal> {
        let bounds = &self.scope.client.bounds;
        let mut patience = Patience::default();
        loop {
            let place = bounds.enter(self.provider.id(), &mut patience).await?;
            let features = self.scope.client.features();
            let round =
                Call { client: features, answers: answers.to_vec(), state: state.clone(), ..call(self.scope, relay) };
            let outcome = relay.during(invoke(round)).await;
            drop(place);
            match outcome {
                // When its turn came, too much waited to be read: it has not begun.
                Err(CallError::Fault(Fault::Busy)) if !bounds.unread.is_open() => {}
                outcome => return Ok(outcome?),
            }
        }
    }

    async fn resume(&self, brought: Brought) -> Result<Resumed, Refusal> {
        let given = match &brought.answers {
            None => Vec::new(),
            Some(answers) => json::entries(answers.get())
                .map_err(|fault| error::invalid_params("params.inputResponses", &format!("cannot be read: {fault}")))?,
        };
        let Some(state) = &brought.state else {
            let answer = |(key, raw): &(Cow<'_, str>, &RawValue)| {
                let path = format!("params.inputResponses.{key}");
                let reply = answer::reply(&answer::kind(raw, &path)?, raw, &path)?;
                Ok(Answer { key: key.to_string(), reply })
            };
            let answers = given.iter().take(ANSWERS).map(answer).collect::<Result<_, ErrorObject>>()?;
            return Ok(Resumed { answers, state: None, round: 0 });
        };
        let sealed =
            self.server.seal.open(&self.binding(), state, SystemTime::now()).map_err(|broken| match broken {
                Broken::Expired => error::expired_state(EXPIRY),
                Broken::Foreign => error::foreign_state(),
            })?;
        let mut answers = Vec::new();
        for Question { key, kind } in sealed.asked {
            let path = format!("params.inputResponses.{key}");
            // What was not answered, the plugin asks again.
            if let Some((_, raw)) = given.iter().find(|(given, _)| *given == key) {
                let reply = self.reply(&kind, raw, &path).await?;
                answers.push(Answer { key, reply });
            } else if let Some(why) = self.unaskable(&kind) {
                answers.push(Answer { key, reply: Reply::Unavailable(why) });
            }
        }
        Ok(Resumed { answers, state: sealed.state, round: sealed.round })
    }

    /// Reads an answer, and checks a form's content as the plugin's call is checked.
    async fn reply(&self, kind: &Kind, raw: &RawValue, path: &str) -> Result<Reply, Refusal> {
        let reply = answer::reply(kind, raw, path)?;
        if let (Kind::Form(schema), Reply::Elicited(Elicited { content: Some(content), .. })) = (kind, &reply) {
            self.provider.check_form(schema, content).await.map_err(|error| match error {
                CallError::Input(violations) => Refusal::Request(answer::misfit(&violations, path)),
                error => Refusal::Call(error),
            })?;
        }
        Ok(reply)
    }

    /// What comes of a question that is asked again though it can have no answer.
    fn insists(&self, again: &Question, unanswered: &HashMap<String, String>) -> Option<Refusal> {
        let why = unanswered.get(&again.key)?;
        let needs = again.kind.needs();
        Some(if !self.provider.may_ask(access(needs)) {
            Fault::Denied { denial: Denial::without_grant(access(needs)), said: None }.into()
        } else if self.scope.client.capabilities.allows(needs) {
            // The client could be asked, and did not answer: the call has failed by that.
            Refusal::Call(CallError::Guest(GuestError::Failed(why.clone())))
        } else {
            Refusal::NeedsClient(needs)
        })
    }

    /// Why this plugin cannot put such a question to this client.
    fn unaskable(&self, kind: &Kind) -> Option<String> {
        let needs = kind.needs();
        if !self.provider.may_ask(access(needs)) {
            return Some(format!("the plugin has no grant '{}'", access(needs).name()));
        }
        let allowed = self.scope.client.capabilities.allows(needs);
        (!allowed).then(|| format!("the client does not support {}", needs.name()))
    }

    /// Parts what can be put to this client from what cannot.
    fn put(&self, wanted: InputRequired) -> Result<Put, Refusal> {
        let broken = |why: String| Refusal::from(Fault::BadOutput(why));
        if wanted.questions.is_empty() && wanted.state.is_none() {
            return Err(broken("a wish for input that asks for nothing".into()));
        }
        let mut put = Put { state: wanted.state, requests: Vec::new(), refused: Vec::new() };
        for abi::Question { key, ask } in wanted.questions {
            let question = Question { key, kind: Kind::from(&ask) };
            if let Some(why) = self.unaskable(&question.kind) {
                put.refused.push((question, Reply::Unavailable(why)));
                continue;
            }
            let visit = self.server.name_visit(self.scope.call, &question.key);
            match question::request(self.scope.revision, &self.scope.client.capabilities, &ask, &visit) {
                Ok(request) => put.requests.push((question, request)),
                Err(Unaskable::NotInRevision(why)) => put.refused.push((question, Reply::Unavailable(why.into()))),
                Err(Unaskable::Broken(why)) => return Err(broken(why)),
            }
        }
        Ok(put)
    }

    /// The result that asks: its next request brings the answers.
    fn answer_with(&self, put: Put, round: u32) -> Result<String, Refusal> {
        let asks = !put.requests.is_empty();
        let input_requests = text(&Requests(&put.requests))?;
        // A question that this client cannot be asked is answered when it comes back.
        let refused = put.refused.into_iter().map(|(question, _)| question);
        let asked = put.requests.into_iter().map(|(question, _)| question).chain(refused).collect();
        let sealed = Sealed { asked, state: put.state, round };
        let state = self.server.seal.close(&self.binding(), sealed, SystemTime::now()).map_err(|fault| {
            tracing::error!("cannot seal a state: {fault}");
            Refusal::from(Fault::Host)
        })?;
        let members =
            InputRequiredResult { input_requests: asks.then_some(Raw(&input_requests)), request_state: &state };
        let envelope = Envelope { result_type: ResultType::InputRequired, ..Envelope::default() };
        Ok(result::object(self.scope.revision, &self.server.implementation, &members, envelope)?)
    }

    /// Puts all questions to the client at once, and waits for the answers together.
    async fn ask(&self, put: &Put) -> Vec<Answer> {
        let mut pending = Vec::new();
        for (question, request) in &put.requests {
            pending.push((question, self.scope.client.ask(request).await));
        }
        let until = Instant::now() + self.server.settings.ask_timeout;
        let refused = put.refused.iter();
        let mut answers: Vec<Answer> =
            refused.map(|(question, reply)| Answer { key: question.key.clone(), reply: reply.clone() }).collect();
        for (question, pending) in pending {
            let reply = match pending {
                Err(why) => Err(why),
                Ok(mut pending) => tokio::select! {
                    // Who has given up is not waited for.
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
                        Err(_) => Err("nobody answered in time".to_owned()),
                    },
                },
            };
            answers.push(Answer { key: question.key.clone(), reply: reply.unwrap_or_else(Reply::Unavailable) });
        }
        answers
    }

    fn binding(&self) -> Binding<'_> {
        Binding {
            principal: &self.scope.principal,
            plugin: self.provider.id(),
            digest: self.provider.digest(),
            method: self.method,
            name: self.name,
            arguments: self.arguments,
        }
    }
}

/// Where the rounds are to go on.
struct Resumed {
    answers: Vec<Answer>,
    /// The plugin's own.
    state: Option<Vec<u8>>,
    /// Rounds so far.
    round: u32,
}

/// What a plugin asks for, as far as this client can be asked.
struct Put {
    state: Option<Vec<u8>>,
    requests: Vec<(Question, Request)>,
    /// With the answer that the plugin gets instead.
    refused: Vec<(Question, Reply)>,
}

/// The wire's `InputRequiredResult`, but for what is around all results.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InputRequiredResult<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    input_requests: Option<Raw<'a>>,
    request_state: &'a str,
}

/// Requests by the keys of their questions.
struct Requests<'a>(&'a [(Question, Request)]);

impl Serialize for Requests<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(question, request)| (&question.key, request)))
    }
}

impl Put {
    fn questions(&self) -> impl Iterator<Item = &Question> {
        self.requests.iter().map(|(question, _)| question).chain(self.refused.iter().map(|(question, _)| question))
    }
}

/// The key of a question that has no answer, and why.
fn without_answer(answer: &Answer) -> Option<(String, String)> {
    match &answer.reply {
        Reply::Unavailable(why) => Some((answer.key.clone(), why.clone())),
        _ => None,
    }
}

/// The grant that a plugin needs to ask for that.
fn access(ask: Ask) -> Access {
    match ask {
        Ask::Roots => Access::Roots,
        Ask::Sampling | Ask::SamplingTools | Ask::SamplingContext => Access::Sample,
        Ask::ElicitationForm | Ask::ElicitationUrl => Access::Elicit,
    }
}

#[cfg(test)]
mod tests;
