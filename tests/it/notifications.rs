//! Notifications of plugins during calls, beyond what a transcript shows: floods, several clients,
//! and cancelled calls.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::MODERN;
use crate::support::client::{Client, first_text};
use crate::support::guest::{Guest, bodies};
use crate::support::home::Home;
use crate::support::memory::Memory;
use crate::support::process::Process;

const LEGACY: &str = "2025-11-25";
const UPDATED: &str = "notifications/resources/updated";

/// Notifications per call of a flood.
const FLOOD: usize = 1_000_000;
/// Rate limits: the burst, and the number per second after it.
const STEPS: (usize, usize) = (20, 10);
const MESSAGES: (usize, usize) = (100, 10);
/// Bytes by which the host may have grown after a flood.
const LEFT: u64 = 16 << 20;

/// A home with that guest as `hostile`, with limits of a minute.
fn home_of(guest: &Guest) -> Home {
    let home = Home::with(&["everything"]);
    home.put_bytes(&guest.build(), "hostile");
    home.configure("[limits]\ncpu = \"60s\"\ntimeout = \"60s\"\n");
    home
}

/// The call's answer, the notifications before it, and its duration.
fn flooded(client: &mut Client, meta: Value) -> (Value, Vec<Value>, Duration) {
    let started = Instant::now();
    let id = client.post("tools/call", json!({"name": "hostile_flood", "_meta": meta}));
    let answer = client.answer(id);
    let took = started.elapsed();
    let mut received = Vec::new();
    // The client buffers what came before the answer.
    while let Some(message) = client.next_before(Instant::now()) {
        received.push(message);
    }
    assert_eq!(first_text(&answer["result"]), "1", "{answer}");
    (answer, received, took)
}

/// The maximum number of notifications in that time.
fn most((at_once, per_second): (usize, usize), took: Duration) -> usize {
    at_once + per_second * (took.as_secs() as usize + 1)
}

#[test]
fn a_flood_of_progress_is_rate_limited() {
    let home = home_of(&Guest::returning("1").reports_progress_times("flood", FLOOD, ""));
    for revision in [LEGACY, MODERN] {
        let mut client = Client::with_capabilities(Process::serve(&home), revision, json!({}));
        client.tools();
        let before = client.process().resident();
        let (_, received, took) = flooded(&mut client, json!({"progressToken": "t"}));
        assert!(!received.is_empty() && received.len() <= most(STEPS, took), "{} steps in {took:?}", received.len());
        let steps: Vec<f64> = received
            .iter()
            .map(|step| {
                assert_eq!(step["method"], "notifications/progress", "{step}");
                step["params"]["progress"].as_f64().expect("a number")
            })
            .collect();
        assert!(steps.is_sorted_by(|earlier, later| earlier < later), "{steps:?}");
        // The last step is always sent.
        assert_eq!(steps.last(), Some(&(FLOOD as f64)), "{steps:?}");
        // Without a progress token there are none.
        let (_, received, _) = flooded(&mut client, json!({}));
        assert_eq!(received, Vec::<Value>::new());
        let left = client.process().resident().saturating_sub(before);
        assert!(left < LEFT, "{left} bytes more");
        assert_eq!(client.finish(), Vec::<Value>::new());
    }
}

#[test]
fn a_flood_of_messages_is_rate_limited_and_counted() {
    let home = home_of(&Guest::returning("1").logs("flood", "water", FLOOD, ""));
    let mut client = Client::with_capabilities(Process::serve(&home), LEGACY, json!({}));
    client.tools();
    let before = client.process().resident();
    let (_, received, took) = flooded(&mut client, json!({}));
    check(&received, took);
    client.process().log_with("messages over the call's log limit");
    let left = client.process().resident().saturating_sub(before);
    assert!(left < LEFT, "{left} bytes more");
    // With a higher log level the count of dropped messages is not sent either.
    client.result("logging/setLevel", json!({"level": "error"}));
    assert_eq!(flooded(&mut client, json!({})).1, Vec::<Value>::new());
    assert_eq!(client.finish(), Vec::<Value>::new());

    let mut client = Client::with_capabilities(Process::serve(&home), MODERN, json!({}));
    client.tools();
    let (_, received, took) = flooded(&mut client, json!({"io.modelcontextprotocol/logLevel": "debug"}));
    check(&received, took);
    assert_eq!(flooded(&mut client, json!({})).1, Vec::<Value>::new());
    assert_eq!(client.finish(), Vec::<Value>::new());

    fn check(received: &[Value], took: Duration) {
        let (last, rest) = received.split_last().expect("messages");
        assert!(!rest.is_empty() && rest.len() <= most(MESSAGES, took), "{} messages in {took:?}", rest.len());
        for message in rest {
            assert_eq!(message["params"], json!({"level": "warning", "logger": "hostile", "data": "water"}));
        }
        let dropped = FLOOD - rest.len();
        let text = format!("{dropped} more messages of this call were dropped");
        assert_eq!(last["params"], json!({"level": "warning", "logger": "hostile", "data": text}));
    }
}

