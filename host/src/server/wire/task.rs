//! Tasks, in the shapes of the extension (2026-07-28) and of 2025-11-25.
//!
//! Source: MCP extension `io.modelcontextprotocol/tasks`; MCP 2025-11-25, basic/utilities/tasks.

use std::time::{Duration, UNIX_EPOCH};

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::text;
use crate::json::{MembersError, Object, Raw};
use crate::protocol::keys::RELATED_TASK;
use crate::protocol::{ErrorObject, error};
use crate::tasks::{Asked, Flow, Outcome, Record, Status};

/// How often a client should ask for the status.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

const RESULT_TYPE: &str = "resultType";
const META: &str = "_meta";

/// What both have.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct State<'a> {
    task_id: &'a str,
    status: Status,
    #[serde(skip_serializing_if = "Option::is_none")]
    status_message: Option<&'a str>,
    created_at: String,
    last_updated_at: String,
}

impl<'a> State<'a> {
    fn new(record: &'a Record, status: Status) -> Self {
        Self {
            task_id: &record.id,
            status,
            status_message: record.message.as_deref(),
            created_at: date(record.created),
            last_updated_at: date(record.updated),
        }
    }
}

/// A task of the extension; with what it has beyond its status, if `detailed`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::server) struct Task<'a> {
    #[serde(flatten)]
    state: State<'a>,
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
            state: State::new(record, record.status),
            ttl_ms: record.ttl,
            poll_interval_ms: POLL_INTERVAL.as_millis() as u64,
            input_requests: None,
            result: None,
            error: None,
        }
    }

    /// As it stands, with its questions or its outcome.
    pub(in crate::server) fn detailed(record: &'a Record) -> Result<Self, ErrorObject> {
        let (result, error) = match &record.outcome {
            Some(Outcome::Result(result)) => (Some(TypedResult::of(result.get())?), None),
            Some(Outcome::Error(error)) => (None, Some(Raw(error.get()))),
            None => (None, None),
        };
        let asks = record.status == Status::InputRequired;
        let input_requests = asks.then_some(OpenQuestions(&record.asked));
        Ok(Self { input_requests, result, error, ..Self::created(record) })
    }
}

/// A result with `resultType`, also of a task that was made in 2025-11-25.
#[derive(Serialize)]
struct TypedResult<'a> {
    #[serde(rename = "resultType")]
    result_type: Raw<'a>,
    #[serde(flatten)]
    rest: Object<'a>,
}

impl<'a> TypedResult<'a> {
    fn of(result: &'a str) -> Result<Self, ErrorObject> {
        let (members, own) = with_member(result, RESULT_TYPE)?;
        let result_type = Raw(own.map_or("\"complete\"", RawValue::get));
        Ok(Self { result_type, rest: members.filtered(|name| name != RESULT_TYPE) })
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
    #[serde(flatten)]
    state: State<'a>,
    ttl: u64,
    poll_interval: u64,
}

impl<'a> From<&'a Record> for CoreTask<'a> {
    fn from(record: &'a Record) -> Self {
        Self {
            state: State::new(record, core_status(record)),
            ttl: record.ttl,
            poll_interval: POLL_INTERVAL.as_millis() as u64,
        }
    }
}

/// A result that is an error is a failure in 2025-11-25, and a completion in the extension.
fn core_status(record: &Record) -> Status {
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

/// An object that belongs to a task of 2025-11-25, which its `_meta` says. `resultType` is of a task that was made in
/// 2026-07-28.
pub(in crate::server) fn related(object: &str, task_id: &str) -> Result<String, ErrorObject> {
    let (members, meta) = with_member(object, META)?;
    let meta = Object::read(meta.map_or("{}", RawValue::get)).map_err(|fault| error::unwritable(&fault))?;
    text(&Related {
        members: members.filtered(|name| name != META && name != RESULT_TYPE),
        meta: RelatedMeta { own: meta.filtered(|name| name != RELATED_TASK), related: RelatedTask { task_id } },
    })
}

/// An object, and its member `name`.
fn with_member<'a>(object: &'a str, name: &'static str) -> Result<(Object<'a>, Option<&'a RawValue>), ErrorObject> {
    let read = || {
        let members = Object::read(object)?;
        let [member] = members.members([name])?;
        Ok((members, member))
    };
    read().map_err(|fault: MembersError| error::unwritable(&fault))
}

#[derive(Serialize)]
struct Related<'a> {
    #[serde(flatten)]
    members: Object<'a>,
    #[serde(rename = "_meta")]
    meta: RelatedMeta<'a>,
}

#[derive(Serialize)]
struct RelatedMeta<'a> {
    #[serde(flatten)]
    own: Object<'a>,
    #[serde(rename = "io.modelcontextprotocol/related-task")]
    related: RelatedTask<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RelatedTask<'a> {
    task_id: &'a str,
}

/// RFC 3339.
fn date(millis: u64) -> String {
    // Beyond the year 9999 there is no such text.
    let time = UNIX_EPOCH + Duration::from_millis(millis.min(253_402_300_799_000));
    humantime::format_rfc3339_millis(time).to_string()
}
