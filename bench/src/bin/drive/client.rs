//! A client of MCP 2025-11-25 over stdio, as far as the measurements need it.

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

use crate::home::Home;
use crate::process::Process;

const REVISION: &str = "2025-11-25";
const LIST_CHANGED: &str = "notifications/tools/list_changed";

pub struct Client {
    pub process: Process,
    /// When the process was started.
    pub started: Instant,
    /// Time from the start to the answer to `initialize`.
    pub answered: Duration,
    next_id: u64,
    /// Whether the list has changed since the last request for it.
    stale: bool,
}

/// A call of a tool without arguments.
pub fn call(id: u64, tool: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": tool, "arguments": {} } })
}

impl Client {
    /// Starts the server and initialises the session.
    pub fn start(command: Command, home: &Home) -> Result<Self> {
        let started = Instant::now();
        let process = Process::start(command, home)?;
        let mut client = Self { process, started, answered: Duration::ZERO, next_id: 0, stale: false };
        let answer = client.request(
            "initialize",
            json!({
                "protocolVersion": REVISION,
                "capabilities": {},
                "clientInfo": { "name": "wharf-bench", "version": env!("CARGO_PKG_VERSION") },
            }),
        )?;
        client.answered = started.elapsed();
        ensure!(answer["protocolVersion"] == REVISION, "negotiate {REVISION} with the server: {answer}");
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(client)
    }

    /// Sends a request and waits for its result.
    pub fn request(&mut self, method: &str, params: Value) -> Result<Value> {
        let id = self.ids(1);
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        loop {
            let mut message = self.receive()?;
            if message["id"] == id && message.get("method").is_none() {
                ensure!(message.get("result").is_some(), "get a result of {method}: {message}");
                return Ok(message["result"].take());
            }
        }
    }

    /// Calls these tools, without arguments, in one write, and waits for all results. Returns each
    /// with its time since before the write.
    pub fn call_at_once(&mut self, tools: &[String]) -> Result<Vec<(Duration, Value)>> {
        let first = self.ids(tools.len() as u64);
        let lines: String = (first..).zip(tools).map(|(id, tool)| format!("{}\n", call(id, tool))).collect();
        let mut results = Vec::with_capacity(tools.len());
        let sent = Instant::now();
        self.process.write(lines.as_bytes())?;
        while results.len() < tools.len() {
            let mut message = self.receive()?;
            let took = sent.elapsed();
            if message["id"].as_u64().is_some_and(|id| id >= first) {
                results.push((took, message["result"].take()));
            }
        }
        Ok(results)
    }

    /// Sends a request and returns the next line, with its time since before the write. `line` is
    /// an empty buffer, reused for the line.
    pub fn exchange(&mut self, method: &str, params: Value, mut line: Vec<u8>) -> Result<(Duration, Vec<u8>)> {
        let id = self.ids(1);
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let request = format!("{request}\n");
        let sent = Instant::now();
        self.process.write(request.as_bytes())?;
        self.process.read_line(&mut line)?;
        Ok((sent.elapsed(), line))
    }

    /// Reserves `count` request ids, and returns the first.
    pub fn ids(&mut self, count: u64) -> u64 {
        let first = self.next_id;
        self.next_id += count;
        first
    }

    /// The names of all tools, from all pages.
    pub fn tools(&mut self) -> Result<Vec<String>> {
        self.stale = false;
        let (mut names, mut params) = (Vec::new(), json!({}));
        loop {
            let page = self.request("tools/list", params)?;
            let tools = page["tools"].as_array().with_context(|| format!("read the list of tools: {page}"))?;
            names.extend(tools.iter().filter_map(|tool| tool["name"].as_str().map(str::to_owned)));
            match page.get("nextCursor") {
                Some(cursor) => params = json!({ "cursor": cursor }),
                None => return Ok(names),
            }
        }
    }

    /// Lists the tools, again after each `list_changed`, until there are `count`.
    pub fn tools_until(&mut self, count: usize) -> Result<()> {
        self.list_until(|tools| {
            let found = tools.len();
            ensure!(found <= count, "find {count} tools: there are {found}");
            Ok(found == count)
        })
    }

    /// Likewise until there is one of that name.
    pub fn tools_with(&mut self, name: &str) -> Result<()> {
        self.list_until(|tools| Ok(tools.iter().any(|tool| tool == name)))
    }

    fn list_until(&mut self, enough: impl Fn(&[String]) -> Result<bool>) -> Result<()> {
        loop {
            if enough(&self.tools()?)? {
                return Ok(());
            }
            while !self.stale {
                self.receive()?;
            }
        }
    }

    /// Reads all messages that the server has sent so far.
    pub fn drain(&mut self) -> Result<()> {
        self.request("ping", json!({})).map(drop)
    }

    /// Waits for `list_changed`, and returns when it arrived.
    pub fn list_changed(&mut self) -> Result<Instant> {
        loop {
            let mut line = Vec::new();
            self.process.read_line(&mut line)?;
            let arrived = Instant::now();
            if self.parse(&line)?["method"] == LIST_CHANGED {
                return Ok(arrived);
            }
        }
    }

    /// The text of a tool's result.
    pub fn text(&mut self, tool: &str) -> Result<String> {
        let result = self.request("tools/call", json!({ "name": tool, "arguments": {} }))?;
        match result["content"][0]["text"].as_str() {
            Some(text) => Ok(text.to_owned()),
            None => bail!("get a text from {tool}: {result}"),
        }
    }

    fn send(&mut self, message: &Value) -> Result<()> {
        self.process.write(format!("{message}\n").as_bytes())
    }

    fn receive(&mut self) -> Result<Value> {
        let mut line = Vec::new();
        self.process.read_line(&mut line)?;
        self.parse(&line)
    }

    fn parse(&mut self, line: &[u8]) -> Result<Value> {
        let message: Value =
            serde_json::from_slice(line).with_context(|| format!("read {}", String::from_utf8_lossy(line)))?;
        self.stale |= message["method"] == LIST_CHANGED;
        Ok(message)
    }
}
