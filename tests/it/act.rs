//! Components of ACT (`act:tools/tool-provider`).

use serde_json::{Value, json};

use crate::support::client::{Client, first_text};
use crate::support::home::Home;
use crate::support::process::{Process, run};

fn serve(settings: &str) -> (Home, Client<Process>) {
    let home = Home::with(&["act"]);
    home.configure(settings);
    let client = Client::start_modern(&home);
    (home, client)
}

#[test]
fn its_tools_are_tools() {
    let (_home, mut client) = serve("");
    let tools = client.tool_entries();
    let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(names, ["act_echo", "act_kinds", "act_count", "act_fails", "act_traced"]);
    assert_eq!(tools[0]["description"], "Does echo.");
    assert_eq!(tools[0]["annotations"], json!({"readOnlyHint": true, "idempotentHint": true}));
    assert_eq!(tools[3]["annotations"]["destructiveHint"], true);
    let given = json!({"b": [1, -2, 1.5, null], "a": "é", "deep": {"yes": true}});
    let echoed: Value = serde_json::from_str(&client.text("act_echo", given.clone())).expect("JSON");
    assert_eq!(echoed, given);
    let refused = client.call("act_count", json!({"to": "two"}));
    assert_eq!(refused["_meta"]["wharf/fault"]["code"], "bad-input", "{refused}");
}

#[test]
fn contents_are_of_their_kinds() {
    let (_home, mut client) = serve("");
    let result = client.call("act_kinds", json!({}));
    assert_eq!(
        result["content"],
        json!([
            {"type": "text", "text": "# A title"},
            {"type": "image", "data": "AAEC", "mimeType": "image/png"},
            {"type": "text", "text": "[1]"},
            {"type": "text", "text": "AAEC"},
        ])
    );
}

#[test]
fn streams_are_collected() {
    let (_home, mut client) = serve("");
    let call = json!({"name": "act_count", "arguments": {"to": 3}, "_meta": {"progressToken": "p"}});
    let id = client.post("tools/call", call);
    let mut seen = Vec::new();
    while seen.len() < 3 {
        let progress = client.notification("notifications/progress");
        seen.push(progress["params"]["progress"].as_f64().expect("a number"));
    }
    assert_eq!(seen, [1.0, 2.0, 3.0]);
    let answer = client.answer(id);
    let texts: Vec<&str> = answer["result"]["content"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|part| part["text"].as_str())
        .collect();
    assert_eq!(texts, ["1", "2", "3"]);
}

#[test]
fn errors_are_for_the_model() {
    let (_home, mut client) = serve("");
    let fails = |client: &mut Client<Process>, how: &str| client.call("act_fails", json!({"how": how}));
    let own = fails(&mut client, "own");
    assert_eq!((&own["isError"], first_text(&own)), (&json!(true), "as it was told to"));
    let late = fails(&mut client, "late");
    assert_eq!((&late["isError"], &late["content"][2]["text"]), (&json!(true), &json!("too slow")), "{late}");
    assert!(first_text(&fails(&mut client, "arguments")).contains("not these"));
    for (how, code) in [("after", "bad-output"), ("cbor", "bad-output"), ("text", "bad-output"), ("crash", "trap")] {
        let failed = fails(&mut client, how);
        assert_eq!(failed["_meta"]["wharf/fault"]["code"], code, "{how}: {failed}");
    }
}

#[test]
fn results_are_limited() {
    let (_home, mut client) = serve("[plugins.act.limits]\noutput = \"64 KiB\"\ntimeout = \"20s\"\n");
    let failed = client.call("act_count", json!({"to": 1_000_000}));
    assert_eq!(failed["_meta"]["wharf/fault"]["code"], "output-too-large", "{failed}");
    let failed = client.call("act_fails", json!({"how": "nulls"}));
    assert_eq!(failed["_meta"]["wharf/fault"]["code"], "output-too-large", "{failed}");
}

#[test]
fn the_trace_context_is_passed_on() {
    let (_home, mut client) = serve("");
    let traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let call = json!({"name": "act_traced", "arguments": {}, "_meta": {"traceparent": traceparent}});
    assert!(
        first_text(&client.result("tools/call", call))
            .starts_with("std:traceparent=00-0af7651916cd43dd8448eb211c80319c-")
    );
}

#[test]
fn a_component_without_a_list_is_refused_with_a_reason() {
    let home = Home::with(&["act"]);
    let file = home.plugin("act");
    for (mode, why) in [("refusing", "no tools today"), ("hanging", "within its time limit")] {
        home.configure(&format!("[plugins.act.grants]\nenv = {{ MODE = \"{mode}\" }}\n"));
        let called = run(&home, ["call".as_ref(), file.as_os_str(), "echo".as_ref()]);
        let said = String::from_utf8_lossy(&called.stderr);
        assert!(said.contains(why), "{mode}: {said}");
    }
    // Of a list with a wrong schema the other tools are served.
    home.configure("[plugins.act.grants]\nenv = { MODE = \"no-schema\" }\n");
    let called = |tool: &str| run(&home, ["call".as_ref(), file.as_os_str(), tool.as_ref()]).status.success();
    assert!(called("traced") && !called("echo"));
    let check = run(&home, ["check".as_ref(), file.as_os_str()]);
    let said = String::from_utf8_lossy(&check.stdout);
    assert!(check.status.success() && said.contains("  kind     ACT component (act:tools)\n"), "{said}");
}
