//! Attempts to run a call that nobody allowed, or to run one more often than it was allowed.

use super::*;
use crate::support::guest::asking::form;

const FORM: &str = r#"{"type":"object","properties":{}}"#;

fn stateless(home: &Home) -> Client {
    Client::with_capabilities(Process::serve(home), MODERN, elicits())
}

fn reason(answer: &Value) -> &str {
    answer["error"]["data"]["reason"].as_str().unwrap_or_else(|| panic!("no error: {answer}"))
}

#[test]
fn a_state_allows_only_the_call_that_was_shown() {
    let home = home("ran", ALWAYS);
    home.put_bytes(&Guest::returning("ran").described("other", "Does other things.").build(), "asker");
    let mut client = stateless(&home);
    until_listed(&mut client, "asker_other");
    let asked = client.call("asker_version", json!({"path": "a"}));
    for (tool, arguments) in [
        ("asker_version", json!({"path": "b"})),
        ("asker_version", json!({"path": "a", "force": true})),
        ("asker_version", json!({})),
        ("asker_other", json!({"path": "a"})),
    ] {
        let refused = retry(&mut client, tool, arguments, &asked, accepted());
        assert_eq!(reason(&refused), "invalid_request_state");
    }
    // Another process has another key.
    let refused = retry(&mut stateless(&home), "asker_version", json!({"path": "a"}), &asked, accepted());
    assert_eq!(reason(&refused), "invalid_request_state");
    // Answers without the state are none.
    let params = json!({"name": "asker_version", "arguments": {"path": "a"}, "inputResponses": accepted()});
    question(&client.result("tools/call", params));
    let ran = retry(&mut client, "asker_version", json!({"path": "a"}), &asked, accepted());
    assert_eq!(first_text(&ran["result"]), "ran");
    for _ in 0..2 {
        let again = retry(&mut client, "asker_version", json!({"path": "a"}), &asked, accepted());
        assert_eq!(reason(&again), "request_state_used");
    }
}

/// Several processes with one key: an answer is used by one of them.
#[test]
fn an_answer_is_used_once_behind_a_balancer() {
    let home = home("ran", "");
    let key = "0123456789abcdef0123456789abcdef";
    std::fs::write(home.path("config/wharf/state-key"), key).expect("a file");
    home.configure(&format!("[server]\ntrust = 'dev'\nstate-key = {{ file = 'state-key' }}\n{ALWAYS}"));
    let asked = stateless(&home).call("asker_version", json!({}));
    let mut answers = (0..2).map(|_| retry(&mut stateless(&home), "asker_version", json!({}), &asked, accepted()));
    assert_eq!(first_text(&answers.next().expect("one")["result"]), "ran");
    assert_eq!(reason(&answers.next().expect("another")), "request_state_used");
}

#[test]
fn another_version_needs_another_answer() {
    let home = home("old", ALWAYS);
    let mut modern = stateless(&home);
    let asked = modern.call("asker_version", json!({}));
    let mut client = Client::with_capabilities(Process::serve(&home), "2025-11-25", elicits());
    let id = call(&mut client, json!({}));
    let shown = client.notification("elicitation/create");
    home.put_bytes(&Guest::returning("new").described("more", "Does more.").build(), "asker");
    until_listed(&mut modern, "asker_more");
    until_listed(&mut client, "asker_more");
    let refused = retry(&mut modern, "asker_version", json!({}), &asked, accepted());
    assert_eq!(reason(&refused), "invalid_request_state");
    client.reply(&shown, accept());
    assert_eq!(code(&client.answer(id)["result"]), "changed");
    let id = call(&mut client, json!({}));
    let shown = client.notification("elicitation/create");
    client.reply(&shown, accept());
    assert_eq!(first_text(&client.answer(id)["result"]), "new");
}

