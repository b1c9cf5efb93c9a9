//! `ask` in `[rights]`: a person decides before a tool runs, in each revision and over each transport.

mod attacks;
mod operator;
mod sse;

use std::process::Output;
use std::time::Instant;

use serde_json::{Value, json};

use crate::support::client::{Client, first_text};
use crate::support::guest::Guest;
use crate::support::home::Home;
use crate::support::http::serve;
use crate::support::process::{Process, run};
use crate::support::streamable::Streamable;
use crate::support::wire::Wire;
use crate::support::{MODERN, TIMEOUT};

const KEY: &str = "wharf/approval";
/// With the handshake, and questions to users.
const ASKING: [&str; 2] = ["2025-06-18", "2025-11-25"];
const ALL: [&str; 5] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", MODERN];
const ALWAYS: &str = "[rights]\nask-destructive = 'always'\n";

/// The plugin `asker`, whose tool `version` returns that.
fn home(answer: &str, rights: &str) -> Home {
    let home = Home::new();
    home.put_bytes(&Guest::returning(answer).build(), "asker");
    configure(&home, rights);
    home
}

fn configure(home: &Home, rights: &str) {
    home.configure(&format!("[server]\ntrust = 'dev'\n[server.http]\nsse = true\n{rights}"));
}

fn elicits() -> Value {
    json!({"elicitation": {}, "roots": {}})
}

fn call<W: Wire>(client: &mut Client<W>, arguments: Value) -> u64 {
    client.post("tools/call", json!({"name": "asker_version", "arguments": arguments}))
}

/// The next request of a stateless client with the state and these answers.
fn retry<W: Wire>(client: &mut Client<W>, tool: &str, arguments: Value, asked: &Value, answers: Value) -> Value {
    let mut params = json!({"name": tool, "arguments": arguments, "requestState": asked["requestState"]});
    params["inputResponses"] = answers;
    let id = client.post("tools/call", params);
    client.answer(id)
}

/// Waits for another version of the plugin.
fn until_listed<W: Wire>(client: &mut Client<W>, tool: &str) {
    let deadline = Instant::now() + TIMEOUT;
    while !client.tools().iter().any(|name| name == tool) {
        assert!(Instant::now() < deadline, "the old version is still listed");
    }
}

fn accept() -> Value {
    json!({"action": "accept"})
}

fn accepted() -> Value {
    json!({KEY: accept()})
}

/// The code of a call that was not run.
fn code(result: &Value) -> &str {
    assert_eq!(result["isError"], true, "{result}");
    result["_meta"]["wharf/fault"]["code"].as_str().unwrap_or_else(|| panic!("no code: {result}"))
}

/// The question, if that is what the result is.
fn question(result: &Value) -> &Value {
    assert_eq!(result["resultType"], "input_required", "{result}");
    let requests = result["inputRequests"].as_object().expect("questions");
    assert_eq!(requests.keys().collect::<Vec<_>>(), [KEY]);
    assert_eq!(requests[KEY]["method"], "elicitation/create");
    &requests[KEY]["params"]
}

