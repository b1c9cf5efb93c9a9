//! ACT's tools and results as the types of `wharf:plugin` (ACT-MCP, 2).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use tokio::task::yield_now;

use super::cbor;
use super::types::{ContentPart, Error, ListToolsResponse, Metadata, ToolDefinition, ToolEvent};
use crate::json;
use crate::plugin::abi::{
    CallContext, Content, GuestError, InvalidInput, MediaContent, TextContent, Tool, ToolAnnotations, ToolOutcome,
    ToolResult,
};
use crate::plugin::fault::{CallError, Fault};

/// Fields of the trace context, which are passed on.
const TRACE: [&str; 2] = ["traceparent", "tracestate"];

pub(super) fn tools(listed: ListToolsResponse) -> Vec<Tool> {
    listed.tools.into_iter().map(tool).collect()
}

fn tool(tool: ToolDefinition) -> Tool {
    let ToolDefinition { name, description, parameters_schema, metadata } = tool;
    let flag = |key: &str| metadata.iter().find(|(own, _)| own == key).and_then(|(_, value)| cbor::to_bool(value));
    let annotations = ToolAnnotations {
        read_only: flag("std:read-only"),
        destructive: flag("std:destructive"),
        idempotent: flag("std:idempotent"),
        open_world: None,
    };
    Tool {
        description: Some(description.into_text()).filter(|text| !text.is_empty()),
        annotations: Some(annotations),
        ..Tool::new(name, parameters_schema)
    }
}

/// What a call is told of its request.
pub(super) fn metadata(context: &CallContext) -> Metadata {
    let meta = context.meta.as_deref().and_then(|meta| json::tree(meta, json::MAX_DEPTH).ok());
    let field = |name: &str| Some((format!("std:{name}"), cbor::of_text(meta.as_ref()?[name].as_str()?)));
    TRACE.into_iter().filter_map(field).collect()
}

pub(super) fn failed(error: Error) -> CallError {
    let Error { kind, message, .. } = error;
    let message = message.into_text();
    CallError::Guest(match &*kind {
        "std:invalid-args" => GuestError::InvalidInput(InvalidInput { path: String::new(), reason: message }),
        _ if message.is_empty() => GuestError::Failed(kind),
        _ => GuestError::Failed(message),
    })
}

/// All that a call brought. What came before an error is shown with it. CBOR becomes JSON part by part, of at most about
/// `limit` bytes in all: the limits of the call hold in between.
pub(super) async fn outcome(events: Vec<ToolEvent>, limit: u64) -> Result<ToolOutcome, CallError> {
    let is_last = |at: usize| at + 1 == events.len();
    if events.iter().enumerate().any(|(at, event)| matches!(event, ToolEvent::Error(_)) && !is_last(at)) {
        return Err(Fault::BadOutput("an event after an error".into()).into());
    }
    let (mut content, mut is_error, mut left) = (Vec::new(), false, limit);
    for event in events {
        match event {
            ToolEvent::Content(part) => {
                let shown = shown(part)?;
                if let Content::Text(text) = &shown {
                    left = left.checked_sub(text.text.len() as u64).ok_or(Fault::OutputTooLarge { limit })?;
                }
                content.push(shown);
                yield_now().await;
            }
            ToolEvent::Error(error) if content.is_empty() => return Err(failed(error)),
            ToolEvent::Error(error) => {
                is_error = true;
                content.push(Content::Text(TextContent::new(error.message.into_text())));
            }
        }
    }
    Ok(ToolOutcome::Complete(ToolResult { content, structured: None, is_error, meta: None }))
}

fn shown(part: ContentPart) -> Result<Content, CallError> {
    let ContentPart { data, mime_type, .. } = part;
    let kind = mime_type.as_deref().unwrap_or_default();
    let essence = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let bad = |why: &str| CallError::Fault(Fault::BadOutput(why.into()));
    let media = |data| MediaContent { data, mime_type: essence.clone(), annotations: None, meta: None };
    let text = match &*essence {
        "application/cbor" => cbor::to_json(&data).ok_or_else(|| bad("content that is not CBOR"))?,
        kind if kind.starts_with("image/") => return Ok(Content::Image(media(data))),
        kind if kind.starts_with("audio/") => return Ok(Content::Audio(media(data))),
        kind if kind.starts_with("text/") || kind == "application/json" => {
            String::from_utf8(data).map_err(|_| bad("a text that is not UTF-8"))?
        }
        _ => STANDARD.encode(data),
    };
    Ok(Content::Text(TextContent::new(text)))
}
