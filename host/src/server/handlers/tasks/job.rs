//! Runs a call that may become a task while it runs, or is one: its outcome and its questions go to its record.

use std::sync::Arc;
use std::time::Duration;

use serde_json::value::{RawValue, to_raw_value};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::super::rounds::{Advance, PreparedQuestions, ResumePoint};
use super::super::settled::Settled;
use super::super::tool_call::ToolCall;
use super::questions;
use crate::json;
use crate::plugin::abi::ToolResult;
use crate::protocol::{ErrorObject, error};
use crate::server::call_record::CallRecord;
use crate::server::promotion::Promotion;
use crate::server::refusal::Refusal;
use crate::server::response::Response;
use crate::server::tasks::Tasks;
use crate::store::Durability;
use crate::tasks::{Outcome, Record, Status, is_error};

/// How often the record of a task says what it does.
const SAYING: Duration = Duration::from_secs(1);
/// How often it is tried to keep an outcome, and how long after the first failure; twice as long after each other.
const ATTEMPTS: u32 = 8;
const PAUSE: Duration = Duration::from_millis(250);
/// Characters of what a failed tool says that its status repeats.
const REASON: usize = 500;

pub(super) struct Job {
    pub(super) tasks: Arc<Tasks>,
    pub(super) call: ToolCall,
    pub(super) promotion: Arc<Promotion>,
    pub(super) record: CallRecord,
    /// When the task is not kept any longer.
    pub(super) until: Instant,
}

/// The end of a call that is no task.
pub(super) struct Ended {
    pub(super) answer: Response,
    /// Whether the call ended, with a result or an error of its own: it neither asks nor is refused.
    pub(super) is_outcome: bool,
}

impl Job {
    /// Runs it to its end, or to its next question. `None`: it is a task, and its record says how far it got.
    pub(super) async fn run(mut self, mut start: ResumePoint) -> Option<Ended> {
        loop {
            let advanced = self.advance(start).await;
            let Some(run) = self.promotion.settled().await else { return Some(self.end(advanced).await) };
            self.record.set_task(Record::id_of(&run.key));
            let settled = match advanced {
                Ok(Advance::Asks(prepared, round)) => match self.ask(&run.key, prepared, round).await {
                    Ok(Some(next)) => {
                        start = next;
                        continue;
                    }
                    Ok(None) => {
                        self.record.set_code("asks");
                        // There is no response that could be replaced.
                        drop(self.record.finish(Ok(String::new())).await);
                        return None;
                    }
                    Err(error) => Err(error.into()),
                },
                Ok(Advance::Complete(result)) => Ok(Settled::Complete(result)),
                Err(refusal) => Err(refusal),
            };
            let answer = self.call.answer(settled, &mut self.record);
            let cancelled = self.call.scope.cancelled.is_cancelled();
            if cancelled {
                self.record.set_code("cancelled");
            }
            let answer = self.record.finish(answer).await;
            let of = Some(self.tasks.node());
            keep(&self.tasks, &run.key, of, self.call.scope.identity.name(), answer, cancelled).await;
            return None;
        }
    }

    /// Runs its rounds, until it is cancelled or expires; says meanwhile what it does.
    async fn advance(&self, start: ResumePoint) -> Result<Advance<ToolResult>, Refusal> {
        let scope = &self.call.scope;
        let advance = self.call.advance(start);
        tokio::pin!(advance);
        loop {
            tokio::select! {
                biased;
                () = scope.cancelled.cancelled() => {
                    // The plugin may end in its own way; the outcome is not kept.
                    drop(timeout(self.call.server.settings.cancel_grace, advance).await);
                    return Err(error::internal("cancelled", "the task was cancelled").into());
                }
                advanced = &mut advance => return advanced,
                () = sleep_until(self.until) => {
                    return Err(error::internal("task_expired", "the task did not end within its ttl").into());
                }
                () = sleep(SAYING) => self.say().await,
            }
        }
    }

    async fn say(&self) {
        let Some(key) = self.promotion.key() else { return };
        let Some(message) = self.promotion.said() else { return };
        let node = Some(self.tasks.node());
        let change = |record: &mut Record| (record.node.as_deref() == node && record.say(&message)).then_some(());
        if let Err(error) = self.tasks.ledger.change(&key, Durability::Process, change).await {
            tracing::debug!(%error, "failed to write the status message of a task");
        }
    }

