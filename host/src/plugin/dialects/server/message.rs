//! The messages to a server: one request for each call, and the handshake of older servers before it.
//!
//! Source: MCP 2026-07-28, basic/transports/streamable-http; 2025-11-25, basic/lifecycle and basic/transports.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HOST, HeaderName, HeaderValue};
use http::{Method, Request};
use http_body_util::Full;
use serde_json::Value;

use super::answers;
use crate::json;
use crate::plugin::abi::CallContext;
use crate::plugin::schema::Mirrored;

/// The revision without a handshake.
pub(super) const STATELESS: &str = "2026-07-28";
/// The newest revision with one, which is offered; and all that are accepted.
pub(super) const NEWEST: &str = "2025-11-25";
pub(super) const WITH_HANDSHAKE: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", NEWEST];

/// The ids of the two requests that one instance is sent.
pub(super) const ID: u64 = 1;
pub(super) const HANDSHAKE_ID: u64 = 0;

/// Names are of no host: the request reaches nothing but the component.
const AUTHORITY: &str = "localhost";
const REVISION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// Whether the result of such a request may be a question of the server, where the revision has no handshake.
pub(super) fn may_ask(method: &str) -> bool {
    ["tools/call", "prompts/get", "resources/read"].contains(&method)
}

/// A request, before it is known how the server is spoken to.
#[derive(Clone)]
pub(super) struct Asked {
    pub(super) method: &'static str,
    /// The members of its params, as JSON text without braces; may be empty.
    pub(super) members: String,
    /// What the request is about: the name or URI among the members.
    pub(super) about: Option<String>,
    /// Arguments that are repeated in header fields, each with its name there.
    pub(super) mirrored: Vec<(String, String)>,
}

impl Asked {
    pub(super) fn new(method: &'static str) -> Self {
        Self { method, members: String::new(), about: None, mirrored: Vec::new() }
    }

    /// Adds a member, whose value is JSON text.
    pub(super) fn with(mut self, name: &str, value: &str) -> Self {
        let comma = if self.members.is_empty() { "" } else { "," };
        let _ = write!(self.members, "{comma}{}:{value}", json::quote(name));
        self
    }

    /// Adds a member that says what the request is about.
    pub(super) fn about(self, name: &str, value: &str) -> Self {
        Self { about: Some(value.to_owned()), ..self.with(name, &json::quote(value)) }
    }

    /// Repeats arguments in header fields, as the tool's schema asks for.
    pub(super) fn mirroring(mut self, mirrored: &[Mirrored], arguments: &Value) -> Self {
        for Mirrored { header, path } in mirrored {
            let value = path.iter().try_fold(arguments, |value, name| value.get(name));
            let text = match value {
                Some(Value::String(text)) => text.clone(),
                Some(value @ (Value::Number(_) | Value::Bool(_))) => value.to_string(),
                _ => continue,
            };
            self.mirrored.push((format!("mcp-param-{}", header.to_ascii_lowercase()), text));
        }
        self
    }

    /// The request of the revision without a handshake, with the answers to what the server asked in an earlier round.
    pub(super) fn stateless(self, path: &'static str, context: &CallContext) -> Request<Full<Bytes>> {
        let capabilities =
            if may_ask(self.method) { answers::capabilities(context.client).to_string() } else { "{}".into() };
        let own = format!(
            r#""io.modelcontextprotocol/protocolVersion":"{STATELESS}","io.modelcontextprotocol/clientInfo":{},"io.modelcontextprotocol/clientCapabilities":{capabilities}"#,
            client()
        );
        let mut asked = self.with_meta(&own, context);
        if !context.answers.is_empty() {
            asked = asked.with("inputResponses", &answers::responses(&context.answers).to_string());
        }
        if let Some(state) = &context.state {
            // It was a text of the server, which the host has sealed.
            asked = asked.with("requestState", &json::quote(&String::from_utf8_lossy(state)));
        }
        asked.post(path)
    }

    /// Adds `_meta`: these members, and those of the client; nothing if there are none.
    fn with_meta(self, own: &str, context: &CallContext) -> Self {
        // The text of a JSON object, without the names that MCP reserves.
        let given = context.meta.as_deref().map_or("", str::trim);
        let given = given.strip_prefix('{').and_then(|given| given.strip_suffix('}')).map_or("", str::trim);
        let members: Vec<&str> = [own, given].into_iter().filter(|members| !members.is_empty()).collect();
        if members.is_empty() { self } else { self.with("_meta", &format!("{{{}}}", members.join(","))) }
    }

