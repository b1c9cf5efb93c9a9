//! The error object and the five codes of JSON-RPC itself.
//! Codes and reasons that MCP adds are in `protocol::error`.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::json;

pub const PARSE_ERROR: i64 = -32700;
pub const INVALID_REQUEST: i64 = -32600;
pub const METHOD_NOT_FOUND: i64 = -32601;
pub const INVALID_PARAMS: i64 = -32602;
pub const INTERNAL_ERROR: i64 = -32603;

/// The `error` member of a response.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ErrorObject {
    pub code: i64,
    pub message: String,
    /// By our own convention an object with a stable snake_case `reason`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl ErrorObject {
    pub fn new(code: i64, message: impl Into<String>, data: Value) -> Self {
        Self { code, message: message.into(), data: Some(data) }
    }

    /// -32700; `reason` as in `data.reason`, `detail` a lowercase fragment.
    pub fn parse_error(reason: &str, detail: &str) -> Self {
        Self::new(PARSE_ERROR, format!("Parse error: {detail}"), json!({ "reason": reason }))
    }

    /// -32600; `reason` as in `data.reason`, `detail` a lowercase fragment.
    pub fn invalid_request(reason: &str, detail: &str) -> Self {
        Self::new(INVALID_REQUEST, format!("Invalid Request: {detail}"), json!({ "reason": reason }))
    }

    /// The object as JSON text on one line.
    pub fn to_json(&self) -> String {
        let mut out = format!("{{\"code\":{},\"message\":", self.code);
        json::write_str(&mut out, &self.message);
        if let Some(data) = &self.data {
            out.push_str(",\"data\":");
            out.push_str(&data.to_string());
        }
        out.push('}');
        out
    }
}
