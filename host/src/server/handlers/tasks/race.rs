//! A call of a tool that can be a task. Whoever is faster decides: a call that ends, or asks, while its request still
//! waits is answered as any other; one that takes longer becomes a task.
//!
//! Source: MCP extension `io.modelcontextprotocol/tasks`, "Task creation".

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::super::rounds::ResumedInput;
use super::super::tool_call::ToolCall;
use super::job::{Ended, Job, ending};
use super::{made, new_record};
use crate::plugin::abi::TaskSupport;
use crate::protocol::error;
use crate::server::call_record::CallRecord;
use crate::server::promotion::Promotion;
use crate::server::response::Response;
use crate::server::tasks::{NoTask, Tasks};
use crate::tasks::{Flow, Record};

/// How long a tool that runs as a task only has for a question that the client answers with its retry.
const FIRST_QUESTION: Duration = Duration::from_millis(250);

/// Runs a call that the client lets become a task.
pub(in crate::server) async fn run(
    tasks: Arc<Tasks>,
    mut call: ToolCall,
    resumed: ResumedInput,
    mut record: CallRecord,
) -> Response {
    let start = match call.rounds().resume(resumed).await {
        Ok(start) => start,
        Err(refusal) => {
            let answer = call.answer(Err(refusal), &mut record);
            return record.finish(answer).await;
        }
    };
    let task = match new_record(&call, tasks.node(), Flow::Extension, None, start.round) {
        Ok(task) => task,
        Err(error) => return record.finish(Err(error)).await,
    };
    let required = call.entry.item().tool.task_support == TaskSupport::Required;
    // It must not have run if there is no room for its task.
    if required && let Err(why) = tasks.admit(&task).await {
        return record.finish(Err(why.error(&tasks))).await;
    }
    let began = Instant::now();
    let limits = call.entry.provider.limits();
    let after = if required { FIRST_QUESTION } else { limits.tasks.after };
    let promotion = Arc::new(Promotion::of_call());
    let cancelled = call.scope.cancelled.child_token();
    (call.scope.task, call.scope.cancelled) = (Some(promotion.clone()), cancelled.clone());
    let (server, scope) = (call.server.clone(), call.scope.clone());
    let until = began + Duration::from_millis(task.ttl);
    let job = Job { tasks: tasks.clone(), call, promotion: promotion.clone(), record, until };
    // Its own task, which the request leaves behind.
    let mut running = AbortOnDropHandle::new(tokio::spawn(job.run(start)));
    let in_time = tokio::select! {
        biased;
        ended = &mut running => Some(ended),
        () = sleep(after) => None,
    };
    let ended = match in_time {
        Some(ended) => ended,
        None if !promotion.begin() => (&mut running).await,
        None => {
            let message = promotion.said().filter(|said| !said.is_empty());
            let task = Record { message, ..task.clone() };
            let promoted = promote(tasks.clone(), task, cancelled.clone(), promotion, running);
            // Its own task too: what has begun ends, also if the request is dropped meanwhile.
            match tokio::spawn(promoted).await {
                Ok(Ok(task)) => return made(&server, &scope, &task),
                Ok(Err((why, _))) if required => return Err(why.error(&tasks)),
                Ok(Err((why, running))) => {
                    log(&tasks, &why);
                    match timeout_at(began + limits.timeout, running).await {
                        Ok(ended) => ended,
                        Err(_) => {
                            return Err(error::busy("the call takes long, and there is no room for another task"));
                        }
                    }
                }
                Err(_) => return Err(error::host_error()),
            }
        }
    };
    match ended {
        Ok(Some(Ended { answer, is_outcome: true })) if required => {
            let mut task = task;
            let (status, message, outcome) = ending(&answer);
            task.end(status, message, outcome);
            match tasks.add_ended(&task).await {
                Ok(()) => made(&server, &scope, &task),
                // It has run: the result would be lost.
                Err(why) => {
                    log(&tasks, &why);
                    answer
                }
            }
        }
        Ok(Some(Ended { answer, .. })) => answer,
        // It has become no task, and the runtime outlives its requests.
        Ok(None) | Err(_) => Err(error::host_error()),
    }
}

type Running = AbortOnDropHandle<Option<Ended>>;

/// Makes a running call a task.
async fn promote(
    tasks: Arc<Tasks>,
    task: Record,
    cancelled: CancellationToken,
    promotion: Arc<Promotion>,
    running: Running,
) -> Result<Record, (NoTask, Running)> {
    match tasks.add(&task, &cancelled).await {
        Ok(run) => {
            promotion.end(Some(run));
            // What is on its way to the client precedes the answer.
            drop(promotion.sending.lock().await);
            running.detach();
            Ok(task)
        }
        Err(why) => {
            promotion.end(None);
            Err((why, running))
        }
    }
}

/// Why a call has not become a task.
fn log(tasks: &Tasks, why: &NoTask) {
    match why {
        NoTask::Full(limit) => tracing::warn!("a call has not become a task: {limit}"),
        NoTask::Failed(error) => tasks.report("make a call a task", error),
    }
}
