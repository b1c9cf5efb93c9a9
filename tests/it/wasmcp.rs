//! Components for wasmcp are served like plugins for this host.

use serde_json::json;

use crate::support::client::Client;
use crate::support::home::Home;

fn client() -> (Home, Client) {
    let home = Home::with(&["wasmcp"]);
    let client = Client::start_modern(&home);
    (home, client)
}

#[test]
fn lists_of_a_wasmcp_component_are_complete() {
    let (_home, mut client) = client();
    let names = ["echo", "content", "fail", "refuse", "unknown", "context", "flush", "auth"];
    let mut expected: Vec<String> = names.iter().map(|name| format!("wasmcp_{name}")).collect();
    expected.sort();
    let listed = client.result("tools/list", json!({}));
    let mut tools: Vec<&str> =
        listed["tools"].as_array().expect("a list").iter().map(|tool| tool["name"].as_str().expect("a name")).collect();
    tools.sort_unstable();
    assert_eq!(tools, expected);
    let echo = listed["tools"].as_array().expect("a list").iter().find(|tool| tool["name"] == "wasmcp_echo");
    let echo = echo.expect("the tool");
    assert_eq!((&echo["title"], &echo["description"]), (&json!("Echo"), &json!("Says what it was given.")));
    assert_eq!(echo["annotations"]["readOnlyHint"], true);
    assert_eq!(echo["outputSchema"], json!({ "type": "object" }));
    assert_eq!(echo["_meta"]["example.org/x"], 1);
    let resources = client.result("resources/list", json!({}));
    assert_eq!(resources["resources"][0]["uri"], "wasmcp://one");
    let templates = client.result("resources/templates/list", json!({}));
    assert_eq!(templates["resourceTemplates"][0]["uriTemplate"], "wasmcp://item/{id}");
    let prompts = client.result("prompts/list", json!({}));
    assert_eq!(prompts["prompts"][0]["name"], "wasmcp_ask");
    assert_eq!(prompts["prompts"][0]["arguments"], json!([{ "name": "topic", "required": true }]));
}

#[test]
fn tools_of_a_wasmcp_component_return_every_kind_of_content() {
    let (_home, mut client) = client();
    let echoed = client.call("wasmcp_echo", json!({ "a": [1, 2.50], "b": "é" }));
    assert_eq!(echoed["structuredContent"], json!({ "a": [1, 2.50], "b": "é" }));
    assert_eq!(echoed["content"], json!([{ "type": "text", "text": "echoed" }]));
    let content = client.call("wasmcp_content", json!({}))["content"].clone();
    assert_eq!(
        content,
        json!([
            { "type": "image", "data": "AQID", "mimeType": "image/png", "annotations": { "audience": ["user"], "priority": 0.5 } },
            { "type": "audio", "data": "AQID", "mimeType": "audio/wav" },
            { "type": "resource_link", "uri": "wasmcp://one", "name": "one" },
            { "type": "resource", "resource": { "uri": "wasmcp://one", "mimeType": "text/plain", "text": "the page" } },
        ])
    );
    let context = client.text("wasmcp_context", json!({}));
    assert_eq!(context, "2025-11-25 false false false false");
    let flushed = client.text("wasmcp_flush", json!({}));
    assert_eq!(flushed, "plugins cannot write to the client: return the content instead");
}

#[test]
fn functions_for_transports_and_middleware_do_nothing() {
    let (_home, mut client) = client();
    assert_eq!(client.text("wasmcp_auth", json!({})), "true false false");
}

#[test]
fn failures_of_a_wasmcp_component_are_reported_as_for_any_plugin() {
    let (_home, mut client) = client();
    for (tool, text) in [("wasmcp_fail", "it failed"), ("wasmcp_refuse", "it refused")] {
        let failed = client.call(tool, json!({}));
        assert_eq!((&failed["isError"], &failed["content"][0]["text"]), (&json!(true), &json!(text)));
    }
    // Listed, but unknown when called.
    let unknown = client.text("wasmcp_unknown", json!({}));
    assert_eq!(unknown, "Plugin 'wasmcp' lists the tool 'wasmcp_unknown' but does not know it.");
    client.error("resources/read", json!({ "uri": "wasmcp://item/none" }));
}

#[test]
fn resources_prompts_and_completions_of_a_wasmcp_component_work() {
    let (_home, mut client) = client();
    let page = client.result("resources/read", json!({ "uri": "wasmcp://one" }));
    assert_eq!(page["contents"], json!([{ "uri": "wasmcp://one", "mimeType": "text/plain", "text": "the page" }]));
    let bytes = client.result("resources/read", json!({ "uri": "wasmcp://item/bytes" }));
    assert_eq!(bytes["contents"], json!([{ "uri": "wasmcp://item/bytes", "blob": "AP8=" }]));
    let prompt = client.result("prompts/get", json!({ "name": "wasmcp_ask", "arguments": { "topic": "\"tea\"" } }));
    assert_eq!(prompt["description"], "ask");
    let message = json!({ "role": "assistant", "content": { "type": "text", "text": r#"{"topic":"\"tea\""}"# } });
    assert_eq!(prompt["messages"], json!([message]));
    let of_prompt = client.result(
        "completion/complete",
        json!({
            "ref": { "type": "ref/prompt", "name": "wasmcp_ask" },
            "argument": { "name": "topic", "value": "te" },
            "context": { "arguments": { "other": "x" } },
        }),
    );
    let completion = json!({ "values": ["ask", "topic", "te!", r#"{"other":"x"}"#], "total": 7, "hasMore": true });
    assert_eq!(of_prompt["completion"], completion);
    let of_template = client.result(
        "completion/complete",
        json!({
            "ref": { "type": "ref/resource", "uri": "wasmcp://item/{id}" },
            "argument": { "name": "id", "value": "" },
        }),
    );
    assert_eq!(of_template["completion"]["values"], json!(["wasmcp://item/{id}", "id", "!", "{}"]));
}