    fn post(&self, path: &'static str) -> Request<Full<Bytes>> {
        let mut request = post(path, STATELESS, request(ID, self.method, &self.members));
        let headers = request.headers_mut();
        headers.insert(METHOD, HeaderValue::from_static(self.method));
        if let Some(about) = &self.about {
            headers.insert(NAME, encoded(about));
        }
        for (name, value) in &self.mirrored {
            if let Ok(name) = HeaderName::from_bytes(name.as_bytes()) {
                headers.insert(name, encoded(value));
            }
        }
        request
    }

    /// The request after a handshake.
    pub(super) fn in_session(
        self,
        path: &'static str,
        context: &CallContext,
        revision: &str,
        session: Option<&HeaderValue>,
    ) -> Request<Full<Bytes>> {
        let asked = self.with_meta("", context);
        with_session(post(path, revision, request(ID, asked.method, &asked.members)), session)
    }
}

/// The first message to an older server.
pub(super) fn initialize(path: &'static str) -> Request<Full<Bytes>> {
    let members = format!(r#""protocolVersion":"{NEWEST}","capabilities":{{}},"clientInfo":{}"#, client());
    post(path, NEWEST, request(HANDSHAKE_ID, "initialize", &members))
}

/// The second one.
pub(super) fn initialized(path: &'static str, revision: &str, session: Option<&HeaderValue>) -> Request<Full<Bytes>> {
    let text = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    with_session(post(path, revision, text.to_owned()), session)
}

fn client() -> String {
    format!(r#"{{"name":"wharf","version":{}}}"#, json::quote(env!("CARGO_PKG_VERSION")))
}

fn request(id: u64, method: &str, members: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{members}}}}}"#)
}

fn post(path: &'static str, revision: &str, text: String) -> Request<Full<Bytes>> {
    let length = text.len();
    let mut request = Request::new(Full::new(Bytes::from(text)));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = http::Uri::from_static(path);
    let headers = request.headers_mut();
    headers.insert(HOST, HeaderValue::from_static(AUTHORITY));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(http::header::CONTENT_LENGTH, length.into());
    headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
    // It is one of the constants above.
    headers.extend(HeaderValue::from_str(revision).ok().map(|revision| (REVISION, revision)));
    request
}

fn with_session(mut request: Request<Full<Bytes>>, session: Option<&HeaderValue>) -> Request<Full<Bytes>> {
    request.headers_mut().extend(session.map(|session| (SESSION, session.clone())));
    request
}

/// A text as the value of a header field: as it is, or in base64 between marks.
fn encoded(text: &str) -> HeaderValue {
    let is_plain = text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) && text.trim() == text;
    let marked = || format!("=?base64?{}?=", STANDARD.encode(text));
    let value = if is_plain && !text.starts_with("=?base64?") { text.to_owned() } else { marked() };
    HeaderValue::from_str(&value).unwrap_or(HeaderValue::from_static(""))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_stateless_request_names_what_it_is_about() {
        let mirrored = [Mirrored { header: "Region".into(), path: vec!["where".into(), "region".into()] }];
        let arguments = json!({ "where": { "region": "é" } });
        let asked = Asked::new("tools/call").about("name", "add").with("arguments", &arguments.to_string());
        let request = asked.mirroring(&mirrored, &arguments).post("/mcp");
        let header = |name: &str| request.headers()[name].to_str().expect("text").to_owned();
        assert_eq!((header("mcp-method"), header("mcp-name")), ("tools/call".into(), "add".into()));
        assert_eq!(header("mcp-param-region"), "=?base64?w6k=?=");
        assert_eq!((header("mcp-protocol-version").as_str(), request.uri().path()), (STATELESS, "/mcp"));
        let text = super::request(ID, asked_method(), r#""a":1"#);
        assert_eq!(json::tree(&text, 8).expect("JSON")["params"]["a"], 1);
    }

    fn asked_method() -> &'static str {
        "tools/list"
    }

    #[test]
    fn header_values_that_are_not_plain_are_encoded() {
        for (text, value) in [("a b", "a b"), (" a", "=?base64?IGE=?="), ("=?base64?x", "=?base64?PT9iYXNlNjQ/eA==?=")]
        {
            assert_eq!(encoded(text), value);
        }
    }
}
