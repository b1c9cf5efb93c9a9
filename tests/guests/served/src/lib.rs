//! An MCP server behind an HTTP handler. The variable `MODE` says of which revision it is, or what is wrong with it.

#![cfg(target_family = "wasm")]

#[cfg(feature = "async")]
mod async_handler;
#[cfg(not(feature = "async"))]
mod handler;
mod mcp;

use serde_json::Value;

/// A request of HTTP.
pub(crate) struct Request {
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
}

/// What is done with it.
pub(crate) enum Response {
    /// The status, the content type, further fields, and the body.
    Whole(u16, &'static str, Vec<(&'static str, String)>, String),
    /// A body that does not end.
    Endless(&'static str, String),
    /// A body that is not finished.
    Unfinished(String),
    /// The same, and then the handler goes on for ever.
    Open(String),
    /// None.
    Nothing,
}

impl Response {
    pub(crate) fn json(status: u16, value: &Value) -> Self {
        Self::Whole(status, "application/json", Vec::new(), value.to_string())
    }

    pub(crate) fn status(status: u16) -> Self {
        Self::Whole(status, "text/plain", Vec::new(), String::new())
    }
}
