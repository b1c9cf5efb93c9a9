//! `tools/list` and `tools/call`.
//!
//! Source: MCP, server/tools of each revision.

use std::sync::Arc;

use serde_json::value::RawValue;

use super::approval::{Admission, Admitted, Attempt};
use super::page::Listed;
use super::rounds::{ResumedInput, Rounds};
use super::settled::Settled;
use crate::catalog::{Entry, Names, Snapshot};
use crate::json::Raw;
use crate::plugin::abi::ToolResult;
use crate::plugin::{FrozenTool, Mirrored};
use crate::protocol::cursor::ListKind;
use crate::protocol::request::CallTool;
use crate::protocol::result::{self, Envelope};
use crate::protocol::{ErrorObject, Revision, error};
use crate::rights::Item;
use crate::server::call_record::CallRecord;
use crate::server::permissions::listed;
use crate::server::response::{Dispatched, Response};
use crate::server::scope::Scope;
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
    let name = call.name.into_owned();
    let arguments: Arc<str> = call.arguments.map_or("{}", RawValue::get).into();
    Dispatched::Later(Box::pin(async move {
        let mut record = CallRecord::begin(&server, &scope, "tools/call", &name)?;
        record.set_input(&arguments);
        let answer = answer(&server, &scope, name, arguments, resumed, &mut record).await;
        record.finish(answer).await
    }))
}

async fn answer(
    server: &Arc<Server>,
    scope: &Scope,
    mut name: String,
    mut arguments: Arc<str>,
    resumed: ResumedInput,
    record: &mut CallRecord,
) -> Response {
    // Headers mirror arguments of the tool that the client named, not of a redirection's target.
    let mut headers = scope.headers.as_deref();
    let entry = loop {
        let snapshot = server.snapshot_with(|snapshot| snapshot.tools.get(&name).is_some()).await;
        let Some(entry) = snapshot.tools.get(&name) else {
            record.set_code("not-found");
            return Err(unknown(&snapshot, scope, &name));
        };
        record.set_target(scope, &*entry.provider, &name);
        let tool = Item::Tool(&entry.item().tool.name);
        record.permitted(scope.check(&*entry.provider, tool, || unknown(&snapshot, scope, &name)))?;
        let mirrored = &entry.item().mirrored;
        if let Some(headers) = headers.take().filter(|_| !mirrored.is_empty()) {
            let wanted: Vec<_> =
                mirrored.iter().map(|Mirrored { header, path }| (header.as_str(), path.as_slice())).collect();
            headers.check_params(&wanted, &arguments)?;
        }
        match discovery::redirection(entry, &arguments) {
            Ok(None) => break entry.clone(),
            Ok(Some(called)) => (name, arguments) = called,
            Err(error) => {
                record.set_refusal(&error);
                return fault::tool(&server.implementation, scope, entry, error);
            }
        }
    };
    let tool = Item::Tool(&entry.item().tool.name);
    // Before anybody is asked: a person should not allow what is refused afterwards.
    let charge = record.charge(server, scope, &*entry.provider, tool)?;
    let attempt = Attempt { server, scope, entry: &entry, arguments: &arguments };
    let Admitted { entry, resumed, approved } = match attempt.admit(resumed, record).await {
        Ok(Admission::Runs(admitted)) => admitted,
        Ok(Admission::Asks(result)) => {
            record.set_code("asks");
            return Ok(result);
        }
        Err(refusal) => {
            record.set_refusal(&refusal);
            return fault::tool(&server.implementation, scope, &entry, refusal);
        }
    };
    let frozen = entry.item();
    let (method, provider) = ("tools/call", &entry.provider);
    let rounds = Rounds { server, scope, provider, method, name: &name, arguments: &arguments, charge, approved };
    let invoke = |call| entry.provider.call_tool(&frozen.tool.name, arguments.clone(), call);
    let settled = rounds.run(resumed, invoke).await;
    if let Ok(Settled::Complete(ToolResult { is_error: true, .. })) = &settled {
        record.set_code("error");
    }
    let refuse = |error| fault::tool(&server.implementation, scope, &entry, error);
    Settled::answer(settled, record, refuse, |outcome| complete(server, scope, &entry, &outcome))
}

fn unknown(snapshot: &Snapshot, scope: &Scope, name: &str) -> ErrorObject {
    error::unknown_tool(name, listed(&snapshot.tools, &scope.permissions))
}

fn complete(server: &Server, scope: &Scope, entry: &Entry<FrozenTool>, outcome: &ToolResult) -> Response {
    let frozen = entry.item();
    let members = wire::tool::CallToolResult::new(scope.revision, frozen, outcome);
    // A page calls the plugin's other tools, and does not know under which names clients see them.
    let prefix = frozen.ui.page.as_ref().and_then(|_| entry.prefix());
    let prefix = prefix.map(|id| format!("\"{id}\""));
    let host_meta: Vec<_> = prefix.iter().map(|id| ("wharf/plugin", Raw(id))).collect();
    let envelope = Envelope { plugin_meta: outcome.meta.as_deref(), host_meta: &host_meta, ..Envelope::default() };
    result::object(scope.revision, &server.implementation, &members, envelope)
}
