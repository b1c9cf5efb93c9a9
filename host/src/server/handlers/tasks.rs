//! Tasks: calls of tools that outlive their requests. `tasks/get`, `tasks/update` and `tasks/cancel` of the extension; in
//! `core`, the methods of 2025-11-25.
//!
//! Between questions and answers, a task is a record alone: whichever process has the answers goes on.
//!
//! Source: MCP extension `io.modelcontextprotocol/tasks`; MCP 2025-11-25, basic/utilities/tasks.

pub(in crate::server) mod core;
mod job;
pub(in crate::server) mod notify;
pub(in crate::server) mod orphans;
mod questions;
mod race;
mod resume;

use std::sync::Arc;

use serde_json::value::RawValue;

use super::tool_call::ToolCall;
use crate::json;
use crate::plugin::FrozenTool;
use crate::plugin::abi::TaskSupport;
use crate::protocol::keys::TASKS;
use crate::protocol::result::{self, Empty, Envelope, ResultType};
use crate::protocol::{Ask, ClientCapabilities, ErrorObject, Revision, error};
use crate::server::Server;
use crate::server::call_record::of_task;
use crate::server::response::{Dispatched, Response};
use crate::server::scope::Scope;
use crate::server::tasks::Tasks;
use crate::server::wire::task::Task;
use crate::store::Durability;
use crate::tasks::{self, Flow, Given, Kept, Record};

pub(in crate::server) use race::run;

/// Maximum answers that are read from one request.
const ANSWERS: usize = 32;

/// The shortest time for which a task is kept, in milliseconds: a client has to come back for its result.
const MIN_TTL: u64 = 10_000;

/// The error for a request of the extension whose client does not declare it, before anything else of it is looked at.
pub(in crate::server) fn declared(
    revision: Revision,
    method: &str,
    capabilities: &ClientCapabilities,
) -> Result<(), ErrorObject> {
    let needs = revision.is_modern() && matches!(method, "tasks/get" | "tasks/update" | "tasks/cancel");
    if needs && !capabilities.tasks { Err(error::missing_extension(TASKS, "use tasks")) } else { Ok(()) }
}

/// Whether a call may become a task. `None`: it runs while its request waits.
///
/// # Errors
/// If the tool runs as a task only, and the client has none.
pub(in crate::server) fn may_become<'a>(
    server: &'a Server,
    scope: &Scope,
    tool: &FrozenTool,
) -> Result<Option<&'a Arc<Tasks>>, ErrorObject> {
    // Older clients wait for the end.
    let Some(tasks) = server.tasks.as_ref().filter(|_| scope.revision.is_modern()) else { return Ok(None) };
    match tool.tool.task_support {
        TaskSupport::Forbidden => Ok(None),
        TaskSupport::Required if scope.client.capabilities.tasks => Ok(Some(tasks)),
        // Without room for it, it is a call as any other.
        TaskSupport::Optional if scope.client.capabilities.tasks && tasks.has_room(&scope.caller) => Ok(Some(tasks)),
        TaskSupport::Optional => Ok(None),
        TaskSupport::Required => Err(error::missing_extension(TASKS, "call a tool that runs as a task only")),
    }
}

/// The record of a call that becomes a task. `wanted`: milliseconds for which the client wants it to be kept.
fn new_record(call: &ToolCall, node: &str, flow: Flow, wanted: Option<u64>, round: u32) -> Result<Record, ErrorObject> {
    let failed = |error: &dyn std::fmt::Display| {
        tracing::error!("failed to make a task: {error}");
        error::host_error()
    };
    let text = |text: &str| RawValue::from_string(text.to_owned()).map_err(|error| failed(&error));
    let (scope, provider, now) = (&call.scope, &call.entry.provider, tasks::now());
    let keep = provider.limits().tasks.keep.as_millis() as u64;
    let hints = call.entry.item().tool.annotations.as_ref();
    let may_ask = Ask::ALL.into_iter().filter(|ask| scope.client.capabilities.allows(*ask));
    Ok(Record {
        id: Record::new_id().map_err(|error| failed(&error))?,
        flow,
        requester: (&*scope.identity).into(),
        caller: scope.caller.to_string(),
        revision: scope.revision.as_str().to_owned(),
        capabilities: may_ask.map(|ask| ask.name().to_owned()).collect(),
        plugin: provider.id().to_string(),
        version: provider.digest().to_string(),
        extras: provider.extras(&scope.identity),
        tool: call.name.clone(),
        arguments: text(&call.arguments)?,
        meta: text(&scope.meta)?,
        idempotent: hints.is_some_and(|hints| hints.idempotent == Some(true) || hints.read_only == Some(true)),
        created: now,
        updated: now,
        ttl: wanted.unwrap_or(u64::MAX).clamp(MIN_TTL.min(keep), keep),
        node: Some(node.to_owned()),
        ..Record::at_round(round)
    })
}