#[test]
fn each_client_is_notified_of_its_subscriptions() {
    let home = Home::with(&["everything"]);
    let memory = Memory::serve(&home);
    let beside = memory.second_connection();
    let mut one = Client::with_capabilities(memory, LEGACY, json!({}));
    let mut other = Client::with_capabilities(beside, LEGACY, json!({}));
    one.result("resources/subscribe", json!({"uri": "test://watched-resource"}));
    other.result("resources/subscribe", json!({"uri": "test://static-text"}));
    for uri in ["test://watched-resource", "test://static-text"] {
        one.call("everything_test_update_resource", json!({ "uri": uri }));
    }
    assert_eq!(one.notification(UPDATED)["params"], json!({"uri": "test://watched-resource"}));
    assert_eq!(other.notification(UPDATED)["params"], json!({"uri": "test://static-text"}));
    assert_eq!(one.finish(), Vec::<Value>::new());
    assert_eq!(other.finish(), Vec::<Value>::new());
}

#[test]
fn a_plugin_cannot_notify_about_resources_of_another() {
    let home = home_of(&Guest::returning("1").updates("lie", "test://static-text"));
    let mut client = Client::with_capabilities(Process::serve(&home), LEGACY, json!({}));
    for uri in ["test://static-text", "test://watched-resource"] {
        client.result("resources/subscribe", json!({ "uri": uri }));
    }
    client.call("hostile_lie", json!({}));
    // Notifications are in order: the forged one would come first.
    client.call("everything_test_update_resource", json!({}));
    assert_eq!(client.notification(UPDATED)["params"], json!({"uri": "test://watched-resource"}));
    assert_eq!(client.finish(), Vec::<Value>::new());
}

/// It reports progress every half second, so a report after the cancellation would be seen.
#[test]
fn a_guest_can_observe_its_cancellation() {
    let home = Home::with(&["everything"]);
    for revision in [LEGACY, MODERN] {
        let mut client = Client::with_capabilities(Process::serve(&home), revision, json!({}));
        client.tools();
        let meta = json!({"progressToken": 1, "io.modelcontextprotocol/logLevel": "debug"});
        let params = json!({"name": "everything_slow_compute", "arguments": {"seconds": 20}, "_meta": meta});
        let id = client.post("tools/call", params);
        client.notification("notifications/progress");
        client.notify("notifications/cancelled", json!({"requestId": id, "reason": "tests"}));
        client.process().log_with("cancelled");
        client.text("everything_test_context", json!({}));
        assert_eq!(client.finish(), Vec::<Value>::new(), "{revision}");
    }
}

/// Its slot is free for the next call well before its limit of a minute.
#[test]
fn a_guest_that_ignores_its_cancellation_is_stopped() {
    let spins = Guest::returning("free").logs("spin", "spinning now", 1, bodies::SPIN);
    for revision in [LEGACY, MODERN] {
        let home = home_of(&spins);
        home.configure("[plugins.hostile.limits]\nconcurrency = 1\ncpu = \"60s\"\ntimeout = \"60s\"\n");
        let mut client = Client::with_capabilities(Process::serve(&home), revision, json!({}));
        client.tools();
        let meta = json!({"io.modelcontextprotocol/logLevel": "debug"});
        let spin = client.post("tools/call", json!({"name": "hostile_spin", "_meta": meta}));
        client.notification("notifications/message");
        let started = Instant::now();
        client.notify("notifications/cancelled", json!({"requestId": spin}));
        assert_eq!(client.text("hostile_version", json!({})), "free");
        assert!(started.elapsed() < Duration::from_secs(3), "took {:?}", started.elapsed());
        assert_eq!(client.finish(), Vec::<Value>::new(), "{revision}");
    }
}

/// A client that ends its session with the answer must not fail on what the call has caused.
#[test]
fn changes_by_a_call_are_notified_before_its_answer() {
    const LISTS: &str = "notifications/resources/list_changed";
    let home = Home::with(&["notes", "everything"]);
    home.configure("[plugins.notes.grants]\nkeyvalue = true\n");
    for revision in ["2024-11-05", LEGACY, MODERN] {
        let mut client = Client::with_capabilities(Process::serve(&home), revision, json!({}));
        client.tools();
        let watched = "test://watched-resource";
        if revision == MODERN {
            let notifications = json!({"resourcesListChanged": true, "resourceSubscriptions": [watched]});
            client.post("subscriptions/listen", json!({"notifications": notifications}));
            client.notification("notifications/subscriptions/acknowledged");
        } else {
            client.result("resources/subscribe", json!({"uri": watched}));
        }
        // More than one in a row: the second is not held back by a pause.
        for round in 0..3 {
            for (tool, arguments, method) in
                [("notes_add", json!({"text": "milk"}), LISTS), ("everything_test_update_resource", json!({}), UPDATED)]
            {
                client.call(tool, arguments);
                // What is there now was read before the answer.
                let before: Vec<Value> = std::iter::from_fn(|| client.next_before(Instant::now())).collect();
                let methods: Vec<&Value> = before.iter().map(|message| &message["method"]).collect();
                assert_eq!(methods, [method], "{revision}, {tool}, round {round}");
            }
        }
        // And not once more.
        client.result("resources/list", json!({}));
        let again =
            client.finish().into_iter().filter(|message| message["method"] == LISTS || message["method"] == UPDATED);
        assert_eq!(again.collect::<Vec<_>>(), Vec::<Value>::new(), "{revision}");
    }
}
