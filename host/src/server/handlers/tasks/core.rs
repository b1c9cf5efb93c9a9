//! Tasks of 2025-11-25: made because the client says so. Questions go to the client as requests, while it waits for the
//! result.
//!
//! Source: MCP 2025-11-25, basic/utilities/tasks.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use super::super::rounds::ResumedInput;
use super::super::tool_call::ToolCall;
use super::job::Job;
use super::{fetched, find, new_record, resume};
use crate::json;
use crate::plugin::FrozenTool;
use crate::plugin::abi::TaskSupport;
use crate::protocol::request::TaskParams;
use crate::protocol::result::{self, Envelope};
use crate::protocol::{ErrorObject, error};
use crate::server::Server;
use crate::server::call_record::{CallRecord, of_task};
use crate::server::promotion::Promotion;
use crate::server::response::{Dispatched, Response};
use crate::server::scope::Scope;
use crate::server::tasks::Tasks;
use crate::server::wire::question::Request;
use crate::server::wire::task::{CoreTask, CoreTasks, CreatedCoreTask, related};
use crate::store::Changed;
use crate::tasks::{Flow, Given, Kept, Outcome, Record, Status};

/// The methods of questions.
const METHODS: [&str; 3] = ["elicitation/create", "sampling/createMessage", "roots/list"];
/// Tasks on a page.
const PAGE: usize = 100;

/// Whether a call is to become a task.
///
/// # Errors
/// If the tool cannot, or the client has to say so and does not.
pub(in crate::server) fn wanted<'a>(
    server: &'a Server,
    scope: &Scope,
    name: &str,
    tool: &FrozenTool,
    params: Option<TaskParams>,
) -> Result<Option<(&'a Arc<Tasks>, TaskParams)>, ErrorObject> {
    let Some(tasks) = server.tasks.as_ref().filter(|_| scope.revision.has_core_tasks()) else { return Ok(None) };
    match (tool.tool.task_support, params) {
        (TaskSupport::Forbidden, Some(_)) => Err(error::task_support(name, false)),
        (TaskSupport::Required, None) => Err(error::task_support(name, true)),
        (_, params) => Ok(params.map(|params| (tasks, params))),
    }
}

/// Runs a call as a task, which is answered at once.
pub(in crate::server) async fn run(
    tasks: &Arc<Tasks>,
    params: TaskParams,
    mut call: ToolCall,
    mut record: CallRecord,
) -> Response {
    let cancelled = CancellationToken::new();
    let made = async {
        let start = call.rounds().resume(ResumedInput::default()).await.map_err(|_| error::foreign_state())?;
        let task = new_record(&call, tasks.node(), Flow::Core, params.ttl, 0)?;
        let run = tasks.add(&task, &cancelled).await.map_err(|why| why.error(tasks))?;
        of_task(&call.server, &call.scope, &task, "made")?;
        Ok((start, task, run))
    };
    let (start, task, run) = match made.await {
        Ok(made) => made,
        Err(error) => return record.finish(Err(error)).await,
    };
    record.set_task(&task.id);
    let promotion = Arc::new(Promotion::of_task(run));
    // Its questions are in its record.
    call.scope.client = call.scope.client.without_requests();
    (call.scope.task, call.scope.cancelled) = (Some(promotion.clone()), cancelled);
    let (server, revision) = (call.server.clone(), call.scope.revision);
    let until = Instant::now() + Duration::from_millis(task.ttl);
    tokio::spawn(Job { tasks: tasks.clone(), call, promotion, record, until }.run(start));
    let members = CreatedCoreTask { task: CoreTask::from(&task) };
    result::object(revision, &server.implementation, &members, Envelope::default())
}

/// The status of a task, as `tasks/get` and `tasks/cancel` give it.
pub(super) fn task(server: &Server, scope: &Scope, record: &Record) -> Response {
    result::object(scope.revision, &server.implementation, &CoreTask::from(record), Envelope::default())
}

