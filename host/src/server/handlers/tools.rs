//! `tools/list` and `tools/call`.
//!
//! Source: MCP, server/tools of each revision.

use std::sync::Arc;

use serde_json::value::RawValue;

use super::{Answer, Reply};
use crate::catalog::Entry;
use crate::plugin::Call;
use crate::plugin::abi::{self, InputRequired, ToolOutcome};
use crate::protocol::cursor::{Cursor, ListKind};
use crate::protocol::error;
use crate::protocol::request::CallTool;
use crate::protocol::result::{self, Caching, Envelope};
use crate::server::fault::{self, Insists};
use crate::server::scope::Scope;
use crate::server::{Server, wire};

pub(in crate::server) fn list(server: &Arc<Server>, scope: Scope, cursor: Option<&str>) -> Reply {
    if server.catalog.is_ready() {
        return Reply::Now(page(server, &scope, cursor));
    }
    let (server, cursor) = (server.clone(), cursor.map(str::to_owned));
    Reply::Later(Box::pin(async move {
        server.catalog.ready(server.settings.first_scan).await;
        page(&server, &scope, cursor.as_deref())
    }))
}

fn page(server: &Server, scope: &Scope, cursor: Option<&str>) -> Answer {
    let snapshot = server.catalog.snapshot();
    let generation = snapshot.listings().tools;
    let offset = match cursor {
        Some(cursor) => Cursor::decode(cursor, &server.cursor_key, ListKind::Tools, generation)?,
        None => 0,
    };
    // A cursor of ours never lies past the end of its own generation.
    let rest = snapshot.tools().get(offset as usize..).unwrap_or_default();
    let shown = &rest[..rest.len().min(server.settings.page_size)];
    let tools = shown.iter().map(|entry| wire::descriptor(scope.revision, entry.name.as_str(), &entry.tool().tool));
    let mut members = wire::Object::default().array("tools", tools);
    if shown.len() < rest.len() {
        let next = Cursor { kind: ListKind::Tools, generation, offset: offset + shown.len() as u64 };
        members = members.string("nextCursor", &next.encode(&server.cursor_key));
    }
    let envelope = Envelope { caching: Some(Caching::NONE), ..Envelope::default() };
    Ok(result::object(scope.revision, &server.implementation(), &members.members(), envelope))
}

pub(in crate::server) fn call(server: &Arc<Server>, scope: Scope, call: &CallTool<'_>) -> Reply {
    let server = server.clone();
    let name = call.name.clone().into_owned();
    let arguments = call.arguments.map_or_else(|| "{}".to_owned(), |raw: &RawValue| raw.get().to_owned());
    Reply::Later(Box::pin(async move {
        server.catalog.ready(server.settings.first_scan).await;
        let snapshot = server.catalog.snapshot();
        let Some(entry) = snapshot.tool(&name) else {
            return Err(error::unknown_tool(&name, snapshot.tools().iter().map(|tool| tool.name.as_str())));
        };
        let entry = entry.clone();
        drop(snapshot);
        if let Err(violations) = entry.tool().input.validate_text(&arguments) {
            return fault::invalid_arguments(&server.implementation(), &scope, &entry, &violations);
        }
        match run(&entry, &arguments, &scope).await {
            Ok(outcome) => complete(&server, &scope, &outcome),
            Err(error) => fault::tool(&server.implementation(), &scope, &entry, error),
        }
    }))
}

fn complete(server: &Server, scope: &Scope, outcome: &abi::ToolResult) -> Answer {
    let members = wire::result(scope.revision, outcome);
    let envelope = Envelope { plugin_meta: outcome.meta.as_deref(), ..Envelope::default() };
    Ok(result::object(scope.revision, &server.implementation(), &members, envelope))
}

/// Runs the tool to its end. What it asks for on the way cannot be had.
async fn run(entry: &Entry, arguments: &str, scope: &Scope) -> Result<abi::ToolResult, Insists> {
    let name = &entry.tool().tool.name;
    let call = Call { client: scope.features(), meta: Some(scope.meta.clone()), ..Call::new(scope.call.to_string()) };
    let asked = match entry.provider.call_tool(name, arguments, call.clone()).await? {
        ToolOutcome::Complete(result) => return Ok(result),
        ToolOutcome::InputRequired(asked) => asked,
    };
    let call = Call { answers: unavailable(&asked), state: asked.state, ..call };
    match entry.provider.call_tool(name, arguments, call).await? {
        ToolOutcome::Complete(result) => Ok(result),
        ToolOutcome::InputRequired(_) => Err(Insists::OnInput),
    }
}

fn unavailable(asked: &InputRequired) -> Vec<abi::Answer> {
    let refusal = |question: &abi::Question| abi::Answer {
        key: question.key.clone(),
        reply: abi::Reply::Unavailable("this server cannot ask the client for anything yet".into()),
    };
    asked.questions.iter().map(refusal).collect()
}
