//! Tasks: calls that go on without their request. The guest is `everything`.

mod core;
mod crash;
mod limits;
mod listen;

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::MODERN;
use crate::support::client::{Client, first_text};
use crate::support::home::Home;
use crate::support::process::{Process, run};
use crate::support::tasks::*;

#[test]
fn a_call_that_takes_long_becomes_a_task() {
    let home = home(SOON);
    let mut client = client(&home);
    let short = client.call("everything_slow_compute", json!({"seconds": 0.0, "label": "a"}));
    assert_eq!((&short["resultType"], first_text(&short)), (&json!("complete"), "a is done"));
    let id = task(&mut client, "slow_compute", json!({"seconds": 3.0, "label": "b"}));
    let said =
        until(&mut client, &id, |got| got["statusMessage"].as_str().is_some_and(|says| says.starts_with("waiting (")));
    assert_eq!(said["status"], "working");
    let done = until_status(&mut client, &id, "completed");
    assert_eq!(done["result"]["content"], json!([{"type": "text", "text": "b is done"}]));
    assert_eq!(done["result"]["resultType"], "complete");
    assert!(done["result"]["_meta"].get("io.modelcontextprotocol/related-task").is_none());
    assert!(done["lastUpdatedAt"].as_str() > done["createdAt"].as_str());
    // It is there for whoever asks again.
    assert_eq!(get(&mut client, &id), done);
}

#[test]
fn nothing_is_sent_for_the_request_of_a_task() {
    let home = home(SOON);
    let mut client = client(&home);
    let params = json!({
        "name": "everything_slow_compute", "arguments": {"seconds": 1.5},
        "_meta": {"progressToken": "p", "io.modelcontextprotocol/logLevel": "debug"},
    });
    let made = client.result("tools/call", params);
    let id = made["taskId"].as_str().expect("an id").to_owned();
    until_status(&mut client, &id, "completed");
    let after: Vec<Value> = client.finish().into_iter().filter(|message| message.get("method").is_some()).collect();
    assert_eq!(after, Vec::<Value>::new());
}

#[test]
fn the_client_must_declare_tasks_in_each_request() {
    let home = home(SOON);
    let mut client = Client::with_capabilities(Process::serve(&home), MODERN, json!({"tasks": {}}));
    let done = client.call("everything_slow_compute", json!({"seconds": 0.5}));
    assert_eq!(done["resultType"], "complete");
    let error = client.error("tools/call", json!({"name": "everything_failing_job", "arguments": {}}));
    let required = json!({"extensions": {EXTENSION: {}}});
    assert_eq!((error["code"].as_i64(), &error["data"]["requiredCapabilities"]), (Some(-32021), &required));
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        // Before anything else is looked at.
        let error = client.error(method, json!({"taskId": 7}));
        assert_eq!((error["code"].as_i64(), &error["data"]["requiredCapabilities"]), (Some(-32021), &required));
    }
    let discovered = client.result("server/discover", json!({}));
    assert_eq!(discovered["capabilities"]["extensions"][EXTENSION], json!({}));
    assert!(discovered["capabilities"].get("tasks").is_none());
}

#[test]
fn older_revisions_wait_for_tools_that_are_tasks() {
    let home = home(SOON);
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18"] {
        let mut client = Client::with_capabilities(Process::serve(&home), revision, capabilities());
        let failed =
            client.result("tools/call", json!({"name": "everything_failing_job", "arguments": {}, "task": {}}));
        assert_eq!((&failed["isError"], first_text(&failed)), (&json!(true), "the job failed"));
        assert_eq!(client.error("tasks/get", json!({"taskId": "x"}))["code"], -32601);
    }
}

#[test]
fn a_server_without_tasks_says_so() {
    let home = home("[server]\ntasks = false\n[tasks]\nafter = '100ms'\n");
    let mut client = client(&home);
    let discovered = client.result("server/discover", json!({}));
    assert!(discovered["capabilities"]["extensions"].get(EXTENSION).is_none());
    assert_eq!(client.error("tasks/get", json!({"taskId": "x"}))["code"], -32601);
    let done = client.call("everything_failing_job", json!({}));
    assert_eq!(done["isError"], true);
}

