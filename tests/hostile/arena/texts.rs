//! Requests that are written as text, since no tree of the tests' own could hold them, and
//! what becomes of them.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::{Arena, Asked, Of, SETTINGS};
use crate::support::MODERN;

/// Ids of such requests; other requests have lower numbers.
const FIRST: u64 = 1 << 41;

/// How a request ended, in a word: `ok`, `failed`, the code of a fault, or the number of an
/// error.
pub(crate) fn fate(message: &Value) -> String {
    let fault = &message["result"]["_meta"]["wharf/fault"]["code"];
    match (message["error"]["code"].as_i64(), fault.as_str()) {
        (Some(code), _) => code.to_string(),
        (None, Some(fault)) => fault.to_owned(),
        (None, None) if message["result"]["isError"] == true => "failed".into(),
        (None, None) => "ok".into(),
    }
}

impl Arena {
    /// Calls a tool with arguments that are this text, and does not wait.
    pub(crate) fn ask_text(&mut self, tool: &str, arguments: &str) -> u64 {
        self.ask_params(tool, &format!(r#""arguments":{arguments}"#), "")
    }

    /// As [`Arena::ask_text`], with more members of `params`, and of its `_meta` if it begins
    /// with a comma.
    pub(crate) fn ask_params(&mut self, tool: &str, params: &str, meta: &str) -> u64 {
        self.texts += 1;
        let id = FIRST + self.texts;
        let abilities = r#"{"elicitation":{"form":{}}}"#;
        let meta = format!(
            r#"{{"io.modelcontextprotocol/protocolVersion":"{MODERN}","io.modelcontextprotocol/clientCapabilities":{abilities}{meta}}}"#
        );
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}",{params},"_meta":{meta}}}}}"#
        );
        self.open.insert(id, Asked { at: Instant::now(), of: Of::Host });
        let headers = [("MCP-Protocol-Version", MODERN), ("Mcp-Method", "tools/call"), ("Mcp-Name", tool)];
        self.client.wire().send_raw(&text, &headers);
        id
    }

    /// Sends a text that may be anything.
    pub(crate) fn send_raw(&mut self, text: &str, headers: &[(&str, &str)]) {
        self.client.wire().send_raw(text, headers);
    }

    /// What became of a request, which must be known within that time. What cannot be read has
    /// an answer without an id; so such requests come one by one.
    pub(crate) fn fate_of(&mut self, id: u64, time: Duration) -> Value {
        let what = format!("what became of request {id} is known");
        self.until_within(time, &what, |arena| arena.answered.contains_key(&id) || !arena.strays.is_empty());
        match self.answered.remove(&id) {
            Some(answer) => answer.message,
            None => {
                self.open.remove(&id);
                self.strays.pop_front().expect("just seen")
            }
        }
    }

    /// Calls a tool with arguments that are this text, and gives the word of [`fate`].
    pub(crate) fn try_text(&mut self, tool: &str, arguments: &str) -> String {
        let id = self.ask_text(tool, arguments);
        fate(&self.fate_of(id, SOON))
    }

    /// All that came and is no answer to a request with a number, or comes within that time.
    pub(crate) fn strays(&mut self, time: Duration, enough: impl Fn(&[&Value]) -> bool) -> Vec<Value> {
        let deadline = Instant::now() + time;
        while Instant::now() < deadline && !enough(&self.strays.iter().collect::<Vec<_>>()) {
            self.beat();
        }
        self.pause(Duration::ZERO);
        self.strays.drain(..).collect()
    }

    /// Puts a file into the folder and waits until the host has loaded or refused it; true if it
    /// was loaded.
    pub(crate) fn judged(&mut self, plugin: &str, bytes: &[u8], time: Duration) -> bool {
        ["load", "swap"].contains(&self.verdict(plugin, bytes, time).as_str())
    }

    /// As [`Arena::judged`]: the event that the audit log has of it.
    pub(crate) fn verdict(&mut self, plugin: &str, bytes: &[u8], time: Duration) -> String {
        self.expected.put(plugin, bytes);
        let before = self.records().len();
        self.home.put_bytes(bytes, plugin);
        let mut event = String::new();
        self.until_within(time, &format!("{plugin} is loaded, held or refused"), |arena| {
            let verdict = |record: &&Value| {
                record["plugin"] == plugin && ["load", "swap", "reject", "hold"].iter().any(|it| record["event"] == *it)
            };
            let found = arena.records()[before..].iter().find(verdict);
            event = found.and_then(|record| record["event"].as_str()).unwrap_or_default().to_owned();
            !event.is_empty()
        });
        event
    }

    /// Replaces the settings.
    pub(crate) fn configure(&self, settings: &str) {
        self.home.configure(&format!("{SETTINGS}{settings}"));
    }

    /// Gives up a request, as its client would on this connection.
    pub(crate) fn cancel(&mut self, id: u64) {
        if self.answered.remove(&id).is_none() {
            self.open.remove(&id);
            self.given_up.insert(id);
        }
        self.client.notify("notifications/cancelled", serde_json::json!({"requestId": id}));
    }
}

/// How long a request may take that is refused for what it is.
const SOON: Duration = Duration::from_secs(10);
