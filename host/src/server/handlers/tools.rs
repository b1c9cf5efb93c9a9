//! `tools/list` and `tools/call`.
//!
//! Source: MCP, server/tools of each revision.

use std::sync::Arc;

use serde_json::value::RawValue;

use super::approval::{Admission, Admitted, Attempt};
use super::page::Listed;
use super::rounds::ResumedInput;
use super::tasks;
use super::tool_call::ToolCall;
use crate::catalog::{Entry, Names, Snapshot};
use crate::plugin::{FrozenTool, Mirrored};
use crate::protocol::cursor::ListKind;
use crate::protocol::request::{CallTool, TaskParams};
use crate::protocol::{ErrorObject, Revision, error};
use crate::rights::Item;
use crate::server::call_record::CallRecord;
use crate::server::permissions::listed;
use crate::server::response::{Dispatched, Response};
use crate::server::scope::Scope;
use crate::server::tasks::Tasks;
use crate::server::{Server, discovery, fault, wire};

impl Listed for FrozenTool {
    const KIND: ListKind = ListKind::Tools;
    const MEMBER: &'static str = "tools";
    type View<'a> = wire::tool::Tool<'a>;

    fn names(snapshot: &Snapshot) -> &Names<Self> {
        &snapshot.tools
    }

    fn view(entry: &Entry<Self>, revision: Revision) -> Self::View<'_> {
        wire::tool::Tool::new(revision, entry.name.as_str(), entry.item())
    }
}

pub(in crate::server) fn call(server: &Arc<Server>, scope: Scope, call: CallTool<'_>) -> Dispatched {
    let (server, resumed) = (server.clone(), call.retry.into());
    let (name, task) = (call.name.into_owned(), call.task);
    let arguments: Arc<str> = call.arguments.map_or("{}", RawValue::get).into();
    Dispatched::Later(Box::pin(async move {
        let mut record = CallRecord::begin(&server, &scope, "tools/call", &name)?;
        record.set_input(&arguments);
        let (call, resumed, task) = match admit(&server, scope, name, arguments, resumed, task, &mut record).await {
            Ok(admitted) => admitted,
            Err(answer) => return record.finish(answer).await,
        };
        match task {
            None => {
                let settled = call.run(resumed).await;
                let answer = call.answer(settled, &mut record);
                record.finish(answer).await
            }
            Some(MayBecome::Task(tasks)) => tasks::run(tasks, call, resumed, record).await,
            Some(MayBecome::CoreTask(tasks, params)) => tasks::core::run(&tasks, params, call, record).await,
        }
    }))
}

/// How a call may become a task.
enum MayBecome {
    /// If it takes long.
    Task(Arc<Tasks>),
    /// The client wants it.
    CoreTask(Arc<Tasks>, TaskParams),
}

/// Finds the tool, and asks who has to be asked. `Err`: the answer to a call that does not run.
async fn admit(
    server: &Arc<Server>,
    scope: Scope,
    mut name: String,
    mut arguments: Arc<str>,
    resumed: ResumedInput,
    task: Option<TaskParams>,
    record: &mut CallRecord,
) -> Result<(ToolCall, ResumedInput, Option<MayBecome>), Response> {
    // Headers mirror arguments of the tool that the client named, not of a redirection's target.
    let mut headers = scope.headers.as_deref();
    let entry = loop {
        let snapshot = server.snapshot_with(|snapshot| snapshot.tools.get(&name).is_some()).await;
        let Some(entry) = snapshot.tools.get(&name) else {
            record.set_code("not-found");
            return Err(Err(unknown(&snapshot, &scope, &name)));
        };
        record.set_target(&scope, &*entry.provider, &name);
        let tool = Item::Tool(&entry.item().tool.name);
        record.permitted(scope.check(&*entry.provider, tool, || unknown(&snapshot, &scope, &name))).map_err(Err)?;
        let mirrored = &entry.item().mirrored;
        if let Some(headers) = headers.take().filter(|_| !mirrored.is_empty()) {
            let wanted: Vec<_> =
                mirrored.iter().map(|Mirrored { header, path }| (header.as_str(), path.as_slice())).collect();
            headers.check_params(&wanted, &arguments).map_err(Err)?;
        }
        match discovery::redirection(entry, &arguments) {
            Ok(None) => break entry.clone(),
            Ok(Some(called)) => (name, arguments) = called,
            Err(error) => {
                record.set_refusal(&error);
                return Err(fault::tool(&server.implementation, &scope, entry, error));
            }
        }
    };
    let may_become = match tasks::core::wanted(server, &scope, &name, entry.item(), task).map_err(Err)? {
        Some((tasks, params)) => Some(MayBecome::CoreTask(tasks.clone(), params)),
        None => tasks::may_become(server, &scope, entry.item()).map_err(Err)?.cloned().map(MayBecome::Task),
    };
    let tool = Item::Tool(&entry.item().tool.name);
    // Before anybody is asked: a person should not allow what is refused afterwards.
    let charge = record.charge(server, &scope, &*entry.provider, tool).map_err(Err)?;
    let attempt = Attempt { server, scope: &scope, entry: &entry, arguments: &arguments };
    let Admitted { entry, resumed, approved } = match attempt.admit(resumed, record).await {
        Ok(Admission::Runs(admitted)) => admitted,
        Ok(Admission::Asks(result)) => {
            record.set_code("asks");
            return Err(Ok(result));
        }
        Err(refusal) => {
            record.set_refusal(&refusal);
            return Err(fault::tool(&server.implementation, &scope, &entry, refusal));
        }
    };
    let call = ToolCall { server: server.clone(), scope, entry, name, arguments, charge, approved };
    Ok((call, resumed, may_become))
}

fn unknown(snapshot: &Snapshot, scope: &Scope, name: &str) -> ErrorObject {
    error::unknown_tool(name, listed(&snapshot.tools, &scope.permissions))
}