    /// The answer to its request.
    async fn end(mut self, advanced: Result<Advance<ToolResult>, Refusal>) -> Ended {
        let is_outcome = match &advanced {
            Ok(Advance::Complete(_)) => true,
            Ok(Advance::Asks(..)) => false,
            // As every call with such arguments.
            Err(refusal) => !matches!(refusal.code(), "refused" | "bad-input"),
        };
        let settled = advanced.and_then(|advanced| self.call.rounds().settle(advanced));
        let answer = self.call.answer(settled, &mut self.record);
        Ended { answer: self.record.finish(answer).await, is_outcome }
    }

    /// Puts questions into its record. Where it goes on, if there is nothing to ask.
    async fn ask(
        &self,
        key: &str,
        prepared: PreparedQuestions,
        round: u32,
    ) -> Result<Option<ResumePoint>, ErrorObject> {
        if prepared.requests.is_empty() {
            return Ok(Some(questions::unasked(prepared, round)));
        }
        let state = prepared.state.clone();
        let asked = questions::to_keep(prepared, round)?;
        let said = self.promotion.said();
        let node = Some(self.tasks.node());
        let ask = |record: &mut Record| {
            let asks = record.node.as_deref() == node && record.ask(asked.clone(), state.as_deref(), round);
            if let Some(said) = said.as_ref().filter(|said| asks && !said.is_empty()) {
                record.message = Some(said.clone());
            }
            asks.then_some(())
        };
        let mut pause = PAUSE;
        for _ in 1..ATTEMPTS {
            match self.tasks.ledger.change(key, Durability::Power, ask).await {
                Ok(_) => return Ok(None),
                Err(error) => self.tasks.report("keep the questions of a task, which is tried again", &error),
            }
            sleep(pause).await;
            pause *= 2;
        }
        let kept = self.tasks.ledger.change(key, Durability::Power, ask).await;
        kept.map(|_| None).map_err(|error| self.tasks.unusable(&error))
    }
}

/// Keeps the outcome of a task, unless it has ended otherwise, or another process than `of` runs it.
pub(super) async fn keep(
    tasks: &Tasks,
    key: &str,
    of: Option<&str>,
    principal: &str,
    answer: Response,
    cancelled: bool,
) {
    let answer = match answer {
        Ok(result) if !cancelled && !tasks.has_room_for(principal, result.len()).await.unwrap_or(true) => {
            Err(error::task_result_not_kept(result.len()))
        }
        answer => answer,
    };
    let (status, message, outcome) = if cancelled { (Status::Cancelled, None, None) } else { ending(&answer) };
    let mut pause = PAUSE;
    for _ in 0..ATTEMPTS {
        let end = |record: &mut Record| {
            (record.node.as_deref() == of && record.end(status, message.clone(), outcome.clone())).then_some(())
        };
        match tasks.ledger.change(key, Durability::Power, end).await {
            Ok(_) => return,
            Err(error) => tasks.report("keep the outcome of a task, which is tried again for a minute", &error),
        }
        sleep(pause).await;
        pause *= 2;
    }
    tracing::error!(id = Record::id_of(key), "the outcome of a task is lost: it could not be kept for a minute");
}

/// How a task ends with that answer of its call.
pub(super) fn ending(answer: &Response) -> (Status, Option<String>, Option<Outcome>) {
    let (status, message, outcome) = match answer {
        Ok(result) => (Status::Completed, reason(result), RawValue::from_string(result.clone()).map(Outcome::Result)),
        Err(error) => (Status::Failed, Some(error.message.clone()), to_raw_value(error).map(Outcome::Error)),
    };
    match outcome {
        Ok(outcome) => (status, message, Some(outcome)),
        Err(fault) => {
            tracing::error!(%fault, "the outcome of a task is no JSON");
            (Status::Failed, message, None)
        }
    }
}

/// Why the tool failed, in its own words.
fn reason(result: &str) -> Option<String> {
    if !is_error(result) {
        return None;
    }
    let [content] = json::members(result, ["content"]).ok()?;
    let first = json::items(content?.get(), 1)?.first.pop()?;
    let [text] = json::members(first.get(), ["text"]).ok()?;
    Some(json::string(text?)?.chars().take(REASON).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_says_why_the_tool_failed() {
        let failed = |text: &str| format!(r#"{{"content":[{{"type":"text","text":"{text}"}},{{}}],"isError":true}}"#);
        assert_eq!(reason(&failed("the disk\\nis full")).as_deref(), Some("the disk\nis full"));
        assert_eq!(reason(&failed(&"ä".repeat(REASON + 1))), Some("ä".repeat(REASON)));
        let others =
            [r#"{"content":[{"type":"text","text":"fine"}]}"#, r#"{"content":[{"type":"image"}],"isError":true}"#];
        assert_eq!(others.map(reason), [None, None]);
    }
}