#[test]
fn a_task_ends_as_its_call_does() {
    let home = home(SOON);
    let mut client = client(&home);
    let failing = task(&mut client, "failing_job", json!({}));
    let done = until_status(&mut client, &failing, "completed");
    assert_eq!((&done["result"]["isError"], first_text(&done["result"])), (&json!(true), "the job failed"));
    let impossible = task(&mut client, "protocol_error_job", json!({}));
    let failed = until_status(&mut client, &impossible, "failed");
    assert_eq!(failed["error"]["code"], -32021);
    assert!(failed.get("result").is_none());
    assert!(failed["statusMessage"].as_str().is_some_and(|message| message.contains("roots")), "{failed}");
}

#[test]
fn a_task_asks_and_goes_on_with_the_answers() {
    let home = home(SOON);
    let mut client = client(&home);
    let id = task(&mut client, "confirm_delete", json!({"filename": "a"}));
    let asks = until_status(&mut client, &id, "input_required");
    let asked = key(&asks);
    let request = &asks["inputRequests"][&asked];
    assert_eq!(
        (&request["method"], &request["params"]["message"]),
        (&json!("elicitation/create"), &json!("Delete a?"))
    );
    // It is there until it is answered; what is not asked is ignored.
    answer(&mut client, &id, json!({"unknown": accept(json!({}))}));
    assert_eq!(get(&mut client, &id)["inputRequests"], asks["inputRequests"]);
    let wrong = json!({"taskId": id, "inputResponses": {&asked: accept(json!({"confirm": "maybe"}))}});
    assert_eq!(client.error("tasks/update", wrong)["code"], -32602);
    assert_eq!(get(&mut client, &id)["status"], "input_required");
    answer(&mut client, &id, json!({&asked: accept(json!({"confirm": true}))}));
    assert!(get(&mut client, &id).get("inputRequests").is_none());
    let done = until_status(&mut client, &id, "completed");
    assert_eq!(first_text(&done["result"]), "a: deleted");
    // What has ended stays as it is.
    answer(&mut client, &id, json!({&asked: accept(json!({"confirm": false}))}));
    client.result("tasks/cancel", json!({"taskId": id}));
    assert_eq!(get(&mut client, &id), done);
}

#[test]
fn a_task_waits_for_all_answers() {
    let home = home(SOON);
    let mut client = client(&home);
    let id = task(&mut client, "multi_input", json!({}));
    let asks = until_status(&mut client, &id, "input_required");
    let keys: Vec<String> = asks["inputRequests"].as_object().expect("questions").keys().cloned().collect();
    assert_eq!(keys.len(), 2);
    answer(&mut client, &id, json!({&keys[0]: {"action": "decline"}}));
    let left = get(&mut client, &id);
    assert_eq!((&left["status"], key(&left)), (&json!("input_required"), keys[1].clone()));
    answer(
        &mut client,
        &id,
        json!({&keys[1]: accept(json!({"name": "x", "confirm": true})), &keys[0]: {"action": "cancel"}}),
    );
    let done = until_status(&mut client, &id, "completed");
    let said = first_text(&done["result"]);
    assert!(["true false", "false true"].contains(&said), "{said}");
}

#[test]
fn a_question_comes_before_the_task_if_it_comes_at_once() {
    let home = home(SOON);
    let mut client = client(&home);
    let asked = client.call("everything_test_tool_with_task", json!({}));
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    assert!(asked.get("taskId").is_none());
    let params = json!({
        "name": "everything_test_tool_with_task", "arguments": {}, "requestState": asked["requestState"],
        "inputResponses": {"user_name": accept(json!({"name": "Ada"}))},
    });
    let made = client.result("tools/call", params);
    let id = made["taskId"].as_str().unwrap_or_else(|| panic!("no task: {made}")).to_owned();
    let done = until_status(&mut client, &id, "completed");
    assert_eq!(first_text(&done["result"]), "Hello, Ada!");
}

