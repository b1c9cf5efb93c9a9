//! Messages to text, each on one line without a line break at its end.
//! It assumes that raw JSON is valid, and only removes its line breaks.

use std::borrow::Cow;

use super::{ErrorObject, RequestId};
use crate::json;

/// The `id` of an error when the request's own could not be read. JSON-RPC 2.0 uses null; the
/// schemas of MCP since 2025-11-25 require its absence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnreadableId {
    Null,
    Omit,
}

/// A success response. A result, which may be large, is not copied.
pub fn result(id: &RequestId, result_json: impl Into<String>) -> String {
    let mut text = result_json.into();
    if let Cow::Owned(line) = json::single_line(&text) {
        text = line;
    }
    text.insert_str(0, &[r#"{"jsonrpc":"2.0","id":"#, id.as_json(), r#","result":"#].concat());
    text.push('}');
    text
}

/// An error response, to a request or to an invalid message.
pub fn error(id: Option<&RequestId>, when_unreadable: UnreadableId, error: &ErrorObject) -> String {
    let id = match (id, when_unreadable) {
        (Some(id), _) => format!(r#""id":{id},"#),
        (None, UnreadableId::Null) => r#""id":null,"#.to_owned(),
        (None, UnreadableId::Omit) => String::new(),
    };
    format!(r#"{{"jsonrpc":"2.0",{id}"error":{}}}"#, error.to_json())
}

/// A notification; without params when `params_json` is `None`.
pub fn notification(method: &str, params_json: Option<&str>) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":{}{}}}"#, json::quote(method), params(params_json))
}

/// A server request.
pub fn request(id: &RequestId, method: &str, params_json: Option<&str>) -> String {
    let method = json::quote(method);
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{method}{}}}"#, params(params_json))
}

/// The responses to one batch. The caller sends nothing when there are none.
pub fn batch(messages: &[String]) -> String {
    format!("[{}]", messages.join(","))
}

fn params(params_json: Option<&str>) -> String {
    params_json.map_or_else(String::new, |params| format!(r#","params":{}"#, json::single_line(params)))
}
