//! The questions of a task: as they are kept, and with their answers.

use serde_json::value::{RawValue, to_raw_value};

use super::super::rounds::{PreparedQuestions, ResumePoint, Rounds};
use crate::json;
use crate::plugin::abi::{Answer, Reply};
use crate::protocol::{ErrorObject, error};
use crate::server::questions::QuestionKind;
use crate::server::refusal::Refusal;
use crate::tasks::{Asked, Record};

/// The questions of a round, for its record.
///
/// # Errors
/// If one is not JSON, which would be a fault of the host.
pub(super) fn to_keep(prepared: PreparedQuestions, round: u32) -> Result<Vec<Asked>, ErrorObject> {
    let broken = |fault: serde_json::Error| error::unwritable(&fault);
    let asked = |name: String, kind: &QuestionKind| {
        // A plugin may use a key again in a later round; a client sees each once.
        let key = format!("{name}.{round}");
        let kind = to_raw_value(kind).map_err(broken)?;
        Ok(Asked { key, name, kind, method: String::new(), params: None, answer: None, refused: None })
    };
    let requests = prepared.requests.into_iter().map(|(question, request)| {
        let params = request.params.map(RawValue::from_string).transpose().map_err(broken)?;
        Ok(Asked { method: request.method.to_owned(), params, ..asked(question.key, &question.kind)? })
    });
    let refused = prepared.refused.into_iter().map(|(question, reply)| {
        let why = match reply {
            Reply::Unavailable(why) => why,
            _ => String::new(),
        };
        Ok(Asked { refused: Some(why), ..asked(question.key, &question.kind)? })
    });
    requests.chain(refused).collect()
}

/// Where a round goes on that has nothing to ask.
pub(super) fn unasked(prepared: PreparedQuestions, round: u32) -> ResumePoint {
    let refused = prepared.refused.into_iter();
    let answers = refused.map(|(question, reply)| Answer { key: question.key, reply }).collect();
    ResumePoint { answers, state: prepared.state, round }
}

/// Where a task goes on whose questions are answered.
pub(super) async fn resume(rounds: &Rounds<'_>, record: &Record) -> Result<ResumePoint, Refusal> {
    let mut answers = Vec::new();
    for asked in &record.asked {
        let reply = match (&asked.answer, &asked.refused) {
            (Some(answer), _) => reply(rounds, asked, answer).await?,
            (None, Some(why)) => Reply::Unavailable(why.clone()),
            (None, None) => continue,
        };
        answers.push(Answer { key: asked.name.clone(), reply });
    }
    Ok(ResumePoint { answers, state: record.plugin_state(), round: record.round })
}

/// Reads an answer.
///
/// # Errors
/// If it is none to the question.
pub(super) async fn reply(rounds: &Rounds<'_>, asked: &Asked, answer: &RawValue) -> Result<Reply, Refusal> {
    let kind: QuestionKind = json::read(asked.kind.get()).map_err(|_| error::damaged_task())?;
    rounds.reply(&kind, answer, &format!("params.inputResponses.{}", asked.key)).await
}
