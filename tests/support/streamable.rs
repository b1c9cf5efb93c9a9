//! A client of Streamable HTTP: the headers of each message, and a wire that posts frames and receives
//! the messages of all streams.

use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::MODERN;
use super::events::Events;
use super::http::{HttpConnection, Request, Response};
use super::wire::{Received, Wire};

/// A client's state: server, session and revision.
#[derive(Clone)]
pub struct Endpoint {
    pub address: SocketAddr,
    pub session: Option<String>,
    /// The negotiated revision.
    pub version: Option<String>,
}

impl Endpoint {
    pub fn new(address: SocketAddr) -> Self {
        Self { address, session: None, version: None }
    }

    /// A client with an initialized session and all capabilities.
    pub fn initialize(address: SocketAddr, revision: &str) -> Self {
        let mut endpoint = Self::new(address);
        let response = endpoint.exchange(&initialize(revision));
        endpoint.settle(&response);
        assert_eq!(endpoint.version.as_deref(), Some(revision), "{response:?}");
        assert!(endpoint.session.is_some(), "no session: {response:?}");
        let initialized = endpoint.exchange(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        assert_eq!((initialized.status, initialized.text()), (202, ""));
        endpoint
    }

    /// Takes the session and the revision from the response to a handshake.
    fn settle(&mut self, response: &Response) {
        self.session = response.header("mcp-session-id").map(str::to_owned);
        let version = serde_json::from_slice::<Value>(&response.body).ok();
        let version = version.and_then(|answer| answer["result"]["protocolVersion"].as_str().map(str::to_owned));
        self.version = version;
    }

    /// A POST of that message, with its headers.
    pub fn post(&self, message: &Value) -> Request {
        self.post_text(&message.to_string())
    }

    /// As [`Endpoint::post`], for arbitrary text.
    pub fn post_text(&self, text: &str) -> Request {
        let message: Value = serde_json::from_str(text).unwrap_or_default();
        let request =
            Request::new("POST", "/mcp", self.address).with("Accept", "application/json, text/event-stream").json(text);
        let version = message.pointer("/params/_meta/io.modelcontextprotocol~1protocolVersion");
        if version.is_none() && message["method"] == "initialize" {
            return request;
        }
        if version.is_none() && self.session.is_some() {
            return self.in_session(request);
        }
        let mut request = request.with("MCP-Protocol-Version", version.and_then(Value::as_str).unwrap_or(MODERN));
        let params = &message["params"];
        if let Some(method) = message["method"].as_str() {
            request = request.with("Mcp-Method", method);
            let name = match method {
                "resources/read" => &params["uri"],
                "tasks/get" | "tasks/update" | "tasks/cancel" => &params["taskId"],
                _ => &params["name"],
            };
            if let Some(name) = name.as_str() {
                request = request.with("Mcp-Name", &plain(name));
            }
        }
        request
    }

    pub fn get(&self) -> Request {
        self.in_session(Request::new("GET", "/mcp", self.address).with("Accept", "text/event-stream"))
    }

    pub fn delete(&self) -> Request {
        self.in_session(Request::new("DELETE", "/mcp", self.address))
    }

    fn in_session(&self, mut request: Request) -> Request {
        for (name, value) in [("Mcp-Session-Id", &self.session), ("MCP-Protocol-Version", &self.version)] {
            if let Some(value) = value {
                request = request.with(name, value);
            }
        }
        request
    }

    /// Posts a message on a new connection.
    pub fn exchange(&self, message: &Value) -> Response {
        HttpConnection::connect(self.address).exchange(&self.post(message))
    }

    /// Posts a message whose answer is a stream.
    pub fn stream(&self, message: &Value) -> Events {
        Events::open(HttpConnection::connect(self.address), &self.post(message))
    }

    /// Opens the session's own stream, for messages that belong to no request.
    pub fn listen(&self) -> Events {
        Events::open(HttpConnection::connect(self.address), &self.get())
    }
}

/// An `initialize` request with all capabilities.
pub fn initialize(revision: &str) -> Value {
    let capabilities = json!({"roots": {}, "sampling": {}, "elicitation": {}});
    let info = json!({"name": "tests", "version": "0"});
    let params = json!({"protocolVersion": revision, "capabilities": capabilities, "clientInfo": info});
    request(0, "initialize", params)
}

pub fn request(id: u64, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// A stateless request (2026-07-28).
pub fn stateless(id: u64, method: &str, mut params: Value) -> Value {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!(MODERN);
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    request(id, method, params)
}

/// The text as a header value, encoded if necessary.
pub fn plain(text: &str) -> String {
    let is_plain = text.chars().all(|c| matches!(c, ' '..='~')) && text.trim() == text && !text.starts_with("=?");
    if is_plain { text.to_owned() } else { format!("=?base64?{}?=", STANDARD.encode(text)) }
}

/// A wire that posts frames. `send` returns when the response to a frame has begun.
pub struct Streamable {
    endpoint: Endpoint,
    /// The nodes of the server; each message goes to the next one.
    nodes: Vec<SocketAddr>,
    sent: usize,
    /// `None` once closed.
    sender: Option<Sender<String>>,
    messages: Receiver<String>,
    /// Streams that may still be open, each with the id of its request; closing one cancels a stateless
    /// request.
    open: Vec<(Value, TcpStream)>,
}

impl Streamable {
    pub fn connect(address: SocketAddr) -> Self {
        Self::spread(&[address])
    }

    /// As behind a balancer without affinity.
    pub fn spread(nodes: &[SocketAddr]) -> Self {
        let (sender, messages) = channel();
        let (endpoint, nodes) = (Endpoint::new(nodes[0]), nodes.to_vec());
        Self { endpoint, nodes, sent: 0, sender: Some(sender), messages, open: Vec::new() }
    }

    /// The next node.
    fn turn(&mut self) {
        self.endpoint.address = self.nodes[self.sent % self.nodes.len()];
        self.sent += 1;
    }

    /// Forwards the messages of a stream.
    fn follow(&mut self, id: Value, mut events: Events) {
        self.open.push((id, events.connection.stream().try_clone().expect("a socket")));
        let sender = self.sender.clone().expect("not closed by the test");
        std::thread::spawn(move || {
            while let Some(event) = events.next_message() {
                let _ = sender.send(event.data);
            }
        });
    }

    /// Closes the streams of that request, or all of them.
    fn hang_up(&mut self, id: Option<&Value>) {
        for (_, stream) in self.open.extract_if(.., |(of, _)| id.is_none_or(|id| id == of)) {
            // The host may have closed first.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    fn end_session(&mut self) {
        if self.endpoint.session.is_some() {
            assert_eq!(HttpConnection::connect(self.endpoint.address).exchange(&self.endpoint.delete()).status, 200);
        }
    }
}

impl Wire for Streamable {
    fn send(&mut self, frame: &str) {
        let message: Value = serde_json::from_str(frame).unwrap_or_default();
        let method = message["method"].as_str().unwrap_or_default();
        if method == "notifications/cancelled" && self.endpoint.session.is_none() {
            // Closing the stream is the only way to cancel a stateless request.
            return self.hang_up(message.pointer("/params/requestId"));
        }
        self.turn();
        let request = self.endpoint.post_text(frame);
        let mut connection = HttpConnection::connect(self.endpoint.address);
        let response = connection.exchange(&request);
        if method == "initialize" && response.header("mcp-session-id").is_some() {
            self.end_session();
            self.endpoint.settle(&response);
        }
        if response.header("content-type") == Some("text/event-stream") {
            self.follow(message["id"].clone(), Events::from_response(connection, response));
        } else if !response.body.is_empty() && (method.is_empty() || message.get("id").is_some()) {
            let sender = self.sender.as_ref().expect("not closed by the test");
            let _ = sender.send(response.text().to_owned());
        }
        if method == "notifications/initialized" && self.endpoint.session.is_some() {
            self.turn();
            let events = self.endpoint.listen();
            self.follow(Value::Null, events);
        }
    }

    fn receive(&mut self, time_limit: Duration) -> Received {
        match self.messages.recv_timeout(time_limit) {
            Ok(message) => Received::Frame(message),
            Err(RecvTimeoutError::Disconnected) => Received::Closed,
            Err(RecvTimeoutError::Timeout) => Received::TimedOut,
        }
    }

    fn close(&mut self) {
        self.end_session();
        self.hang_up(None);
        self.sender = None;
    }
}
