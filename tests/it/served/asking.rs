//! Servers that ask: their questions reach the client of any revision, and its answers reach them.

use serde_json::{Value, json};

use super::{configure, home};
use crate::support::MODERN;
use crate::support::client::{Client, first_text};
use crate::support::home::Home;
use crate::support::process::Process;

const ALL: &str = "elicit = true\nsample = true\nroots = true\n";
const STATE: &str = "a state: é";

fn granted(mode: &str, grants: &str) -> Home {
    let home = home(mode);
    configure(&home, mode, grants);
    home
}

fn able() -> Value {
    json!({ "roots": {}, "sampling": {}, "elicitation": { "form": {}, "url": {} } })
}

fn connect(home: &Home, revision: &str) -> Client<Process> {
    Client::with_capabilities(Process::serve(home), revision, able())
}

/// What the server was told, as it says it.
fn told(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

fn answers() -> Value {
    json!({
        "form": { "action": "accept", "content": { "name": "Ada" } },
        "visit": { "action": "decline" },
        "model": { "role": "assistant", "model": "m", "content": { "type": "text", "text": "Hello." }, "stopReason": "endTurn" },
        "roots": { "roots": [{ "uri": "file:///a", "name": "a" }] },
    })
}

#[test]
fn questions_and_answers_of_each_kind_are_passed_on() {
    let home = granted("", ALL);
    let mut client = connect(&home, MODERN);
    let call = json!({ "name": "served_ask", "arguments": { "what": "all" } });
    let asked = client.result("tools/call", call.clone());
    let asked_of = |key: &str| asked["inputRequests"][key].clone();
    assert_eq!(asked_of("form")["params"]["requestedSchema"]["properties"]["name"]["type"], "string", "{asked}");
    assert_eq!(asked_of("visit")["params"]["url"], "https://pay.example/");
    assert_eq!(asked_of("model")["params"]["messages"][0]["content"]["text"], "Hi.");
    assert_eq!(asked_of("roots"), json!({ "method": "roots/list" }));
    let mut again = call;
    again["requestState"] = asked["requestState"].clone();
    again["inputResponses"] = answers();
    let said = told(first_text(&client.result("tools/call", again)));
    assert_eq!(said, json!({ "answers": answers(), "state": STATE, "client": able() }));
}

#[test]
fn prompts_and_resources_ask_too() {
    let home = granted("", ALL);
    let mut client = connect(&home, MODERN);
    let requests = [
        ("prompts/get", json!({ "name": "served_greet", "arguments": { "who": "ask" } }), "/messages/0/content/text"),
        ("resources/read", json!({ "uri": "item://ask" }), "/contents/0/text"),
    ];
    for (method, mut params, text) in requests {
        let asked = client.result(method, params.clone());
        params["requestState"] = asked["requestState"].clone();
        params["inputResponses"] = json!({ "form": { "action": "cancel" } });
        let result = client.result(method, params);
        let said = told(result.pointer(text).and_then(Value::as_str).expect("a text"));
        assert_eq!(said["answers"], json!({ "form": { "action": "cancel" } }), "{method}");
    }
}

/// A client with a session is sent requests, though the server knows none.
#[test]
fn clients_of_older_revisions_are_asked() {
    let home = granted("", ALL);
    let mut client = connect(&home, "2025-11-25");
    let id = client.post("tools/call", json!({ "name": "served_ask", "arguments": { "what": "all" } }));
    for (method, key) in [("elicitation/create", "form"), ("sampling/createMessage", "model"), ("roots/list", "roots")]
    {
        let question = client.notification(method);
        client.reply(&question, answers()[key].clone());
    }
    let visit = client.notification("elicitation/create");
    assert_eq!(visit["params"]["mode"], "url");
    client.reply(&visit, answers()["visit"].clone());
    let said = told(first_text(&client.answer(id)["result"]));
    assert_eq!((&said["answers"], &said["state"]), (&answers(), &json!(STATE)));
}

#[test]
fn a_state_alone_is_another_round() {
    let home = granted("", "");
    let mut client = connect(&home, MODERN);
    let call = json!({ "name": "served_ask", "arguments": { "what": "state" } });
    let asked = client.result("tools/call", call.clone());
    assert_eq!(asked["inputRequests"], Value::Null, "{asked}");
    let mut again = call;
    again["requestState"] = asked["requestState"].clone();
    let said = told(first_text(&client.result("tools/call", again)));
    assert_eq!(said, json!({ "answers": null, "state": STATE, "client": {} }));
}

/// Nobody can be asked what was not granted, or more often than any plugin asks.
#[test]
fn questions_are_within_grants_and_limits() {
    let home = granted("", "");
    let mut client = connect(&home, MODERN);
    let said = told(&client.text("served_ask", json!({ "what": "form" })));
    assert_eq!(said, json!({ "answers": {}, "state": STATE, "client": {} }));
    // It asks again, and cannot do without.
    let denied = client.call("served_ask", json!({ "what": "again" }));
    assert_eq!(denied["_meta"]["wharf/fault"]["code"], "denied", "{denied}");
    assert!(first_text(&denied).contains("roots"), "{denied}");
    let odd = client.call("served_ask", json!({ "what": "odd" }));
    assert!(first_text(&odd).contains("the question 'odd' with the unknown method 'tools/list'"), "{odd}");
    // A server with a handshake would send requests, for which its instance is not there.
    let home = granted("2025-11-25", ALL);
    let mut client = connect(&home, MODERN);
    let asked = client.call("served_ask", json!({ "what": "form" }));
    assert!(first_text(&asked).contains("a question, as only servers of 2026-07-28 ask"), "{asked}");
}

/// A server that heeds what its client can do does not ask: then the grant is what is missing, not the client.
#[test]
fn a_server_that_needs_a_capability_is_told_of_the_grant() {
    let home = granted("", "");
    let mut client = connect(&home, MODERN);
    let denied = client.call("served_ask", json!({ "what": "if-possible" }));
    assert_eq!(denied["_meta"]["wharf/fault"]["code"], "denied", "{denied}");
    assert!(client.process().log_with("missing grant `elicit`").contains("wharf grant served elicit"));
    // With the grant it is the client that cannot be asked.
    let home = granted("", ALL);
    let mut client = Client::start_modern(&home);
    let refused = client.call("served_ask", json!({ "what": "if-possible" }));
    assert_eq!(first_text(&refused), "the client cannot be asked");
    assert_eq!(refused["_meta"]["wharf/fault"], Value::Null, "{refused}");
}

#[test]
fn questions_that_no_client_may_get_are_the_servers_faults() {
    let home = granted("", ALL);
    let visit = |url: &str| {
        json!({ "q": { "method": "elicitation/create",
        "params": { "mode": "url", "message": "m", "url": url } } })
    };
    let form = |schema: Value| json!({ "method": "elicitation/create", "params": { "message": "m", "requestedSchema": schema } });
    let large: serde_json::Map<String, Value> = (0..32)
        .map(|n| {
            let title = "x".repeat(40_000);
            let of = json!({ "type": "object", "properties": { "a": { "type": "string", "title": title } } });
            (format!("q{n}"), form(of))
        })
        .collect();
    let roots = json!({ "method": "roots/list" });
    for (requests, why) in [
        (json!({ "k".repeat(257): roots }), "a key of more than 256 bytes"),
        (json!({ format!("wharf/{}", "k".repeat(200)): roots }), "a question with a key of the host: wharf/kkk"),
        (visit("https://bank.example@evil.example/"), "a user's name before the host"),
        (visit("https://a.example:99999/"), "whose URL is not a valid URL of https"),
        (visit("https://a.example/ b"), "whose URL is not a valid URL of https"),
        (visit("http://a.example/"), "whose URL is not https"),
        (large.into(), "too large together"),
    ] {
        let result = json!({ "resultType": "input_required", "inputRequests": requests });
        // A server of its own: one that saw all of them would disable the plugin for a while.
        let mut client = connect(&home, MODERN);
        let asked = client.call("served_ask", json!({ "result": result }));
        assert_eq!(asked["_meta"]["wharf/fault"]["code"], "bad-output", "{asked}");
        let text = first_text(&asked);
        assert!(text.contains(why) && text.len() < 1000, "{why}: {text}");
    }
}

/// What the host asked itself is none of a plugin's business, with and without a state.
#[test]
fn answers_to_the_host_are_not_passed_on() {
    let home = granted("", ALL);
    let mut client = connect(&home, MODERN);
    let given = json!({ "wharf/approval": { "action": "accept", "content": {} }, "form": { "action": "decline" } });
    let call = json!({ "name": "served_ask", "arguments": { "what": "form" }, "inputResponses": given });
    let said = told(first_text(&client.result("tools/call", call)));
    assert_eq!(said["answers"], json!({ "form": { "action": "decline" } }));
}
