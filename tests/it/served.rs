//! MCP servers that are components behind an HTTP handler: what they offer is offered as a plugin's own.

mod asking;
mod faults;
mod sdk;

use serde_json::{Value, json};

use crate::support::client::{Client, first_text};
use crate::support::home::Home;
use crate::support::process::run;

/// The test server, for WASI 0.2 and 0.3.
const SERVERS: [&str; 2] = ["served", "served-async"];

/// A home with the test server in that mode.
fn home(mode: &str) -> Home {
    home_of(SERVERS[0], mode)
}

/// The same with one of [`SERVERS`], under the same name.
fn home_of(server: &str, mode: &str) -> Home {
    let home = Home::new();
    home.put(server, "served");
    configure(&home, mode, "");
    home
}

fn configure(home: &Home, mode: &str, more: &str) {
    home.configure(&format!("[plugins.served.grants]\nenv = {{ MODE = \"{mode}\" }}\n{more}"));
}

fn names(listed: &Value, list: &str, member: &str) -> Vec<String> {
    let entries = listed[list].as_array().unwrap_or_else(|| panic!("no {list} in {listed}"));
    entries.iter().map(|entry| entry[member].as_str().expect("a text").to_owned()).collect()
}

#[test]
fn servers_of_all_revisions_are_plugins() {
    let modes = ["", "stream", "root", "open", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
    for (server, mode) in SERVERS.into_iter().flat_map(|server| modes.map(|mode| (server, mode))) {
        let home = home_of(server, mode);
        let mut client = Client::start_modern(&home);
        let tools = client.result("tools/list", json!({}));
        let expected = [
            "served_add",
            "served_variable",
            "served_place",
            "served_contents",
            "served_meta",
            "served_ask",
            "served_fault",
        ];
        assert_eq!(names(&tools, "tools", "name"), expected, "{server} {mode}");
        let add = &tools["tools"][0];
        assert_eq!(
            (&add["title"], &add["annotations"]["readOnlyHint"]),
            (&json!("Adder"), &json!(true)),
            "{server} {mode}"
        );
        let added = client.call("served_add", json!({ "a": 2, "b": 3 }));
        assert_eq!(added["structuredContent"], json!({ "sum": 5 }), "{server} {mode}: {added}");
        let refused = client.call("served_add", json!({ "a": "2" }));
        assert_eq!(refused["_meta"]["wharf/fault"]["code"], "bad-input", "{server} {mode}: {refused}");
        assert_eq!(client.text("served_place", json!({ "region": "Zürich" })), "Zürich", "{server} {mode}");
        let prompts = client.result("prompts/list", json!({}));
        assert_eq!(names(&prompts, "prompts", "name"), ["served_greet"], "{server} {mode}");
        let greeted = client.result("prompts/get", json!({ "name": "served_greet", "arguments": { "who": "Ada" } }));
        assert_eq!(greeted["messages"][0]["content"]["text"], "Greet Ada.", "{server} {mode}");
        let resources = client.result("resources/list", json!({}));
        assert_eq!(names(&resources, "resources", "uri"), ["note://a"], "{server} {mode}");
        let read = |client: &mut Client, uri: &str| {
            client.result("resources/read", json!({ "uri": uri }))["contents"][0].clone()
        };
        assert_eq!(read(&mut client, "note://a")["text"], "of a file", "{server} {mode}");
        assert_eq!(read(&mut client, "item://bytes")["blob"], "AAEC", "{server} {mode}");
        client.error("resources/read", json!({ "uri": "item://none" }));
        let completed = client.result(
            "completion/complete",
            json!({ "ref": { "type": "ref/prompt", "name": "served_greet" }, "argument": { "name": "who", "value": "a" } }),
        );
        assert_eq!(completed["completion"]["values"], json!(["ax"]), "{server} {mode}");
    }
}

#[test]
fn servers_get_the_metadata_of_the_request() {
    let meta = json!({ "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "a.example/b": [1] });
    for mode in ["", "2025-11-25"] {
        let home = home(mode);
        let mut client = Client::start(&home);
        let call = json!({ "name": "served_meta", "arguments": {}, "_meta": meta });
        let said = first_text(&client.result("tools/call", call)).to_owned();
        let mut said: Value = serde_json::from_str(&said).expect("JSON");
        let own = said.as_object_mut().expect("an object");
        own.retain(|name, _| !name.starts_with("io.modelcontextprotocol/"));
        assert_eq!(said, meta, "{mode}");
        assert_eq!(client.text("served_meta", json!({})) == "null", mode == "2025-11-25", "{mode}");
    }
}

#[test]
fn contents_of_each_kind_are_passed_on() {
    let home = home("");
    let mut client = Client::start_modern(&home);
    let result = client.call("served_contents", json!({}));
    let kinds = names(&result, "content", "type");
    assert_eq!(kinds, ["text", "image", "resource_link", "resource"]);
    assert_eq!(result["content"][0]["annotations"], json!({ "audience": ["user"], "priority": 0.5 }));
    assert_eq!(
        (&result["content"][1]["data"], &result["content"][3]["resource"]["text"]),
        (&json!("AAEC"), &json!("b"))
    );
    // To older clients too.
    let mut client = Client::start(&home);
    assert_eq!(client.text("served_place", json!({ "region": "x" })), "x");
}

#[test]
fn secrets_are_redacted_and_grants_needed() {
    let home = home("");
    let more = "KEY = \"${key}\"";
    let secret = "a-secret-of-some-length";
    std::fs::write(home.path("config/wharf/key"), secret).expect("a secret");
    home.configure(&format!("[secrets]\nkey = {{ file = \"key\" }}\n[plugins.served.grants]\nenv = {{ {more} }}\n"));
    let mut client = Client::start_modern(&home);
    assert_eq!(client.text("served_variable", json!({ "name": "KEY" })), "[redacted key]");
    let requests = json!({ secret: { "method": "roots/list" } });
    let asked =
        client.call("served_ask", json!({ "result": { "resultType": "input_required", "inputRequests": requests } }));
    assert!(first_text(&asked).contains("a question whose key has a secret in it"), "{asked}");
    let missing = client.call("served_variable", json!({ "name": "OTHER" }));
    assert_eq!(missing["isError"], true);
    assert!(first_text(&missing).contains("environment variable not found"), "{missing}");
    assert!(!client.process().log().contains(secret), "{}", client.process().log());
}

#[test]
fn check_says_what_an_http_handler_is() {
    let home = home("");
    let check = || {
        let file = home.plugin("served");
        let output = run(&home, ["check".as_ref(), file.as_os_str()]);
        (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (loads, said) = check();
    assert!(loads && said.contains("  kind     HTTP server (wasi:http), served if it speaks MCP\n"), "{said}");
    assert!(said.contains("  tool     add"), "{said}");
    assert!(said.contains("  speaks   MCP 2026-07-28 at /mcp\n"), "{said}");
    configure(&home, "html", "");
    let file = home.plugin("served");
    let output = run(&home, ["call".as_ref(), file.as_os_str(), "add".as_ref()]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("find an MCP server in the HTTP handler") && said.contains("at /mcp or /"), "{said}");
}