/// Its state says nothing of an approval, and it cannot have the host's key.
#[test]
fn a_plugins_question_is_no_approval() {
    let home = Home::new();
    home.put_bytes(&Guest::returning("ran").asks("ask", &[("own", form(FORM))]).build(), "asker");
    configure(&home, "[rights]\ndefault = 'everything'\n");
    let mut client = stateless(&home);
    let before = client.call("asker_ask", json!({}));
    assert_eq!(before["inputRequests"]["own"]["params"]["message"], "Please", "{before}");
    configure(&home, ALWAYS);
    client.process().log_with("rights changed");
    // The state of a round before there was such a rule.
    let asked = retry(&mut client, "asker_ask", json!({}), &before, accepted())["result"].take();
    assert!(question(&asked)["message"].as_str().expect("a text").contains("Run the tool asker_ask"), "{asked}");
    let round = retry(&mut client, "asker_ask", json!({}), &asked, accepted())["result"].take();
    assert_eq!(round["inputRequests"]["own"]["params"]["message"], "Please", "{round}");
    // Of one that was approved each round is used once; it approves no other call.
    let next = retry(&mut client, "asker_ask", json!({}), &round, accepted())["result"].take();
    assert_eq!(next["inputRequests"]["own"]["params"]["message"], "Please", "{next}");
    assert_eq!(reason(&retry(&mut client, "asker_ask", json!({}), &round, accepted())), "request_state_used");
    let other = retry(&mut client, "asker_ask", json!({"a": 1}), &next, accepted());
    assert_eq!(reason(&other), "invalid_request_state");
    question(&client.call("asker_ask", json!({})));
    home.put_bytes(&Guest::returning("ran").asks("forge", &[(KEY, form(FORM))]).build(), "asker");
    until_listed(&mut client, "asker_forge");
    let asked = client.call("asker_forge", json!({}));
    let forged = retry(&mut client, "asker_forge", json!({}), &asked, accepted())["result"].take();
    assert_eq!(code(&forged), "bad-output", "{forged}");
}

#[test]
fn an_answer_to_one_call_allows_no_others() {
    let home = home("ran", ALWAYS);
    let mut client = stateless(&home);
    let asked = client.call("asker_version", json!({}));
    configure(&home, "[rights]\nask-destructive = 'first'\n");
    client.process().log_with("rights changed");
    let ran = retry(&mut client, "asker_version", json!({}), &asked, accepted());
    assert_eq!(first_text(&ran["result"]), "ran");
    question(&client.call("asker_version", json!({})));
}

#[test]
fn rights_that_end_while_a_person_is_asked_have_ended() {
    let home = home("ran", ALWAYS);
    let mut client = Client::with_capabilities(Process::serve(&home), "2025-11-25", elicits());
    let id = call(&mut client, json!({}));
    let shown = client.notification("elicitation/create");
    configure(&home, "[rights]\ndefault = 'nothing'\nask-destructive = 'always'\n");
    client.notification("notifications/tools/list_changed");
    client.reply(&shown, accept());
    assert_eq!(code(&client.answer(id)["result"]), "forbidden");
}

#[test]
fn a_cancelled_call_does_not_run_whatever_is_answered() {
    let home = home("ran", ALWAYS);
    let mut client = Client::with_capabilities(Process::serve(&home), "2025-11-25", elicits());
    let id = call(&mut client, json!({}));
    let shown = client.notification("elicitation/create");
    client.notify("notifications/cancelled", json!({"requestId": id}));
    assert_eq!(client.notification("notifications/cancelled")["params"]["requestId"], shown["id"]);
    client.reply(&shown, accept());
    client.result("ping", json!({}));
    assert_eq!(client.finish(), Vec::<Value>::new());
    let log = std::fs::read_to_string(home.path("state/wharf/audit.jsonl")).expect("a log");
    assert!(log.contains(r#""code":"cancelled""#) && !log.contains(r#""code":"ok""#), "{log}");
}

/// Each call of a session is asked about, also equal ones at the same time, in any order of the answers.
#[test]
fn each_question_is_for_its_own_call() {
    let home = home("ran", ALWAYS);
    let mut client = Client::with_capabilities(Process::serve(&home), "2025-06-18", elicits());
    let ids: Vec<u64> = (0..2).map(|_| call(&mut client, json!({}))).collect();
    let questions: Vec<Value> = ids.iter().map(|_| client.notification("elicitation/create")).collect();
    client.reply(&questions[1], accept());
    // An answer that nobody waits for any more.
    client.reply(&questions[1], accept());
    client.result("ping", json!({}));
    client.reply(&questions[0], json!({"action": "decline"}));
    let results = ids.iter().map(|id| client.answer(*id)["result"].take());
    let ran = results.filter(|result| first_text(result) == "ran").count();
    assert_eq!(ran, 1);
}
