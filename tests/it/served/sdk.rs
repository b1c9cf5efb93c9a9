//! A server of the official Rust SDK, as a component.

use serde_json::json;

use crate::support::MODERN;
use crate::support::client::{Client, first_text};
use crate::support::home::Home;
use crate::support::process::Process;

#[test]
fn a_server_of_the_official_sdk_is_a_plugin() {
    let home = Home::with(&["rmcp-server"]);
    home.configure("[plugins.rmcp-server.grants]\nelicit = true\n");
    let able = json!({ "elicitation": { "form": {} } });
    let mut client = Client::with_capabilities(Process::serve(&home), MODERN, able.clone());
    assert_eq!(client.tools(), ["rmcp-server_count", "rmcp-server_fail", "rmcp-server_greet"]);
    let counted = client.call("rmcp-server_count", json!({ "text": "one two" }));
    assert_eq!(counted["structuredContent"], json!({ "words": 2, "characters": 7 }), "{counted}");
    let failed = client.call("rmcp-server_fail", json!({}));
    assert_eq!((&failed["isError"], first_text(&failed)), (&json!(true), "this tool always fails"));
    let prompt = json!({ "name": "rmcp-server_summary", "arguments": { "text": "long" } });
    let prompted = client.result("prompts/get", prompt);
    assert_eq!(prompted["messages"][0]["content"]["text"], "Summarize this in one sentence:\n\nlong");
    let read = client.result("resources/read", json!({ "uri": "about://rmcp" }));
    assert_eq!(read["contents"][0]["mimeType"], "text/plain", "{read}");
    client.error("resources/read", json!({ "uri": "about://none" }));
    let mut call = json!({ "name": "rmcp-server_greet", "arguments": {} });
    let asked = client.result("tools/call", call.clone());
    assert_eq!(asked["inputRequests"]["name"]["params"]["message"], "Who are you?", "{asked}");
    call["requestState"] = asked["requestState"].clone();
    call["inputResponses"] = json!({ "name": { "action": "accept", "content": { "name": "Ada" } } });
    assert_eq!(first_text(&client.result("tools/call", call)), "Hello, Ada!");
    // A client that is older than the server's revision.
    let mut client = Client::with_capabilities(Process::serve(&home), "2025-06-18", able);
    let id = client.post("tools/call", json!({ "name": "rmcp-server_greet" }));
    let question = client.notification("elicitation/create");
    client.reply(&question, json!({ "action": "decline" }));
    assert_eq!(first_text(&client.answer(id)["result"]), "Hello, whoever you are!");
}