/// `tasks/list`. A cursor is the id of the last task before it.
pub(in crate::server) fn list(server: &Arc<Server>, scope: Scope, cursor: Option<&str>) -> Dispatched {
    let (server, cursor) = (server.clone(), cursor.map(str::to_owned));
    Dispatched::Later(Box::pin(async move {
        let tasks = server.tasks("tasks/list")?;
        if !tasks.settings.lists {
            return Err(error::not_offered("tasks/list", "list of tasks: its clients cannot be told apart"));
        }
        let principal = scope.identity.name();
        let after = match &cursor {
            Some(cursor) => tasks.ledger.key(principal, cursor).ok_or_else(error::invalid_cursor)?,
            None => String::new(),
        };
        let listed = tasks.reading.read(tasks.ledger.list(Some(principal), &after, PAGE)).await;
        let listed = listed.map_err(|error| tasks.unusable(&error))?;
        let next_cursor = listed.next.as_deref().map(|key| Record::id_of(key).to_owned());
        let shown = listed.tasks.iter().map(|(_, record)| CoreTask::from(record)).collect();
        let members = CoreTasks { tasks: shown, next_cursor };
        result::object(scope.revision, &server.implementation, &members, Envelope::default())
    }))
}

/// `tasks/result`: waits for the end of the task, and asks its questions meanwhile.
pub(in crate::server) fn result(server: &Arc<Server>, scope: Scope, id: &str) -> Dispatched {
    let (server, id) = (server.clone(), id.to_owned());
    Dispatched::Later(Box::pin(async move {
        let tasks = server.tasks("tasks/result")?;
        // Before it is read, so that no change is missed.
        let mut changes = tasks.ledger.watch();
        loop {
            let (key, Kept { record, .. }) = find(tasks, &scope, &id).await?;
            if let Some(outcome) = &record.outcome {
                fetched(&server, &scope, tasks, &key, &record).await?;
                return ended(&record, outcome);
            }
            if record.status.is_final() {
                return Err(error::ended_task(&id, record.status.name()));
            }
            if record.status == Status::InputRequired {
                let given = ask(&server, &scope, &record).await?;
                resume::answer(&server, &scope, tasks, &key, given).await?;
                continue;
            }
            loop {
                match changes.recv().await {
                    Ok(Changed::Key(changed)) if changed != key => {}
                    Ok(_) | Err(RecvError::Lagged(_)) => break,
                    Err(RecvError::Closed) => return Err(error::shutting_down()),
                }
            }
        }
    }))
}

/// Asks the client all open questions at once. What it does not answer is refused.
async fn ask(server: &Server, scope: &Scope, record: &Record) -> Result<Vec<Given>, ErrorObject> {
    let mut pending = Vec::new();
    for asked in record.asked.iter().filter(|asked| asked.is_open()) {
        let params = asked.params.as_ref().map_or("{}", |params| params.get());
        let params = related(params, &record.id)?;
        let Some(method) = METHODS.into_iter().find(|method| **method == *asked.method) else { continue };
        let request = Request { method, params: Some(params) };
        pending.push((asked.key.clone(), scope.client.ask(&request).await));
    }
    let until = Instant::now() + server.settings.ask_timeout;
    let mut given = Vec::new();
    for (key, pending) in pending {
        let answer = match pending {
            Ok(mut pending) => timeout_at(until, pending.answer())
                .await
                .unwrap_or_else(|_| Err("the client did not answer in time".to_owned())),
            Err(why) => Err(why),
        };
        given.push(Given { key, answer });
    }
    Ok(given)
}

/// What the request of the call would have got, with the id of its task.
fn ended(record: &Record, outcome: &Outcome) -> Response {
    match outcome {
        Outcome::Result(result) => related(result.get(), &record.id),
        Outcome::Error(error) => Err(json::read(error.get()).unwrap_or_else(|_| error::damaged_task())),
    }
}