fn out(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

/// What `wharf approvals` lists.
fn listed(home: &Home) -> Vec<Value> {
    serde_json::from_str(&out(&run(home, ["approvals", "--json"]))).expect("JSON")
}

/// A client on each transport, of its own server.
fn wires(home: &Home) -> Vec<(Option<Process>, Box<dyn Wire>)> {
    let stdio: Box<dyn Wire> = Box::new(Process::serve(home));
    let (server, address) = serve(home, &[]);
    let (older_server, older_address) = serve(home, &[]);
    vec![
        (None, stdio),
        (Some(server), Box::new(Streamable::connect(address))),
        (Some(older_server), Box::new(sse::Sse::connect(older_address))),
    ]
}

#[test]
fn a_user_is_asked_during_the_call() {
    let home = home("ran", ALWAYS);
    for revision in ASKING {
        for (_server, wire) in wires(&home) {
            let mut client = Client::with_capabilities(wire, revision, elicits());
            let mut answered = |arguments: Value, answer: Value| {
                let id = call(&mut client, arguments);
                let question = client.notification("elicitation/create");
                client.reply(&question, answer);
                (question["params"].clone(), client.answer(id)["result"].take())
            };
            let (asked, result) = answered(json!({"b": "x\n\u{202e}", "a": 1}), accept());
            assert_eq!(first_text(&result), "ran", "{result}");
            assert_eq!(asked["requestedSchema"], json!({"type": "object", "properties": {}}));
            assert_eq!(asked.get("mode").is_some(), revision == "2025-11-25", "{asked}");
            let message = asked["message"].as_str().expect("a text");
            assert!(message.contains("the tool asker_version of the plugin asker for local?"), "{message}");
            assert!(message.contains(r#"Arguments: {"a":1,"b":"x\n\u{202e}"}"#), "{message}");
            assert!(message.contains("it runs once"), "{message}");
            for refusal in ["decline", "cancel"] {
                let (_, result) = answered(json!({}), json!({"action": refusal}));
                assert_eq!(code(&result), "declined", "{result}");
                assert!(first_text(&result).contains("the user declined"), "{result}");
            }
            // Only what fits the question allows anything.
            for wrong in [
                json!({"action": "accept", "content": {"confirm": true}}),
                json!({"action": "accept", "content": []}),
                json!({"action": "Accept"}),
                json!({"content": {}}),
                json!({"roots": []}),
            ] {
                let (_, result) = answered(json!({}), wrong);
                assert_eq!(code(&result), "unanswered", "{result}");
            }
        }
    }
}

#[test]
fn a_stateless_client_is_asked_with_a_state() {
    let home = home("ran", ALWAYS);
    let (_server, address) = serve(&home, &[]);
    let stdio: Box<dyn Wire> = Box::new(Process::serve(&home));
    for wire in [stdio, Box::new(Streamable::connect(address))] {
        let mut client = Client::with_capabilities(wire, MODERN, elicits());
        let asked = client.call("asker_version", json!({"a": 1}));
        let shown = question(&asked);
        assert!(shown["message"].as_str().expect("a text").contains(r#"{"a":1}"#), "{shown}");
        assert_eq!(shown["requestedSchema"], json!({"type": "object", "properties": {}}));
        // Without an answer it is asked again, and the state stays valid.
        let again = retry(&mut client, "asker_version", json!({"a": 1}), &asked, json!({"other": accept()}));
        question(&again["result"]);
        let ran = retry(&mut client, "asker_version", json!({"a": 1}), &asked, accepted());
        assert_eq!(first_text(&ran["result"]), "ran", "{ran}");
        let declined =
            retry(&mut client, "asker_version", json!({"a": 1}), &again["result"], json!({KEY: {"action": "decline"}}));
        assert_eq!(code(&declined["result"]), "declined");
        // The next call is another one.
        let asked = client.call("asker_version", json!({"a": 1}));
        let wrong = json!({KEY: {"action": "accept", "content": {"a": 1}}});
        let answer = retry(&mut client, "asker_version", json!({"a": 1}), &asked, wrong);
        assert_eq!(code(&answer["result"]), "unanswered");
        let answer = retry(&mut client, "asker_version", json!({"a": 1}), &asked, accepted());
        assert_eq!(answer["error"]["data"]["reason"], "request_state_used", "a wrong answer is one: {answer}");
    }
}

#[test]
fn a_first_answer_holds_for_the_tool_in_other_processes_too() {
    let home = home("ran", "[rights]\nask-destructive = 'first'\nask-expires = '2h'\n");
    let mut client = Client::with_capabilities(Process::serve(&home), MODERN, elicits());
    let asked = client.call("asker_version", json!({"a": 1}));
    let message = question(&asked)["message"].as_str().expect("a text").to_owned();
    assert!(message.contains("for 2h this version"), "{message}");
    let ran = retry(&mut client, "asker_version", json!({"a": 1}), &asked, accepted());
    assert_eq!(first_text(&ran["result"]), "ran");
    assert_eq!(client.text("asker_version", json!({"b": 2})), "ran");
    let mut other = Client::with_capabilities(Process::serve(&home), "2025-11-25", elicits());
    assert_eq!(other.text("asker_version", json!({"c": 3})), "ran");
    assert_eq!(other.finish(), Vec::<Value>::new());
    // The operator can end it.
    let [standing] = &listed(&home)[..] else { panic!("one decision") };
    assert_eq!(
        (&standing["state"], &standing["by"], &standing["once"]),
        (&json!("allowed"), &json!("user"), &json!(false))
    );
    out(&run(&home, ["approvals", "deny", standing["id"].as_str().expect("an id")]));
    for arguments in [json!({"a": 1}), json!({"b": 2})] {
        let denied = client.call("asker_version", arguments);
        assert_eq!(code(&denied), "declined");
        assert!(first_text(&denied).contains("denied by the operator"), "{denied}");
    }
    // Another version is asked about again.
    configure(&home, "[rights]\nask-destructive = 'first'\n");
    home.put_bytes(&Guest::returning("new").described("more", "Does more.").build(), "asker");
    until_listed(&mut client, "asker_more");
    question(&client.call("asker_version", json!({"b": 2})));
}

/// The plugin's questions are not the host's: they do not ask for approval again, and come after it.
#[test]
fn a_plugin_asks_its_own_questions_after_the_approval() {
    let tool = "everything_test_input_required_result_list_roots";
    let home = Home::with(&["everything"]);
    configure(&home, ALWAYS);
    let mut client = Client::with_capabilities(Process::serve(&home), "2025-11-25", elicits());
    let id = client.post("tools/call", json!({"name": tool}));
    let approval = client.notification("elicitation/create");
    client.reply(&approval, accept());
    let roots = client.notification("roots/list");
    client.reply(&roots, json!({"roots": [{"uri": "file:///a"}]}));
    assert_eq!(first_text(&client.answer(id)["result"]), "1 folders");
    assert_eq!(client.finish(), Vec::<Value>::new());

    let mut client = Client::with_capabilities(Process::serve(&home), MODERN, elicits());
    let asked = client.call(tool, json!({}));
    question(&asked);
    let round = retry(&mut client, tool, json!({}), &asked, accepted())["result"].take();
    let roots = json!({"client_roots": {"roots": [{"uri": "file:///a"}]}});
    assert_eq!(round["inputRequests"]["client_roots"]["method"], "roots/list", "{round}");
    let done = retry(&mut client, tool, json!({}), &round, roots.clone());
    assert_eq!(first_text(&done["result"]), "1 folders");
    // One approval does not run it twice.
    let again = retry(&mut client, tool, json!({}), &round, roots);
    assert_eq!(again["error"]["data"]["reason"], "request_state_used", "{again}");
}

#[test]
fn tools_of_discovery_ask_about_the_tool_that_they_call() {
    let home = home("ran", "");
    home.configure("[server]\ntrust = 'dev'\ndiscovery = true\n[rights]\ndefault = 'everything'\nask-destructive = 'always'\n[[rights.rules]]\nplugins = ['*']\nask = 'always'\n");
    let mut client = Client::with_capabilities(Process::serve(&home), MODERN, elicits());
    let found = client.call("find_tools", json!({}));
    assert_eq!(found["structuredContent"]["tools"][0]["name"], "asker_version", "{found}");
    let arguments = json!({"name": "asker_version", "arguments": {"a": 1}});
    let asked = client.call("call_tool", arguments.clone());
    let message = question(&asked)["message"].as_str().expect("a text").to_owned();
    assert!(
        message.contains("tool asker_version of the plugin asker") && message.contains("Arguments: {\"a\":1}\n"),
        "{message}"
    );
    let other = json!({"name": "asker_version", "arguments": {"a": 2}});
    let refused = retry(&mut client, "call_tool", other, &asked, accepted());
    assert_eq!(refused["error"]["data"]["reason"], "invalid_request_state", "{refused}");
    let ran = retry(&mut client, "call_tool", arguments, &asked, accepted());
    assert_eq!(first_text(&ran["result"]), "ran");
}

#[test]
fn nobody_is_asked_about_arguments_that_are_refused_afterwards() {
    let home = Home::with(&["notes"]);
    home.configure(
        "[server]\ntrust = 'dev'\n[plugins.notes.grants]\nkeyvalue = true\n[rights]\nask-destructive = 'always'\n",
    );
    for revision in [MODERN, "2025-11-25"] {
        let mut client = Client::with_capabilities(Process::serve(&home), revision, elicits());
        let refused = client.call("notes_delete", json!({"title": 5}));
        assert_eq!(refused["isError"], true, "{refused}");
        assert_eq!(client.finish(), Vec::<Value>::new(), "asked");
    }
    // Nor is an operator.
    let refused = Client::start(&home).call("notes_delete", json!({"title": 5}));
    assert_eq!(refused["isError"], true, "{refused}");
    assert_eq!(listed(&home), Vec::<Value>::new());
}

#[test]
fn annotations_and_rules_say_what_is_asked_about() {
    let home = Home::with(&["notes"]);
    let rules = "default = 'everything'\n[[rights.rules]]\ntools = ['notes/search']\nask = 'first'\n\
        [[rights.rules]]\ntools = ['notes/delete']\nask = 'never'\n";
    home.configure(&format!(
        "[server]\ntrust = 'dev'\n[plugins.notes.grants]\nkeyvalue = true\n[rights]\nask-destructive = 'always'\n{rules}"
    ));
    let folder = home.plugins();
    let rights = |more: &[&str]| {
        let words = ["rights", "local"].into_iter().chain(more.iter().copied()).map(AsRef::as_ref);
        out(&run(&home, words.chain([folder.as_os_str()])))
    };
    let shown = rights(&[]);
    assert!(shown.contains("asks     tool      notes_search") && shown.contains("asks: first"), "{shown}");
    let json: Value = serde_json::from_str(&rights(&["--json"])).expect("JSON");
    let asks = |tool: &str| {
        let all = json["decisions"].as_array().expect("decisions");
        all.iter().find(|decision| decision["name"] == tool).unwrap_or_else(|| panic!("{json}"))["asks"].clone()
    };
    // Searching is read-only, and named by a rule; adding is said not to destroy; deleting is named by a rule.
    let found = ["notes_search", "notes_add", "notes_list", "notes_delete"].map(asks);
    assert_eq!(found, [json!("first"), Value::Null, Value::Null, Value::Null]);
    home.configure("[server]\ntrust = 'dev'\n[rights]\nask-destructive = 'always'\n");
    let json = rights(&["--json"]);
    assert_eq!(json.matches(r#""asks": "always""#).count(), 1, "{json}");
    // The lists of clients stay the same.
    let mut client = Client::start(&home);
    let listed = client.tool_entries();
    home.configure("[server]\ntrust = 'dev'\n");
    assert_eq!(Client::start(&home).tool_entries(), listed);
}
