//! Records the messages of a host with their revisions, for later validation with the official
//! schemas.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::time::Duration;

use serde_json::{Value, json};

use super::home::scratch;
use super::wire::{Received, Wire};

/// The only revision with batches in its schema.
const BATCHED: &str = "2025-03-26";

/// A wire that records all received messages.
pub struct Recorded<W> {
    wire: W,
    file: File,
    /// The negotiated revision.
    revision: Option<String>,
    /// By request id: the method and the revision of the request.
    asked: HashMap<String, (String, Option<String>)>,
}

impl<W: Wire> Recorded<W> {
    /// The file is named after the thread, which is that of the test.
    pub fn new(wire: W) -> Self {
        let name = std::thread::current().name().unwrap_or("unnamed").replace("::", "-");
        let path = scratch("wire-log").join(format!("{name}.jsonl"));
        let file = OpenOptions::new().create(true).append(true).open(path).expect("a file in the target folder");
        Self { wire, file, revision: None, asked: HashMap::new() }
    }

    pub fn wire(&mut self) -> &mut W {
        &mut self.wire
    }

    fn sent(&mut self, message: &Value) {
        if let Some(batch) = message.as_array() {
            // Of two requests with one id, the first is answered.
            return batch.iter().rev().for_each(|element| self.sent(element));
        }
        let (Some(id), Some(method)) = (message.get("id"), message["method"].as_str()) else {
            return;
        };
        // An unknown version is refused in the format of the newest.
        let modern = message.pointer("/params/_meta/io.modelcontextprotocol~1protocolVersion");
        let revision = modern.map(|_| super::MODERN.to_owned()).or_else(|| self.revision.clone());
        self.asked.insert(id.to_string(), (method.to_owned(), revision));
    }

    fn received(&mut self, message: &Value) {
        match message.as_array() {
            Some(batch) => batch.iter().for_each(|element| self.record(element, Some(BATCHED))),
            None => self.record(message, None),
        }
    }

    fn record(&mut self, message: &Value, known: Option<&str>) {
        let answers = message.get("method").is_none();
        let asked = message.get("id").filter(|_| answers).and_then(|id| self.asked.get(&id.to_string()).cloned());
        let (method, mut revision) = asked.unwrap_or_else(|| (String::new(), self.revision.clone()));
        revision = known.map(str::to_owned).or(revision);
        if method == "initialize"
            && let Some(settled) = message.pointer("/result/protocolVersion")
        {
            revision = settled.as_str().map(str::to_owned);
            self.revision = revision.clone();
        }
        if message.pointer("/params/_meta/io.modelcontextprotocol~1subscriptionId").is_some() {
            revision = Some(super::MODERN.to_owned());
        }
        let entry = json!({"revision": revision, "method": method, "message": message});
        // A single write, since other clients of the same test may append too.
        self.file.write_all(format!("{entry}\n").as_bytes()).expect("the record can be written");
    }
}

impl<W: Wire> Wire for Recorded<W> {
    fn send(&mut self, frame: &str) {
        if let Ok(message) = serde_json::from_str::<Value>(frame) {
            self.sent(&message);
        }
        self.wire.send(frame);
    }

    fn receive(&mut self, time_limit: Duration) -> Received {
        let received = self.wire.receive(time_limit);
        if let Received::Frame(frame) = &received
            && let Ok(message) = serde_json::from_str::<Value>(frame)
        {
            self.received(&message);
        }
        received
    }

    fn close(&mut self) {
        self.wire.close();
    }
}
