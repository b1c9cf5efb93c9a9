//! The attributes of spans.
//!
//! Source: OpenTelemetry, semantic conventions for generative AI 0.1.0, "MCP"; what they do not have begins with `wharf.`.

use crate::jsonrpc::RequestId;
use crate::metrics::Spent;
use crate::traces::{Attribute, Value};

/// Maximum characters of a text.
const MAX_TEXT: usize = 200;

pub(in crate::server) fn method(name: &'static str) -> Attribute {
    ("mcp.method.name", Value::Text(name.into()))
}

pub(in crate::server) fn revision(revision: &'static str) -> Attribute {
    ("mcp.protocol.version", Value::Text(revision.into()))
}

pub(in crate::server) fn request_id(id: &RequestId) -> Attribute {
    let json = id.as_json();
    text("jsonrpc.request.id", json.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(json))
}

pub(in crate::server) fn error_code(code: i64) -> Attribute {
    ("rpc.response.status_code", Value::Text(code.to_string().into()))
}

/// The plugin, and what of it is called.
pub(in crate::server) fn target(method: &str, plugin: &str, name: &str) -> Vec<Attribute> {
    let mut attributes = vec![text("wharf.plugin", plugin)];
    match method {
        "tools/call" => attributes
            .extend([text("gen_ai.tool.name", name), ("gen_ai.operation.name", Value::Text("execute_tool".into()))]),
        "prompts/get" => attributes.push(text("gen_ai.prompt.name", name)),
        "resources/read" => attributes.push(text("mcp.resource.uri", name)),
        _ => {}
    }
    attributes
}

/// What it cost: seconds and bytes.
pub(in crate::server) fn cost(spent: &Spent) -> [Attribute; 3] {
    [
        ("wharf.cpu.time", Value::Number(spent.cpu.as_secs_f64())),
        ("wharf.queue.time", Value::Number(spent.queued.as_secs_f64())),
        ("wharf.memory.peak", Value::Integer(i64::try_from(spent.memory).unwrap_or(i64::MAX))),
    ]
}

fn text(name: &'static str, text: &str) -> Attribute {
    (name, Value::Text(text.chars().take(MAX_TEXT).collect::<String>().into()))
}