#[test]
fn a_task_is_cancelled_by_its_client_alone() {
    let home = home(SOON);
    let mut client = client(&home);
    let call = client.post("tools/call", json!({"name": "everything_slow_compute", "arguments": {"seconds": 600.0}}));
    let made = client.answer(call)["result"].take();
    let id = made["taskId"].as_str().expect("an id").to_owned();
    // Not by what cancels a request.
    client.notify("notifications/cancelled", json!({"requestId": call}));
    assert_eq!(get(&mut client, &id)["status"], "working");
    let done = client.result("tasks/cancel", json!({"taskId": id}));
    assert_eq!(done["resultType"], "complete");
    assert!(done.get("status").is_none());
    assert_eq!(get(&mut client, &id)["status"], "cancelled");
    for method in ["tasks/get", "tasks/cancel", "tasks/update"] {
        for unknown in ["x", "AAAAAAAAAAAAAAAAAAAAAAAA", "../../../../../../../../.", ""] {
            assert_eq!(client.error(method, json!({"taskId": unknown}))["code"], -32602, "{method} {unknown}");
        }
    }
    for method in ["tasks/list", "tasks/result"] {
        assert_eq!(client.error(method, json!({"taskId": id}))["code"], -32601);
    }
}

/// The guest says so in the log when it is told.
#[test]
fn another_process_cancels_a_task_that_runs() {
    let home = home(SOON);
    let (mut one, mut two) = (client(&home), client(&home));
    let id = task(&mut one, "slow_compute", json!({"seconds": 600.0}));
    two.result("tasks/cancel", json!({"taskId": id}));
    one.process().log_with("cancelled");
    assert_eq!(get(&mut one, &id)["status"], "cancelled");
    // Of the operator too.
    let id = task(&mut one, "slow_compute", json!({"seconds": 600.0}));
    let shown = run(&home, ["tasks", "--open", home.plugins().to_str().expect("UTF-8")]);
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    let rows: Vec<&str> = shown.lines().collect();
    assert!(rows.len() == 1 && rows[0].starts_with(&id) && rows[0].contains("  working"), "{shown}");
    let cancelled = run(&home, ["tasks", "cancel", &id]);
    assert!(cancelled.status.success(), "{cancelled:?}");
    let got = get(&mut two, &id);
    assert_eq!((&got["status"], &got["statusMessage"]), (&json!("cancelled"), &json!("cancelled by the operator")));
    let again = run(&home, ["tasks", "cancel", &id]);
    assert_eq!(again.status.code(), Some(1));
    let shown = run(&home, ["tasks", "show", &id, "--json"]);
    let shown: Value = serde_json::from_slice(&shown.stdout).expect("JSON");
    assert_eq!((&shown["status"], &shown["arguments"]), (&json!("cancelled"), &json!({"seconds": 600.0})));
    let folder = home.plugins();
    let status = run(&home, ["status".as_ref(), folder.as_os_str()]);
    let status = String::from_utf8_lossy(&status.stdout).into_owned();
    assert!(status.contains(&format!("2 tasks are kept: wharf tasks {}\n", folder.display())), "{status}");
}

#[test]
fn a_task_does_not_go_on_with_another_version_of_its_plugin() {
    let home = home(SOON);
    let mut client = client(&home);
    let id = task(&mut client, "confirm_delete", json!({"filename": "a"}));
    let asked = key(&until_status(&mut client, &id, "input_required"));
    home.remove("everything");
    let deadline = Instant::now() + PATIENCE;
    while !client.tools().is_empty() {
        assert!(Instant::now() < deadline, "the plugin is listed still");
    }
    answer(&mut client, &id, json!({asked: accept(json!({"confirm": true}))}));
    let failed = until_status(&mut client, &id, "failed");
    assert_eq!(failed["error"]["data"]["reason"], "task_tool_changed");
}

/// A plugin's tasks have permits of their own.
#[test]
fn calls_do_not_wait_for_tasks() {
    let home = home("[tasks]\nafter = '100ms'\nconcurrency = 2\n");
    let mut client = client(&home);
    let running: Vec<String> = (0..6).map(|_| task(&mut client, "slow_compute", json!({"seconds": 600.0}))).collect();
    let began = Instant::now();
    assert_eq!(first_text(&client.call("everything_greet", json!({"name": "Ada"}))), "Hello, Ada!");
    assert!(began.elapsed() < Duration::from_secs(30));
    for id in &running {
        client.result("tasks/cancel", json!({"taskId": id}));
    }
    let last = task(&mut client, "slow_compute", json!({"seconds": 0.5}));
    until_status(&mut client, &last, "completed");
}
