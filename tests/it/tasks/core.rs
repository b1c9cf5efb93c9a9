//! Tasks of 2025-11-25, which the client asks for.

use super::*;

const REVISION: &str = "2025-11-25";
const RELATED: &str = "io.modelcontextprotocol/related-task";

fn client(home: &Home) -> Client {
    Client::with_capabilities(Process::serve(home), REVISION, json!({"elicitation": {}}))
}

fn task(client: &mut Client, tool: &str, arguments: Value) -> String {
    let params = json!({"name": format!("everything_{tool}"), "arguments": arguments, "task": {"ttl": 3_600_000}});
    let made = client.result("tools/call", params);
    assert_eq!((&made["task"]["status"], &made["task"]["ttl"]), (&json!("working"), &json!(3_600_000)), "{made}");
    made["task"]["taskId"].as_str().expect("an id").to_owned()
}

fn get(client: &mut Client, id: &str) -> Value {
    client.result("tasks/get", json!({"taskId": id}))
}

#[test]
fn a_call_is_a_task_if_the_client_says_so() {
    let home = home("");
    let mut client = client(&home);
    let listed = client.tool_entries();
    let support = |name: &str| {
        let tool = listed.iter().find(|tool| tool["name"] == name).expect("listed");
        tool["execution"]["taskSupport"].as_str().map(str::to_owned)
    };
    assert_eq!(support("everything_slow_compute").as_deref(), Some("optional"));
    assert_eq!(support("everything_failing_job").as_deref(), Some("required"));
    assert_eq!(support("everything_greet"), None);
    let id = task(&mut client, "slow_compute", json!({"seconds": 0.2, "label": "it"}));
    assert!(
        client.result("tasks/list", json!({}))["tasks"]
            .as_array()
            .expect("an array")
            .iter()
            .any(|task| task["taskId"] == id)
    );
    let result = client.result("tasks/result", json!({"taskId": id}));
    assert_eq!((first_text(&result), &result["_meta"][RELATED]), ("it is done", &json!({"taskId": id})));
    let done = get(&mut client, &id);
    assert_eq!((&done["status"], done.get("result")), (&json!("completed"), None));
    let failing = task(&mut client, "failing_job", json!({}));
    assert_eq!(client.result("tasks/result", json!({"taskId": failing}))["isError"], true);
    assert_eq!(get(&mut client, &failing)["status"], "failed");
    // Where it does not say so, it waits.
    assert_eq!(first_text(&client.call("everything_slow_compute", json!({"seconds": 0.1}))), "It is done");
    for (tool, params) in [("greet", json!({"task": {}})), ("failing_job", json!({}))] {
        let mut call = json!({"name": format!("everything_{tool}"), "arguments": {"name": "x"}});
        call.as_object_mut().expect("an object").extend(params.as_object().expect("an object").clone());
        assert_eq!(client.error("tools/call", call)["code"], -32601, "{tool}");
    }
}

#[test]
fn questions_come_while_the_client_waits_for_the_result() {
    let home = home("");
    let mut client = client(&home);
    let id = task(&mut client, "confirm_delete", json!({"filename": "a"}));
    let waits = client.post("tasks/result", json!({"taskId": id}));
    let asked = client.notification("elicitation/create");
    assert_eq!(asked["params"]["_meta"][RELATED], json!({"taskId": id}));
    assert_eq!(get(&mut client, &id)["status"], "input_required");
    client.reply(&asked, accept(json!({"confirm": true})));
    assert_eq!(first_text(&client.answer(waits)["result"]), "a: deleted");
}

#[test]
fn a_cancelled_task_stays_cancelled() {
    let home = home("");
    let mut client = client(&home);
    let id = task(&mut client, "slow_compute", json!({"seconds": 600.0}));
    let waits = client.post("tasks/result", json!({"taskId": id}));
    let cancelled = client.result("tasks/cancel", json!({"taskId": id}));
    assert_eq!(cancelled["status"], "cancelled");
    assert!(client.answer(waits).get("error").is_some());
    assert_eq!(client.error("tasks/cancel", json!({"taskId": id}))["code"], -32602);
    assert_eq!(get(&mut client, &id)["status"], "cancelled");
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        assert_eq!(client.error(method, json!({"taskId": "x"}))["code"], -32602);
    }
    assert_eq!(client.error("tasks/list", json!({"cursor": "x"}))["code"], -32602);
    assert_eq!(client.error("tasks/update", json!({"taskId": id}))["code"], -32601);
}

/// What one flow makes, the other reads.
#[test]
fn both_revisions_see_the_same_tasks() {
    let home = home(SOON);
    let (mut old, mut new) = (client(&home), super::client(&home));
    let id = super::task(&mut new, "slow_compute", json!({"seconds": 600.0}));
    assert_eq!(get(&mut old, &id)["status"], "working");
    let id = task(&mut old, "slow_compute", json!({"seconds": 600.0}));
    assert_eq!(super::get(&mut new, &id)["status"], "working");
}