/// The result of a call that has become a task.
fn made(server: &Server, scope: &Scope, record: &Record) -> Response {
    of_task(server, scope, record, "made")?;
    let envelope = Envelope { result_type: ResultType::Task, ..Envelope::default() };
    result::object(scope.revision, &server.implementation, &Task::created(record), envelope)
}

/// A task of the sender, with its key.
async fn find(tasks: &Tasks, scope: &Scope, id: &str) -> Result<(String, Kept), ErrorObject> {
    let unknown = || error::unknown_task(id);
    let key = tasks.ledger.key(scope.identity.name(), id).ok_or_else(unknown)?;
    let kept = tasks.reading.read(tasks.ledger.read(&key)).await.map_err(|error| tasks.unusable(&error))?;
    Ok((key, kept.ok_or_else(unknown)?))
}

/// The outcome of a task is sent to its client.
///
/// # Errors
/// If that must be recorded, and cannot be.
async fn fetched(server: &Server, scope: &Scope, tasks: &Tasks, key: &str, record: &Record) -> Result<(), ErrorObject> {
    if record.fetched {
        return Ok(());
    }
    of_task(server, scope, record, "fetched")?;
    let fetch = |record: &mut Record| (!std::mem::replace(&mut record.fetched, true)).then_some(());
    tasks.ledger.change(key, Durability::Process, fetch).await.map_err(|error| tasks.unusable(&error))?;
    Ok(())
}

/// `tasks/get`.
pub(in crate::server) fn get(server: &Arc<Server>, scope: Scope, id: &str) -> Dispatched {
    let (server, id) = (server.clone(), id.to_owned());
    Dispatched::Later(Box::pin(async move {
        let tasks = server.tasks("tasks/get")?;
        let (key, Kept { record, .. }) = find(tasks, &scope, &id).await?;
        if !scope.revision.is_modern() {
            return core::task(&server, &scope, &record);
        }
        if record.outcome.is_some() {
            fetched(&server, &scope, tasks, &key, &record).await?;
        }
        result::object(scope.revision, &server.implementation, &Task::detailed(&record)?, Envelope::default())
    }))
}

/// `tasks/update`.
pub(in crate::server) fn update(
    server: &Arc<Server>,
    scope: Scope,
    id: &str,
    answers: Option<&RawValue>,
) -> Dispatched {
    let (server, id, answers) = (server.clone(), id.to_owned(), answers.map(RawValue::to_owned));
    Dispatched::Later(Box::pin(async move {
        let tasks = server.tasks("tasks/update")?;
        let (key, _) = find(tasks, &scope, &id).await?;
        let given = match &answers {
            Some(answers) => json::entries(answers.get())
                .map_err(|fault| error::invalid_params("params.inputResponses", &format!("cannot be read: {fault}")))?,
            None => Vec::new(),
        };
        let given = given.into_iter().take(ANSWERS);
        let given: Vec<_> =
            given.map(|(key, answer)| Given { key: key.into_owned(), answer: Ok(answer.to_owned()) }).collect();
        resume::answer(&server, &scope, tasks, &key, given).await?;
        acknowledged(&server, &scope)
    }))
}

/// `tasks/cancel`.
pub(in crate::server) fn cancel(server: &Arc<Server>, scope: Scope, id: &str) -> Dispatched {
    let (server, id) = (server.clone(), id.to_owned());
    Dispatched::Later(Box::pin(async move {
        let tasks = server.tasks("tasks/cancel")?;
        let (key, Kept { record, .. }) = find(tasks, &scope, &id).await?;
        if !record.status.is_final() {
            of_task(&server, &scope, &record, "cancelled")?;
        }
        let cancelled = tasks.cancel(&key).await.map_err(|error| tasks.unusable(&error))?;
        if !scope.revision.is_modern() {
            let cancelled = cancelled.ok_or_else(|| error::ended_task(&id, record.status.name()))?;
            return core::task(&server, &scope, &cancelled);
        }
        acknowledged(&server, &scope)
    }))
}

fn acknowledged(server: &Server, scope: &Scope) -> Response {
    result::object(scope.revision, &server.implementation, &Empty {}, Envelope::default())
}
