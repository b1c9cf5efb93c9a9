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

/// Also what is added later: answers and results.
#[test]
fn what_is_kept_of_a_task_counts() {
    let home = home(SOON);
    let mut client = limited(&home, TaskSettings { bytes_of_one: 100_000, ..TaskSettings::default() });
    let id = task(&mut client, "confirm_delete", json!({"filename": "x".repeat(60_000)}));
    let asked = key(&until_status(&mut client, &id, "input_required"));
    let long = accept(json!({"confirm": true, "more": "x".repeat(60_000)}));
    let error = client.error("tasks/update", json!({"taskId": id, "inputResponses": {&asked: long}}));
    assert_eq!(error["data"]["reason"], "too_many_tasks");
    answer(&mut client, &id, json!({asked: accept(json!({"confirm": true}))}));
    let failed = until_status(&mut client, &id, "failed");
    assert_eq!(failed["error"]["data"]["reason"], "task_result_not_kept");
}

#[test]
fn an_answer_that_is_none_is_not_charged() {
    let home = home(&format!("{SOON}[[budgets]]\nname = 'few'\ncalls = 2\nwindow = '1h'\n"));
    let mut client = client(&home);
    let id = task(&mut client, "confirm_delete", json!({"filename": "a"}));
    let asked = key(&until_status(&mut client, &id, "input_required"));
    for _ in 0..4 {
        let wrong = json!({"taskId": id, "inputResponses": {&asked: accept(json!({"confirm": "maybe"}))}});
        assert_eq!(client.error("tasks/update", wrong)["code"], -32602);
    }
    answer(&mut client, &id, json!({asked: accept(json!({"confirm": true}))}));
    until_status(&mut client, &id, "completed");
    let over = client.error("tools/call", json!({"name": "everything_greet", "arguments": {"name": "Ada"}}));
    assert_eq!(over["data"]["reason"], "busy", "{over}");
}

#[test]
fn arguments_that_do_not_fit_make_no_task() {
    let home = home(SOON);
    let mut client = client(&home);
    let refused = client.call("everything_confirm_delete", json!({"filename": 7}));
    assert_eq!((&refused["isError"], refused.get("taskId")), (&json!(true), None), "{refused}");
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
