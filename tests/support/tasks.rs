//! Tasks of the guest `everything`, as a client of 2026-07-28 has them.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::MODERN;
use super::client::Client;
use super::home::Home;
use super::process::Process;
use super::wire::Wire;

pub const EXTENSION: &str = "io.modelcontextprotocol/tasks";
/// Calls become tasks soon.
pub const SOON: &str = "[tasks]\nafter = '100ms'\n";
pub const PATIENCE: Duration = Duration::from_secs(60);

pub fn home(settings: &str) -> Home {
    let home = Home::with(&["everything"]);
    home.configure(settings);
    home
}

pub fn capabilities() -> Value {
    json!({"elicitation": {}, "extensions": {EXTENSION: {}}})
}

pub fn client(home: &Home) -> Client {
    Client::with_capabilities(Process::serve(home), MODERN, capabilities())
}

/// Calls a tool, which must become a task; its id.
pub fn task<W: Wire>(client: &mut Client<W>, tool: &str, arguments: Value) -> String {
    let made = client.call(&format!("everything_{tool}"), arguments);
    assert_eq!(made["resultType"], "task", "{made}");
    for absent in ["result", "error", "inputRequests", "requestState", "task"] {
        assert!(made.get(absent).is_none(), "{absent}: {made}");
    }
    assert_eq!(made["ttlMs"], 24 * 3600 * 1000);
    made["taskId"].as_str().expect("an id").to_owned()
}

pub fn get<W: Wire>(client: &mut Client<W>, id: &str) -> Value {
    let got = client.result("tasks/get", json!({"taskId": id}));
    assert_eq!((&got["resultType"], &got["taskId"]), (&json!("complete"), &json!(id)), "{got}");
    got
}

/// Polls until the task is as wanted.
pub fn until<W: Wire>(client: &mut Client<W>, id: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let got = get(client, id);
        if wanted(&got) {
            return got;
        }
        assert!(Instant::now() < deadline, "{got}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub fn until_status<W: Wire>(client: &mut Client<W>, id: &str, status: &str) -> Value {
    until(client, id, |got| got["status"] == status)
}

/// The only key that is asked.
pub fn key(got: &Value) -> String {
    let asked = got["inputRequests"].as_object().unwrap_or_else(|| panic!("no questions: {got}"));
    assert_eq!(asked.len(), 1, "{got}");
    asked.keys().next().expect("one").clone()
}

pub fn answer<W: Wire>(client: &mut Client<W>, id: &str, answers: Value) {
    let done = client.result("tasks/update", json!({"taskId": id, "inputResponses": answers}));
    assert_eq!(done["resultType"], "complete");
    assert!(done.get("taskId").is_none() && done.get("status").is_none(), "{done}");
}

pub fn accept(content: Value) -> Value {
    json!({"action": "accept", "content": content})
}
