//! Tasks, in the shapes of the extension (2026-07-28) and of 2025-11-25.
//!
//! Source: MCP extension `io.modelcontextprotocol/tasks`; MCP 2025-11-25, basic/utilities/tasks.

use std::time::{Duration, UNIX_EPOCH};

use serde::ser::{Error as _, SerializeMap as _};
use serde::{Serialize, Serializer};

use crate::json::{self, Raw};
use crate::tasks::{Asked, Flow, Outcome, Record, Status};

/// How often a client should ask for the status.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

const RESULT_TYPE: &str = "resultType";

/// A task of the extension; with what it has beyond its status, if `detailed`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::server) struct Task<'a> {
    task_id: &'a str,
    status: Status,
    #[serde(skip_serializing_if = "Option::is_none")]
    status_message: Option<&'a str>,
    created_at: String,
    last_updated_at: String,
    ttl_ms: u64,
    poll_interval_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    input_requests: Option<OpenQuestions<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<TypedResult<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Raw<'a>>,
}

impl<'a> Task<'a> {
    /// The result of the call that became the task.
    pub(in crate::server) fn created(record: &'a Record) -> Self {
        Self {
            task_id: &record.id,
            status: record.status,
            status_message: record.message.as_deref(),
            created_at: date(record.created),
            last_updated_at: date(record.updated),
            ttl_ms: record.ttl,
            poll_interval_ms: POLL_INTERVAL.as_millis() as u64,
            input_requests: None,
            result: None,
            error: None,
        }
    }

    /// As it stands, with its questions or its outcome.
    pub(in crate::server) fn detailed(record: &'a Record) -> Self {
        let (result, error) = match &record.outcome {
            Some(Outcome::Result(result)) => (Some(TypedResult(result.get())), None),
            Some(Outcome::Error(error)) => (None, Some(Raw(error.get()))),
            None => (None, None),
        };
        let asks = record.status == Status::InputRequired;
        Self { input_requests: asks.then_some(OpenQuestions(&record.asked)), result, error, ..Self::created(record) }
    }
}

/// A result with `resultType`, also of a task that was made in 2025-11-25.
struct TypedResult<'a>(&'a str);

impl Serialize for TypedResult<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let members = json::entries(self.0).map_err(S::Error::custom)?;
        if members.iter().any(|(name, _)| name == RESULT_TYPE) {
            return Raw(self.0).serialize(serializer);
        }
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry(RESULT_TYPE, "complete")?;
        for (name, value) in members {
            map.serialize_entry(&name, value)?;
        }
        map.end()
    }
}

/// The questions that have no answer yet, by key.
struct OpenQuestions<'a>(&'a [Asked]);

impl Serialize for OpenQuestions<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let open = self.0.iter().filter(|asked| asked.is_open());
        serializer.collect_map(open.map(|asked| (&asked.key, OpenQuestion::from(asked))))
    }
}

#[derive(Serialize)]
struct OpenQuestion<'a> {
    method: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<Raw<'a>>,
}

impl<'a> From<&'a Asked> for OpenQuestion<'a> {
    fn from(asked: &'a Asked) -> Self {
        Self { method: &asked.method, params: asked.params.as_ref().map(|params| Raw(params.get())) }
    }
}

/// A task of 2025-11-25.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::server) struct CoreTask<'a> {
    task_id: &'a str,
    status: Status,
    #[serde(skip_serializing_if = "Option::is_none")]
    status_message: Option<&'a str>,
    created_at: String,
    last_updated_at: String,
    ttl: u64,
    poll_interval: u64,
}

impl<'a> From<&'a Record> for CoreTask<'a> {
    fn from(record: &'a Record) -> Self {
        Self {
            task_id: &record.id,
            status: core_status(record),
            status_message: record.message.as_deref(),
            created_at: date(record.created),
            last_updated_at: date(record.updated),
            ttl: record.ttl,
            poll_interval: POLL_INTERVAL.as_millis() as u64,
        }
    }
}

/// A result that is an error is a failure in 2025-11-25, and a completion in the extension.
pub(in crate::server) fn core_status(record: &Record) -> Status {
    let failed = record.flow == Flow::Core && record.is_error;
    if record.status == Status::Completed && failed { Status::Failed } else { record.status }
}

/// The wire's `CreateTaskResult` of 2025-11-25.
#[derive(Serialize)]
pub(in crate::server) struct CreatedCoreTask<'a> {
    pub(in crate::server) task: CoreTask<'a>,
}

/// The wire's `ListTasksResult` of 2025-11-25.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::server) struct CoreTasks<'a> {
    pub(in crate::server) tasks: Vec<CoreTask<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::server) next_cursor: Option<String>,
}

/// The value of `related-task` in `_meta`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::server) struct RelatedTask<'a> {
    pub(in crate::server) task_id: &'a str,
}

/// RFC 3339.
fn date(millis: u64) -> String {
    // Beyond the year 9999 there is no such text.
    let time = UNIX_EPOCH + Duration::from_millis(millis.min(253_402_300_799_000));
    humantime::format_rfc3339_millis(time).to_string()
}
