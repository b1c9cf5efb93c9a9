//! What a client without a session carries between the rounds: the `InputRequiredResult` with a sealed state, and the
//! retry with both the state and the answers.

use std::borrow::Cow;
use std::time::SystemTime;

use serde::de::DeserializeOwned;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::{OWN_KEYS, PreparedQuestions, Rounds};
use crate::json::{self, Raw};
use crate::plugin::Fault;
use crate::plugin::abi::{Answer, Reply};
use crate::protocol::request::Retry;
use crate::protocol::result::{self, Envelope, ResultType};
use crate::protocol::{ErrorObject, error};
use crate::server::Server;
use crate::server::questions::{Question, Sealed};
use crate::server::refusal::Refusal;
use crate::server::scope::Scope;
use crate::server::seal::{Binding, EXPIRY, MAX_LENGTH, SealError};
use crate::server::wire::question::Request;
use crate::server::wire::{answer, text};

/// Maximum answers that are read from a retry without `requestState`.
const ANSWERS: usize = 32;

/// The `inputResponses` and `requestState` of a retry.
#[derive(Default)]
pub(in crate::server) struct ResumedInput {
    /// An object of answers by key.
    pub(in crate::server::handlers) answers: Option<Box<RawValue>>,
    pub(in crate::server::handlers) state: Option<String>,
}

impl From<Retry<'_>> for ResumedInput {
    fn from(retry: Retry<'_>) -> Self {
        Self {
            answers: retry.input_responses.map(RawValue::to_owned),
            state: retry.request_state.map(|state| state.into_owned()),
        }
    }
}

impl ResumedInput {
    /// Whether the request is a retry.
    pub(in crate::server) fn is_retry(&self) -> bool {
        self.answers.is_some() || self.state.is_some()
    }

    /// The answers by key.
    pub(in crate::server::handlers) fn given(&self) -> Result<Vec<(Cow<'_, str>, &RawValue)>, ErrorObject> {
        let Some(answers) = &self.answers else { return Ok(Vec::new()) };
        json::entries(answers.get())
            .map_err(|fault| error::invalid_params("params.inputResponses", &format!("cannot be read: {fault}")))
    }
}

/// Where the rounds continue.
pub(in crate::server) struct ResumePoint {
    pub(in crate::server) answers: Vec<Answer>,
    /// The plugin's state.
    pub(in crate::server) state: Option<Vec<u8>>,
    /// Rounds so far.
    pub(in crate::server) round: u32,
}

impl Rounds<'_> {
    /// Where a request continues: at the beginning, or as its state says.
    pub(in crate::server) async fn resume(&self, resumed: ResumedInput) -> Result<ResumePoint, Refusal> {
        let given = resumed.given()?;
        let Some(state) = &resumed.state else {
            let answer = |(key, raw): &(Cow<'_, str>, &RawValue)| {
                let path = format!("params.inputResponses.{key}");
                let kind = answer::kind(raw, &path)?;
                let reply = match self.missing_grant(&kind) {
                    Some(why) => Reply::Unavailable(why),
                    None => answer::reply(&kind, raw, &path)?,
                };
                Ok(Answer { key: key.to_string(), reply })
            };
            let own = given.iter().filter(|(key, _)| !key.starts_with(OWN_KEYS));
            let answers = own.take(ANSWERS).map(answer).collect::<Result<_, ErrorObject>>()?;
            return Ok(ResumePoint { answers, state: None, round: 0 });
        };
        let sealed: Sealed = open(self.server, &self.binding(), state)?;
        let mut answers = Vec::new();
        for Question { key, kind } in sealed.asked {
            let path = format!("params.inputResponses.{key}");
            // A question without an answer is asked again by the plugin.
            let given = given.iter().find(|(given, _)| *given == key);
            if let Some(why) = self.missing_grant(&kind) {
                answers.push(Answer { key, reply: Reply::Unavailable(why) });
            } else if let Some((_, raw)) = given {
                let reply = self.reply(&kind, raw, &path).await?;
                answers.push(Answer { key, reply });
            } else if let Some(why) = self.unsupported_reason(&kind) {
                answers.push(Answer { key, reply: Reply::Unavailable(why) });
            }
        }
        Ok(ResumePoint { answers, state: sealed.state, round: sealed.round })
    }

    /// The `InputRequiredResult`: the client's retry contains the answers.
    pub(in crate::server) fn input_required(&self, prepared: PreparedQuestions, round: u32) -> Result<String, Refusal> {
        // Unsupported questions are answered at the retry.
        let refused = prepared.refused.into_iter().map(|(question, _)| question);
        let asked = prepared.requests.iter().map(|(question, _)| question.clone()).chain(refused).collect();
        let sealed = Sealed { asked, state: prepared.state, approved: self.approved, round };
        ask(self.server, self.scope, &self.binding(), &prepared.requests, sealed)
    }

    pub(super) fn binding(&self) -> Binding<'_> {
        Binding {
            principal: self.scope.identity.name(),
            plugin: self.provider.id(),
            digest: self.provider.digest(),
            method: self.method,
            name: self.name,
            arguments: self.arguments,
            extras: self.provider.extras(&self.scope.identity),
        }
    }
}

/// The content of a state.
pub(in crate::server::handlers) fn open<T: DeserializeOwned>(
    server: &Server,
    binding: &Binding<'_>,
    state: &str,
) -> Result<T, ErrorObject> {
    server.keys.open(binding, state, SystemTime::now()).map_err(|error| match error {
        SealError::Expired => error::expired_state(EXPIRY),
        SealError::Invalid => error::foreign_state(),
    })
}

/// An `InputRequiredResult` with questions and the content of its state.
pub(in crate::server::handlers) fn ask(
    server: &Server,
    scope: &Scope,
    binding: &Binding<'_>,
    questions: &[(Question, Request)],
    content: impl Serialize,
) -> Result<String, Refusal> {
    let input_requests = text(&Requests(questions))?;
    let state = server.keys.close(binding, content, SystemTime::now()).map_err(|fault| {
        tracing::error!("failed to seal a state: {fault}");
        Refusal::from(Fault::Host)
    })?;
    if state.len() > MAX_LENGTH {
        let why = "forms and a state that are too large together for what a client must send back";
        return Err(Fault::BadOutput(format!("{why}: {} characters, of {MAX_LENGTH}", state.len())).into());
    }
    let members = InputRequiredResult {
        input_requests: (!questions.is_empty()).then_some(Raw(&input_requests)),
        request_state: &state,
    };
    let envelope = Envelope { result_type: ResultType::InputRequired, ..Envelope::default() };
    Ok(result::object(scope.revision, &server.implementation, &members, envelope)?)
}

/// The wire's `InputRequiredResult`, without the envelope.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InputRequiredResult<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    input_requests: Option<Raw<'a>>,
    request_state: &'a str,
}

/// Requests by question key.
struct Requests<'a>(&'a [(Question, Request)]);

impl Serialize for Requests<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(question, request)| (&question.key, request)))
    }
}
