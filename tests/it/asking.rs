//! Plugins that ask the user, beyond what a transcript shows: timeouts, limits, another version
//! of the plugin, and questions that no SDK would produce.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use wharf::server::Settings;

use crate::support::client::{Client, first_text};
use crate::support::guest::Guest;
use crate::support::guest::asking::{self, ROOTS};
use crate::support::home::Home;
use crate::support::memory::Memory;
use crate::support::process::Process;
use crate::support::wire::Wire;
use crate::support::{MODERN, TIMEOUT};

const LEGACY: &str = "2025-11-25";

/// Maximum number of rounds of one call.
const ROUNDS: usize = 32;

fn home_of(guest: &Guest) -> Home {
    let home = Home::new();
    home.put_bytes(&guest.build(), "asker");
    home
}

fn everything() -> Value {
    json!({"roots": {}, "sampling": {"tools": {}, "context": {}}, "elicitation": {"form": {}, "url": {}}})
}

/// Calls `asker_ask` with the state and the answers of the round before.
fn retry<W: Wire>(client: &mut Client<W>, asked: &Value, answers: &Value) -> Value {
    let state = &asked["requestState"];
    let params = json!({"name": "asker_ask", "arguments": {}, "requestState": state, "inputResponses": answers});
    let id = client.post("tools/call", params);
    client.answer(id)
}

#[test]
fn p25_another_version_of_the_plugin_refuses_the_state() {
    let home = home_of(&Guest::returning("1").asks("ask", &[("k", ROOTS)]));
    let mut client = Client::with_capabilities(Process::serve(&home), MODERN, everything());
    let asked = client.call("asker_ask", json!({}));
    assert_eq!(asked["inputRequests"], json!({"k": {"method": "roots/list"}}), "{asked}");
    home.put_bytes(&Guest::returning("2").asks("ask", &[("k", ROOTS)]).build(), "asker");
    let deadline = Instant::now() + TIMEOUT;
    while client.text("asker_version", json!({})) != "2" {
        assert!(Instant::now() < deadline, "the old version still answers");
    }
    let answer = retry(&mut client, &asked, &json!({"k": {"roots": []}}));
    assert_eq!(answer["error"]["data"]["reason"], "invalid_request_state", "{answer}");
}

/// A call in flight keeps the plugin that it started with, over all its rounds.
#[test]
fn a_call_waiting_for_an_answer_keeps_its_plugin() {
    let home = Home::with(&["everything"]);
    // It has grants, and its replacement has other tool descriptions.
    home.configure("[server]\ntrust = \"dev\"\n");
    let mut client = Client::with_capabilities(Process::serve(&home), LEGACY, everything());
    let id = client.post("tools/call", json!({"name": "everything_test_roots"}));
    let question = client.notification("roots/list");
    home.put_bytes(&Guest::returning("2").build(), "everything");
    client.tools_until(|tools| tools == ["everything_version"]);
    client.reply(&question, json!({"roots": [{"uri": "file:///a"}]}));
    assert_eq!(first_text(&client.answer(id)["result"]), "file:///a\n");
}

/// The question can no longer be answered.
#[test]
fn the_end_of_input_ends_a_call_waiting_for_an_answer() {
    let home = Home::with(&["everything"]);
    let mut client = Client::with_capabilities(Process::serve(&home), LEGACY, everything());
    client.post("tools/call", json!({"name": "everything_test_roots"}));
    client.notification("roots/list");
    let started = Instant::now();
    client.process().close();
    assert!(client.process().wait().success());
    assert!(started.elapsed() < Duration::from_secs(5), "took {:?}", started.elapsed());
}

/// The key belongs to the process: a state sealed by another process is a forgery to it.
#[test]
fn p25_another_process_refuses_the_state() {
    let home = home_of(&Guest::returning("1").asks("ask", &[("k", ROOTS)]));
    let mut before = Client::with_capabilities(Process::serve(&home), MODERN, everything());
    let asked = before.call("asker_ask", json!({}));
    let mut after = Client::with_capabilities(Process::serve(&home), MODERN, everything());
    let answer = retry(&mut after, &asked, &json!({"k": {"roots": []}}));
    assert_eq!(answer["error"]["data"]["reason"], "invalid_request_state", "{answer}");
}

