//! What the page lets a person do: as a local client, after a question, and with records that say where it was done.

use super::*;
use crate::support::client::first_text;

/// What the page sends to a plugin.
fn message(method: &str, params: &Value) -> Value {
    let mut params = params.clone();
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

fn call(page: &Page, tool: &str) -> Value {
    let (status, answer) = page.post("/api/mcp", &message("tools/call", &json!({"name": tool, "arguments": {}})));
    assert_eq!(status, 200, "{answer}");
    answer
}

fn tool(page: &Page, name: &str) -> Value {
    let (status, tool) = page.post("/api/tool", &json!({"tool": name}));
    assert_eq!(status, 200, "{tool}");
    tool
}

/// The records of the audit log of that kind.
fn records(home: &Home, event: &str) -> Vec<Value> {
    let shown = run(home, ["audit", "show", "--json", "--event", event]);
    let text = String::from_utf8_lossy(&shown.stdout).into_owned();
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn a_tool_that_says_nothing_may_destroy_something() {
    let home = home();
    home.put("notes", "notes");
    let (client, page) = start(&home);
    page.plugin_when("one", |own| own["state"] == "runs");
    page.plugin_when("notes", |own| own["state"] == "runs");
    let said = |name: &str| {
        let tool = tool(&page, name);
        (tool["destructive"].as_bool(), tool["declared"].as_bool())
    };
    assert_eq!(said("one_version"), (Some(true), Some(false)), "it says nothing");
    assert_eq!(said("notes_add"), (Some(false), Some(true)));
    assert_eq!(said("notes_delete"), (Some(true), Some(true)));
    assert_eq!(said("notes_list").0, Some(false), "it only reads");
    client.finish();
}

#[test]
fn what_local_clients_may_not_use_is_listed_as_denied() {
    let home = home();
    home.put("notes", "notes");
    home.configure(
        "[rights]\ndefault = 'everything'\n[[rights.rules]]\nname = 'no deletion'\ndeny = true\ntools = ['notes/delete']\n",
    );
    let (client, page) = start(&home);
    page.plugin_when("notes", |own| own["state"] == "runs");
    let denied = |kind: &str, name: &str| {
        let (_, detail) = page.post("/api/plugin", &json!({"plugin": "notes"}));
        let all = detail["offers"][kind]["entries"].as_array().expect("a list").clone();
        all.into_iter().find(|entry| entry["name"] == name).expect("it is listed")["denied"].clone()
    };
    assert_eq!(denied("tools", "notes_delete"), "by the rule no deletion");
    assert_eq!(tool(&page, "notes_delete")["denied"], "by the rule no deletion");
    assert_eq!((denied("tools", "notes_add"), &tool(&page, "notes_add")["denied"]), (Value::Null, &Value::Null));
    assert!(call(&page, "notes_delete")["error"].is_object(), "and it is");
    // The rights in force, at any time.
    home.configure("[rights]\ndefault = 'nothing'\n");
    let deadline = std::time::Instant::now() + TIMEOUT;
    while denied("tools", "notes_add") != "no rule allows it" {
        assert!(std::time::Instant::now() < deadline);
    }
    assert_eq!(denied("tools", "notes_delete"), "no rule allows it");
    client.finish();
}

#[test]
fn records_say_what_was_done_through_the_page() {
    let home = home();
    let (mut client, page) = start(&home);
    let own = page.plugin_when("one", |own| own["state"] == "runs");
    client.call("one_version", json!({}));
    call(&page, "one_version");
    assert_eq!(page.post("/api/revoke", &json!({"plugin": "one", "content": own["content"]})).0, 200);
    page.plugin_when("one", |own| own["state"] == "held");
    let (_, shown) = page.post("/api/review", &json!({"plugin": "one"}));
    let approval =
        json!({"plugin": "one", "content": shown["content"], "terms": shown["terms"], "surface": shown["surface"]});
    let (status, answer) = page.post("/api/approve", &approval);
    assert_eq!(status, 200, "{answer}");
    client.finish();
    let via = |event: &str| records(&home, event).iter().map(|record| record["via"].clone()).collect::<Vec<_>>();
    assert_eq!(via("call"), [Value::Null, json!("page")]);
    assert_eq!((via("revoke"), via("approve")), (vec![json!("page")], vec![json!("page")]));
    let found = run(&home, ["audit", "show", "--via", "page"]);
    let found = String::from_utf8_lossy(&found.stdout).into_owned();
    assert_eq!(found.matches("on the page").count(), 3, "{found}");
}

#[test]
fn a_call_that_waits_is_decided_as_it_was_shown() {
    let home = home();
    home.configure("[rights]\nask-destructive = 'always'\napprover = 'operator'\n");
    let (mut client, page) = start(&home);
    page.plugin_when("one", |own| own["state"] == "runs");
    assert_eq!(page.get("/api/approvals"), json!({"calls": []}));
    let waiting = |client: &mut Client| {
        let result = client.call("one_version", json!({"a": 1}));
        assert_eq!(result["_meta"]["wharf/fault"]["code"], "approval-required", "{result}");
        let calls = page.get("/api/approvals")["calls"].as_array().expect("a list").clone();
        calls.into_iter().find(|call| call["state"] == "waits").expect("it waits")
    };
    let decide = |shown: &Value, allow: bool| {
        page.post("/api/decide", &json!({"id": shown["id"], "terms": shown["terms"], "allow": allow}))
    };
    let shown = waiting(&mut client);
    assert_eq!(
        (&shown["tool"], &shown["arguments"], &shown["once"]),
        (&json!("version"), &json!("{\"a\":1}"), &json!(true))
    );
    let listed: Value = serde_json::from_slice(&run(&home, ["approvals", "--json"]).stdout).expect("JSON");
    assert_eq!(listed[0]["id"], shown["id"], "{listed}");
    // What was never shown, and one that was decided meanwhile.
    let mut other = shown.clone();
    other["terms"] = json!("0".repeat(64));
    assert_eq!(decide(&other, true).0, 409);
    let id = shown["id"].as_str().expect("an id");
    assert!(run(&home, ["approvals", "deny", id]).status.success());
    let (status, refused) = decide(&shown, true);
    assert_eq!(status, 409, "{refused}");
    assert_eq!(client.call("one_version", json!({"a": 1}))["_meta"]["wharf/fault"]["code"], "declined");
    // As it is now, it may be decided again.
    let now = page.get("/api/approvals")["calls"][0].clone();
    assert_eq!((&now["state"], &now["by"]), (&json!("denied"), &json!("operator")));
    let (status, done) = decide(&now, true);
    assert_eq!((status, &done["state"]), (200, &json!("allowed")), "{done}");
    assert_eq!(first_text(&client.call("one_version", json!({"a": 1}))), "one");
    let again = waiting(&mut client);
    assert_ne!(again["id"], shown["id"], "it was for one call");
    assert_eq!(decide(&again, false).0, 200);
    assert_eq!(decide(&again, false).0, 409, "it is another decision now");
    client.finish();
    let decided = records(&home, "decide");
    let by: Vec<_> = decided.iter().map(|record| (record["code"].as_str(), record["via"].as_str())).collect();
    assert_eq!(by, [(Some("denied"), None), (Some("allowed"), Some("page")), (Some("denied"), Some("page"))]);
}

#[test]
fn nothing_is_decided_that_cannot_be_recorded() {
    let home = home();
    home.configure("[audit]\nenabled = true\n[page]\naddress = '127.0.0.1:0'\n");
    // Warms the caches, so that only the log is written from here on.
    Client::start(&home).tools();
    let mut client = Client::initialized(Process::serve_after(&home, "ulimit -f 1024"), "2025-11-25");
    let page = Page::of(client.process());
    let own = page.plugin_when("one", |own| own["state"] == "runs");
    let full = (0..5000).any(|_| {
        let id = client.post("tools/call", json!({"name": "one_version", "arguments": {"a": "x".repeat(200)}}));
        client.answer(id).get("error").is_some()
    });
    assert!(full, "the log is full after fewer calls");
    let (status, refused) = page.post("/api/revoke", &json!({"plugin": "one", "content": own["content"]}));
    assert_eq!((status, &refused["error"]), (422, &json!("write to the audit log")), "{refused}");
    let (_, detail) = page.post("/api/plugin", &json!({"plugin": "one"}));
    assert_eq!(detail["pin"]["revoked"], false, "{detail}");
    let known = json!({"id": "none", "terms": "", "allow": true});
    assert_eq!(page.post("/api/decide", &known).1["error"], "write to the audit log");
    client.finish();
}

#[test]
fn a_version_that_is_not_pinned_is_revoked_too() {
    let home = home();
    home.configure("[server]\ntrust = 'dev'\n");
    let (mut client, page) = start(&home);
    let own = page.plugin_when("one", |own| own["state"] == "runs");
    let detail = |name: &str| page.post("/api/plugin", &json!({"plugin": name})).1;
    let shown = detail("one");
    assert_eq!((&shown["pin"], &shown["revocable"]), (&Value::Null, &own["content"]), "{shown}");
    assert_eq!(page.post("/api/revoke", &json!({"plugin": "one", "content": shown["revocable"]})).0, 200);
    page.plugin_when("one", |own| own["state"] == "held");
    assert!(client.tools_until(<[String]>::is_empty).is_empty());
    assert_eq!(detail("one")["revocable"], Value::Null);
    client.finish();
    // Nor one that never ran.
    home.configure("[server]\ntrust = 'strict'\n");
    home.put_bytes(&Guest::returning("new").build(), "new");
    let (client, page) = start(&home);
    let held = page.plugin_when("new", |own| own["state"] == "held");
    let (_, shown) = page.post("/api/plugin", &json!({"plugin": "new"}));
    assert_eq!(shown["revocable"], held["content"], "{shown}");
    assert_eq!(page.post("/api/revoke", &json!({"plugin": "new", "content": shown["revocable"]})).0, 200);
    let (_, shown) = page.post("/api/plugin", &json!({"plugin": "new"}));
    assert_eq!(shown["revocable"], Value::Null, "{shown}");
    let (_, shown) = page.post("/api/review", &json!({"plugin": "new"}));
    assert_eq!(shown["revoked"], true, "{shown}");
    client.finish();
}
