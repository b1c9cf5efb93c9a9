//! Requests sent as raw text, since a JSON tree could not hold them, and their outcomes.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::{Arena, Of, Pending, SETTINGS};
use crate::support::MODERN;

/// First id of such requests; other requests have lower ids.
const FIRST: u64 = 1 << 41;

/// The outcome of a request: `ok`, `failed`, the code of a fault, or the number of an error.
pub(crate) fn outcome_code(message: &Value) -> String {
    let fault = &message["result"]["_meta"]["wharf/fault"]["code"];
    match (message["error"]["code"].as_i64(), fault.as_str()) {
        (Some(code), _) => code.to_string(),
        (None, Some(fault)) => fault.to_owned(),
        (None, None) if message["result"]["isError"] == true => "failed".into(),
        (None, None) => "ok".into(),
    }
}

impl Arena {
    /// Starts a call of a tool with arguments as raw text, without waiting.
    pub(crate) fn start_call_with_text(&mut self, tool: &str, arguments: &str) -> u64 {
        self.start_call_with_params(tool, &format!(r#""arguments":{arguments}"#), "")
    }

    /// As [`Arena::start_call_with_text`], with further members of `params`, and of `_meta` (each begins with a
    /// comma).
    pub(crate) fn start_call_with_params(&mut self, tool: &str, params: &str, meta: &str) -> u64 {
        self.texts += 1;
        let id = FIRST + self.texts;
        let abilities = r#"{"elicitation":{"form":{}}}"#;
        let meta = format!(
            r#"{{"io.modelcontextprotocol/protocolVersion":"{MODERN}","io.modelcontextprotocol/clientCapabilities":{abilities}{meta}}}"#
        );
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}",{params},"_meta":{meta}}}}}"#
        );
        self.open.insert(id, Pending { at: Instant::now(), of: Of::Host });
        let headers = [("MCP-Protocol-Version", MODERN), ("Mcp-Method", "tools/call"), ("Mcp-Name", tool)];
        self.client.wire().send_raw(&text, &headers);
        id
    }

    /// Sends arbitrary text.
    pub(crate) fn send_raw(&mut self, text: &str, headers: &[(&str, &str)]) {
        self.client.wire().send_raw(text, headers);
    }

    /// The answer to a request, within that time. The error for an unreadable request has no id, so
    /// such requests must be sent one by one.
    pub(crate) fn response_to(&mut self, id: u64, time: Duration) -> Value {
        let what = format!("request {id} is answered");
        self.until_within(time, &what, |arena| arena.answered.contains_key(&id) || !arena.strays.is_empty());
        match self.answered.remove(&id) {
            Some(answer) => answer.message,
            None => {
                self.open.remove(&id);
                self.strays.pop_front().expect("just seen")
            }
        }
    }

    /// Calls a tool with arguments as raw text, and returns its [`outcome_code`].
    pub(crate) fn try_text(&mut self, tool: &str, arguments: &str) -> String {
        let id = self.start_call_with_text(tool, arguments);
        outcome_code(&self.response_to(id, SOON))
    }

    /// Answers without a numeric id, until `enough` or the time is over.
    pub(crate) fn strays(&mut self, time: Duration, enough: impl Fn(&[&Value]) -> bool) -> Vec<Value> {
        let deadline = Instant::now() + time;
        while Instant::now() < deadline && !enough(&self.strays.iter().collect::<Vec<_>>()) {
            self.beat();
        }
        self.pause(Duration::ZERO);
        self.strays.drain(..).collect()
    }

    /// Puts a file into the folder and waits until it is loaded, held or refused; true if it was loaded.
    pub(crate) fn loads_or_refuses(&mut self, plugin: &str, bytes: &[u8], time: Duration) -> bool {
        ["load", "swap"].contains(&self.verdict(plugin, bytes, time).as_str())
    }

    /// As [`Arena::loads_or_refuses`], but returns the event in the audit log.
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

    /// Cancels a request.
    pub(crate) fn cancel(&mut self, id: u64) {
        if self.answered.remove(&id).is_none() {
            self.open.remove(&id);
            self.given_up.insert(id);
        }
        self.client.notify("notifications/cancelled", serde_json::json!({"requestId": id}));
    }
}

/// Time limit for refusing a request.
const SOON: Duration = Duration::from_secs(10);