/// The state is not bound to a connection: a client may continue on another.
#[test]
fn the_state_is_valid_on_another_connection() {
    let home = Home::with(&["everything"]);
    let memory = Memory::serve(&home);
    let beside = memory.second_connection();
    let name = "everything_test_input_required_result_list_roots";
    let mut first = Client::with_capabilities(memory, MODERN, everything());
    let asked = first.call(name, json!({}));
    let mut second = Client::with_capabilities(beside, MODERN, everything());
    let answers = json!({"client_roots": {"roots": [{"uri": "file:///a"}]}});
    let params = json!({"name": name, "requestState": asked["requestState"], "inputResponses": answers});
    assert_eq!(first_text(&second.result("tools/call", params)), "1 folders");
}

#[test]
fn an_unanswered_question_is_cancelled() {
    let home = Home::with(&["everything"]);
    let settings = Settings { ask_timeout: Duration::from_millis(200), ..Settings::default() };
    let mut client = Client::with_capabilities(Memory::serve_with(&home, settings), LEGACY, everything());
    let id = client.post("tools/call", json!({"name": "everything_test_roots"}));
    let question = client.notification("roots/list");
    let answer = client.answer(id);
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    assert!(first_text(&answer["result"]).contains("the client did not answer in time"), "{answer}");
    assert_eq!(client.notification("notifications/cancelled")["params"]["requestId"], question["id"]);
    // A late answer is dropped.
    client.reply(&question, json!({"roots": []}));
    assert_eq!(client.finish(), Vec::<Value>::new());
}

#[test]
fn a_cancelled_call_cancels_its_question() {
    let home = Home::with(&["everything"]);
    let mut client = Client::with_capabilities(Process::serve(&home), LEGACY, everything());
    let id = client.post("tools/call", json!({"name": "everything_test_roots"}));
    let question = client.notification("roots/list");
    client.notify("notifications/cancelled", json!({"requestId": id}));
    assert_eq!(client.notification("notifications/cancelled")["params"]["requestId"], question["id"]);
    client.reply(&question, json!({"roots": []}));
    client.result("ping", json!({}));
    assert_eq!(client.finish(), Vec::<Value>::new());
}

/// On the same stream, the answers are queued behind more calls than may run concurrently.
#[test]
fn more_asking_calls_than_may_run_all_complete() {
    const CALLS: usize = 300;
    const RUNNING: usize = 256;
    let home = Home::with(&["everything"]);
    let mut client = Client::with_capabilities(Process::serve(&home), LEGACY, everything());
    client.tools();
    let ids: BTreeSet<u64> =
        (0..CALLS).map(|_| client.post("tools/call", json!({"name": "everything_test_roots"}))).collect();
    // None is answered until the maximum number of calls has asked.
    let questions: Vec<Value> = (0..RUNNING).map(|_| client.notification("roots/list")).collect();
    for question in questions.iter().rev() {
        client.reply(question, json!({"roots": []}));
    }
    for _ in RUNNING..CALLS {
        let question = client.notification("roots/list");
        client.reply(&question, json!({"roots": []}));
    }
    for id in ids {
        let answer = client.answer(id);
        assert!(answer["result"].get("isError").is_none(), "{answer}");
    }
    assert_eq!(client.finish(), Vec::<Value>::new());
}

