//! How many tasks there may be, and whose they are.

use std::net::SocketAddr;

use wharf::server::{Settings, TaskSettings};
use wharf::store::Sqlite;
use wharf::tasks::Ledger;

use super::*;
use crate::support::events::Events;
use crate::support::http::{HttpConnection, Request, serve};
use crate::support::memory::Memory;
use crate::support::streamable::{Endpoint, request};

/// A server in this process with such limits of tasks.
fn limited(home: &Home, limits: TaskSettings) -> Client<Memory> {
    let ledger = Ledger::new(Sqlite::new(home.path("limits/tasks.db")), "limits");
    let tasks = TaskSettings { ledger: Some(ledger), ..limits };
    let memory = Memory::serve_with(home, Settings { tasks, ..Settings::default() });
    Client::with_capabilities(memory, MODERN, capabilities())
}

#[test]
fn a_call_for_which_there_is_no_room_is_no_task() {
    for limits in [
        TaskSettings { kept_of_one: 2, ..TaskSettings::default() },
        TaskSettings { kept: 2, ..TaskSettings::default() },
        // The record of a task takes more than half of that.
        TaskSettings { bytes_of_one: 900, ..TaskSettings::default() },
        TaskSettings { bytes: 900, ..TaskSettings::default() },
    ] {
        let home = home(SOON);
        let mut client = limited(&home, limits);
        let ids: Vec<String> = (0..2).map(|_| task(&mut client, "slow_compute", json!({"seconds": 600.0}))).collect();
        // It runs while its request waits.
        let done = client.call("everything_slow_compute", json!({"seconds": 0.5}));
        assert_eq!((&done["resultType"], first_text(&done)), (&json!("complete"), "It is done"));
        let error = client.error("tools/call", json!({"name": "everything_failing_job", "arguments": {}}));
        assert_eq!(error["data"]["reason"], "too_many_tasks");
        for id in ids {
            client.result("tasks/cancel", json!({"taskId": id}));
        }
    }
}

#[test]
fn one_caller_runs_some_tasks_at_a_time() {
    let home = home("[tasks]\nafter = '1ms'\nconcurrency = 1\n");
    let mut client = limited(&home, TaskSettings::default());
    // Those that wait for their turn count.
    let ids: Vec<String> = (0..32).map(|_| task(&mut client, "slow_compute", json!({"seconds": 600.0}))).collect();
    let error = client.error("tools/call", json!({"name": "everything_failing_job", "arguments": {}}));
    assert_eq!(error["data"]["reason"], "too_many_tasks");
    client.result("tasks/cancel", json!({"taskId": ids[31]}));
    let deadline = Instant::now() + PATIENCE;
    loop {
        let params = json!({"name": "everything_slow_compute", "arguments": {"seconds": 600.0}});
        let id = client.post("tools/call", params);
        // Without room it waits for its turn as a call.
        if client.answer(id)["result"]["resultType"] == "task" {
            break;
        }
        assert!(Instant::now() < deadline);
    }
}

const ALICE: &str = "0123456789abcdef0123456789abcdef";
const BOB: &str = "fedcba9876543210fedcba9876543210";

fn post(address: SocketAddr, token: &str, method: &str, mut params: Value) -> Request {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": capabilities(),
    });
    let post = Endpoint::new(address).post(&request(1, method, params));
    post.with("Authorization", &format!("Bearer {token}"))
}

fn send(address: SocketAddr, request: &Request) -> Value {
    let mut connection = HttpConnection::connect(address);
    let response = connection.exchange(request);
    let text = match response.header("content-type") {
        Some("text/event-stream") => Events::from_response(connection, response).next_message().expect("an event").data,
        _ => response.text().to_owned(),
    };
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn a_task_is_known_to_its_owner_alone() {
    let home = Home::with(&["everything"]);
    for (name, token) in [("alice", ALICE), ("bob", BOB)] {
        std::fs::write(home.path("config/wharf").join(name), token).expect("a file");
    }
    let tokens = "tokens = [{ name = 'alice', file = 'alice' }, { name = 'bob', file = 'bob' }]";
    home.configure(&format!("{SOON}[server.http]\n{tokens}\n"));
    let (process, address) = serve(&home, &[]);
    let call = json!({"name": "everything_confirm_delete", "arguments": {"filename": "a"}});
    // Its connection is closed with the answer.
    let made = send(address, &post(address, ALICE, "tools/call", call));
    let id = made["result"]["taskId"].as_str().unwrap_or_else(|| panic!("no task: {made}")).to_owned();
    let of_id = json!({"taskId": id, "inputResponses": {"confirm.1": accept(json!({"confirm": true}))}});
    let unknown = json!({"taskId": "AAAAAAAAAAAAAAAAAAAAAAAA"});
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let hers = send(address, &post(address, BOB, method, of_id.clone()))["error"].take();
        let nobodys = send(address, &post(address, BOB, method, unknown.clone()))["error"].take();
        assert_eq!(hers["code"], -32602);
        let text = |error: &Value| error.to_string().replace(&id, "").replace("AAAAAAAAAAAAAAAAAAAAAAAA", "");
        assert_eq!(text(&hers), text(&nobodys), "{method}");
    }
    // The header names the task.
    let get = post(address, ALICE, "tasks/get", of_id.clone());
    for wrong in [get.without("Mcp-Name"), post(address, ALICE, "tasks/get", of_id.clone()).set("Mcp-Name", "x")] {
        assert_eq!(send(address, &wrong)["error"]["code"], -32020);
    }
    let deadline = Instant::now() + PATIENCE;
    loop {
        let got = send(address, &post(address, ALICE, "tasks/get", of_id.clone()));
        if got["result"]["status"] == "input_required" {
            break;
        }
        assert!(Instant::now() < deadline, "{got}");
    }
    assert_eq!(send(address, &post(address, ALICE, "tasks/update", of_id.clone()))["result"]["resultType"], "complete");
    drop(process);
}
