//! A JSON-RPC client: sends requests, matches answers by id, and queues notifications. It panics on
//! anything that is not JSON-RPC.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::home::Home;
use super::process::Process;
use super::record::Recorded;
use super::wire::{Received, Wire};
use super::{MODERN, TIMEOUT};

pub struct Client<W: Wire = Process> {
    wire: Recorded<W>,
    modern: bool,
    /// The capabilities that a modern client declares with each request.
    capabilities: Value,
    next: u64,
    queued: VecDeque<Value>,
}

impl Client<Process> {
    /// Serves that home and initializes with 2025-11-25.
    pub fn start(home: &Home) -> Self {
        Self::initialized(Process::serve(home), "2025-11-25")
    }

    /// Serves that home, with a client of 2026-07-28.
    pub fn start_modern(home: &Home) -> Self {
        Self::new(Process::serve(home), true)
    }

    pub fn process(&mut self) -> &mut Process {
        self.wire()
    }
}

impl<W: Wire> Client<W> {
    /// A client that has sent nothing yet. A modern one puts the `_meta` of 2026-07-28 into each
    /// request.
    pub fn new(wire: W, modern: bool) -> Self {
        Self { wire: Recorded::new(wire), modern, capabilities: json!({}), next: 0, queued: VecDeque::new() }
    }

    /// The underlying transport.
    pub fn wire(&mut self) -> &mut W {
        self.wire.wire()
    }

    /// An initialized client.
    pub fn initialized(wire: W, revision: &str) -> Self {
        Self::with_capabilities(wire, revision, json!({}))
    }

    /// A client of any revision with these capabilities, initialized if the revision has a handshake.
    pub fn with_capabilities(wire: W, revision: &str, capabilities: Value) -> Self {
        let mut client = Self::new(wire, revision == MODERN);
        client.capabilities = capabilities.clone();
        if !client.modern {
            let info = json!({"name": "tests", "version": "0"});
            let hello = json!({"protocolVersion": revision, "capabilities": capabilities, "clientInfo": info});
            assert_eq!(client.result("initialize", hello)["protocolVersion"], revision);
            client.notify("notifications/initialized", json!({}));
        }
        client
    }

    /// Sends a request without waiting. The id is for [`Client::answer`].
    pub fn post(&mut self, method: &str, mut params: Value) -> u64 {
        if self.modern {
            params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!(MODERN);
            params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = self.capabilities.clone();
        }
        self.next += 1;
        let message = json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params});
        self.wire.send(&message.to_string());
        self.next
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        self.wire.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string());
    }

    /// Answers a request of the host.
    pub fn reply(&mut self, request: &Value, result: Value) {
        self.wire.send(&json!({"jsonrpc": "2.0", "id": request["id"], "result": result}).to_string());
    }

    /// Waits for the answer to that request.
    pub fn answer(&mut self, id: u64) -> Value {
        self.wait(&format!("an answer to request {id}"), |message| {
            message["id"] == id && message.get("method").is_none()
        })
    }

    /// Sends a request, and returns its result.
    ///
    /// # Panics
    /// When the answer is an error.
    pub fn result(&mut self, method: &str, params: Value) -> Value {
        let id = self.post(method, params);
        let mut answer = self.answer(id);
        assert!(answer.get("error").is_none(), "{method} failed: {answer}");
        answer["result"].take()
    }

    /// Sends a request, and returns its error.
    pub fn error(&mut self, method: &str, params: Value) -> Value {
        let id = self.post(method, params);
        let mut answer = self.answer(id);
        assert!(answer.get("error").is_some(), "{method} did not fail: {answer}");
        answer["error"].take()
    }

    /// A tool's whole result.
    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.result("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// The first text of a tool's result.
    pub fn text(&mut self, tool: &str, arguments: Value) -> String {
        first_text(&self.call(tool, arguments)).to_owned()
    }

    /// The names in `tools/list`, all pages of it.
    pub fn tools(&mut self) -> Vec<String> {
        let name = |tool: Value| tool["name"].as_str().expect("a tool's name").to_owned();
        self.tool_entries().into_iter().map(name).collect()
    }

    /// The entries in `tools/list`, all pages of it.
    pub fn tool_entries(&mut self) -> Vec<Value> {
        let mut entries = Vec::new();
        let mut params = json!({});
        loop {
            let mut page = self.result("tools/list", params);
            match page["tools"].take() {
                Value::Array(tools) => entries.extend(tools),
                other => panic!("a list of tools: {other}"),
            }
            match page.get("nextCursor") {
                Some(cursor) => params = json!({"cursor": cursor}),
                None => return entries,
            }
        }
    }

    /// Waits for the answers to the next batch.
    pub fn answers_to_batch(&mut self) -> Vec<Value> {
        match self.wait("batch", Value::is_array) {
            Value::Array(answers) => answers,
            other => panic!("no batch: {other}"),
        }
    }

    /// Waits for the next notification or request of the host with that method.
    pub fn notification(&mut self, method: &str) -> Value {
        self.wait(method, |message| message["method"] == method)
    }

    /// Lists the tools after each notified change, until the predicate accepts the list.
    pub fn tools_until(&mut self, wanted: impl Fn(&[String]) -> bool) -> Vec<String> {
        loop {
            let tools = self.tools();
            if wanted(&tools) {
                return tools;
            }
            self.notification("notifications/tools/list_changed");
        }
    }

    /// The next message that is queued or arrives before the deadline.
    pub fn next_before(&mut self, deadline: Instant) -> Option<Value> {
        self.queued.pop_front().or_else(|| self.receive(deadline.saturating_duration_since(Instant::now())))
    }

    /// Closes the client's side, and returns all remaining messages.
    pub fn finish(mut self) -> Vec<Value> {
        self.wire.close();
        let mut rest: Vec<Value> = std::mem::take(&mut self.queued).into();
        loop {
            match self.wire.receive(TIMEOUT) {
                Received::Frame(frame) => rest.push(parse(&frame)),
                Received::Closed => return rest,
                Received::TimedOut => panic!("the host does not close after the end of its input"),
            }
        }
    }

    fn wait(&mut self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.queued.iter().position(&wanted) {
            return self.queued.remove(at).expect("just found");
        }
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let Some(message) = self.receive(deadline.saturating_duration_since(Instant::now())) else {
                panic!("no {what}; queued: {:?}", self.queued);
            };
            if wanted(&message) {
                return message;
            }
            self.queued.push_back(message);
        }
    }

    fn receive(&mut self, time_limit: Duration) -> Option<Value> {
        match self.wire.receive(time_limit) {
            Received::Frame(frame) => Some(parse(&frame)),
            Received::TimedOut => None,
            Received::Closed => panic!("the host has closed the connection; queued: {:?}", self.queued),
        }
    }
}

fn parse(frame: &str) -> Value {
    let message: Value = serde_json::from_str(frame).unwrap_or_else(|error| panic!("{error} in {frame:?}"));
    assert!(message.is_array() || message["jsonrpc"] == "2.0", "not JSON-RPC: {frame}");
    message
}

/// The text of a result's first content block.
pub fn first_text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text in {result}"))
}