#[test]
fn a_plugin_that_asks_endlessly_is_stopped() {
    let home = home_of(&Guest::returning("1").asks("ask", &[("k", ROOTS)]));
    let ended = |answer: &Value| {
        assert_eq!(answer["result"]["_meta"]["wharf/fault"]["code"], "bad-output", "{answer}");
        assert!(first_text(&answer["result"]).contains("asker"), "{answer}");
    };

    let mut client = Client::with_capabilities(Process::serve(&home), LEGACY, everything());
    let id = client.post("tools/call", json!({"name": "asker_ask"}));
    for _ in 0..ROUNDS {
        let question = client.notification("roots/list");
        client.reply(&question, json!({"roots": []}));
    }
    ended(&client.answer(id));

    let mut client = Client::with_capabilities(Process::serve(&home), MODERN, everything());
    let mut asked = client.call("asker_ask", json!({}));
    for _ in 1..ROUNDS {
        let mut answer = retry(&mut client, &asked, &json!({"k": {"roots": []}}));
        assert_eq!(answer["result"]["resultType"], "input_required", "{answer}");
        asked = answer["result"].take();
    }
    ended(&retry(&mut client, &asked, &json!({"k": {"roots": []}})));
}

#[test]
fn a_question_beyond_the_clients_capabilities_is_an_error() {
    let nested = ("k", asking::form(r#"{"type":"object","properties":{}}"#));
    let needs = [
        (ROOTS, json!({"roots": {}}), "roots"),
        (nested.1, json!({"elicitation": {"form": {}}}), "elicitation.form"),
        (asking::page("https://example.org/"), json!({"elicitation": {"url": {}}}), "elicitation.url"),
    ];
    for (ask, required, word) in needs {
        let home = home_of(&Guest::returning("1").asks("ask", &[("k", ask)]));
        let mut client = Client::with_capabilities(Process::serve(&home), MODERN, json!({}));
        let error = client.error("tools/call", json!({"name": "asker_ask"}));
        assert_eq!((&error["code"], &error["data"]["requiredCapabilities"]), (&json!(-32021), &required), "{error}");

        let mut client = Client::with_capabilities(Process::serve(&home), LEGACY, json!({}));
        let result = client.call("asker_ask", json!({}));
        assert_eq!(result["_meta"]["wharf/fault"]["code"], "denied", "{result}");
        assert!(first_text(&result).contains(word), "{result}");
        assert_eq!(client.finish(), Vec::<Value>::new());
    }
}

/// One question, one answer: a required question is not repeated.
#[test]
fn an_invalid_answer_to_a_required_question_fails_the_call() {
    let home = home_of(&Guest::returning("1").asks("ask", &[("k", ROOTS)]));
    let mut client = Client::with_capabilities(Process::serve(&home), LEGACY, everything());
    for wrong in [json!({"roots": 5}), json!({})] {
        let id = client.post("tools/call", json!({"name": "asker_ask"}));
        let question = client.notification("roots/list");
        client.reply(&question, wrong);
        let result = &client.answer(id)["result"];
        assert_eq!(result["isError"], true, "{result}");
        assert!(first_text(result).contains("result.roots"), "{result}");
    }
    assert_eq!(client.finish(), Vec::<Value>::new());
}

#[test]
fn an_invalid_question_is_the_plugins_fault() {
    let nested = r#"{"type":"object","properties":{"a":{"type":"object"}}}"#;
    let wrong: [(&[(&str, asking::Ask<'_>)], &str); 9] = [
        (&[("k", ROOTS), ("k", ROOTS)], "same key"),
        (&[], "without questions"),
        (&[("k", asking::form("{"))], "form"),
        (&[("k", asking::form(r#"{"type":"string"}"#))], "form"),
        (&[("k", asking::form(r#"{"type":"object","properties":[]}"#))], "form"),
        (&[("k", asking::form(nested))], "'a'"),
        (&[("k", asking::page("http://example.org/"))], "https"),
        (&[("k", asking::page("javascript:alert(1)"))], "https"),
        (&[("k", asking::page("/login"))], "https"),
    ];
    for (questions, word) in wrong {
        let home = home_of(&Guest::returning("1").asks("ask", questions));
        for revision in [LEGACY, MODERN] {
            let mut client = Client::with_capabilities(Process::serve(&home), revision, everything());
            let result = client.call("asker_ask", json!({}));
            assert_eq!(result["_meta"]["wharf/fault"]["code"], "bad-output", "{result}");
            let text = first_text(&result);
            assert!(text.contains("asker") && text.contains(word), "{text}");
            assert_eq!(client.text("asker_version", json!({})), "1");
        }
    }
}
