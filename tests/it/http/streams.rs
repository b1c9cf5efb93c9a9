//! Streams of the handshake revisions: which message is sent on which stream, and resumption.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use wharf::transport::http::{SessionSettings, Settings, Token};

use crate::support::events::{Event, Events};
use crate::support::home::Home;
use crate::support::http::{HttpConnection, HttpServer, serve};
use crate::support::streamable::{Endpoint, request, stateless};
use crate::support::{TIMEOUT, guest::Guest};

const ALICE: &str = "0123456789abcdef0123456789abcdef";
const BOB: &str = "fedcba9876543210fedcba9876543210";
const NEWEST: &str = "2025-11-25";
const TOOLS_CHANGED: &str = "notifications/tools/list_changed";

fn server() -> HttpServer {
    HttpServer::serve(&Home::with(&["everything"]), Settings::default())
}

fn call(id: u64, tool: &str, arguments: Value) -> Value {
    request(id, "tools/call", json!({"name": format!("everything_{tool}"), "arguments": arguments}))
}

/// A call that reports progress every half second.
fn slow(id: u64, seconds: f64) -> Value {
    let mut call = call(id, "slow_compute", json!({"seconds": seconds}));
    call["params"]["_meta"]["progressToken"] = json!("p");
    call
}

fn next(stream: &mut Events) -> Value {
    stream.next_message().expect("a message").json()
}

/// All remaining events until the stream ends.
fn rest(stream: &mut Events) -> Vec<Event> {
    std::iter::from_fn(|| stream.next_event()).collect()
}

/// HL-6, HL-9: a call that sends messages before its answer gets a stream, which ends with it.
#[test]
fn messages_of_a_request_are_sent_on_its_stream() {
    let server = server();
    for revision in ["2025-03-26", "2025-06-18", NEWEST] {
        let client = Endpoint::initialize(server.address, revision);
        let mut own = client.listen();
        let mut message = call(1, "test_tool_with_progress", json!({}));
        message["params"]["_meta"]["progressToken"] = json!(7);
        let mut stream = client.stream(&message);
        assert_eq!(stream.response.header("x-accel-buffering"), Some("no"));
        assert_eq!(stream.response.header("cache-control"), Some("no-cache"));
        let events = rest(&mut stream);
        // An event with only an id, which older clients take for a malformed message (HL-7).
        assert_eq!(events[0].data.is_empty(), revision == NEWEST, "{events:?}");
        assert!(events.iter().all(|event| event.id.is_some()), "{events:?}");
        let messages: Vec<Value> = events.iter().filter(|event| !event.data.is_empty()).map(Event::json).collect();
        let (answer, before) = messages.split_last().expect("an answer");
        assert_eq!(answer["id"], 1);
        assert!(before.iter().all(|message| message["method"] == "notifications/progress"), "{before:?}");
        assert_eq!(before.len(), 3);
        server.exchange(&client.delete());
        assert!(rest(&mut own).iter().all(|event| event.data.is_empty()), "sent on the other stream too (HL-12)");
    }
}

/// HL-11, HL-12: each change is sent once, on one stream.
#[test]
fn changes_are_notified_on_the_sessions_own_stream() {
    let home = Home::with(&["everything"]);
    let (_process, address) = serve(&home, &[]);
    let client = Endpoint::initialize(address, NEWEST);
    client.exchange(&request(1, "tools/list", json!({})));
    let mut own = client.listen();
    home.put_bytes(&Guest::returning("1").build(), "later");
    assert_eq!(next(&mut own)["method"], TOOLS_CHANGED);
    let subscribed = client.exchange(&request(2, "resources/subscribe", json!({"uri": "test://watched-resource"})));
    assert!(subscribed.text().contains(r#""result":{}"#), "{}", subscribed.text());
    let updated = client.exchange(&call(3, "test_update_resource", json!({})));
    assert!(!updated.text().contains("notifications/"), "{}", updated.text());
    assert_eq!(next(&mut own)["method"], "notifications/resources/updated");
    let other = Endpoint::initialize(address, NEWEST);
    let mut others = other.listen();
    client.exchange(&call(4, "test_update_resource", json!({})));
    assert_eq!(next(&mut own)["method"], "notifications/resources/updated");
    HttpConnection::connect(address).exchange(&other.delete());
    assert!(rest(&mut others).iter().all(|event| event.data.is_empty()), "an update without a subscription");
}

/// Messages without a reader are kept for the next one, and a new reader replaces the old.
#[test]
fn the_own_stream_has_one_reader_and_loses_nothing() {
    let home = Home::with(&["everything"]);
    let (_process, address) = serve(&home, &[]);
    let client = Endpoint::initialize(address, NEWEST);
    client.exchange(&request(1, "resources/subscribe", json!({"uri": "test://watched-resource"})));
    client.exchange(&call(2, "test_update_resource", json!({})));
    let mut first = client.listen();
    let event = first.next_message().expect("the buffered message");
    assert_eq!(event.json()["method"], "notifications/resources/updated");
    let mut second = client.listen();
    assert!(rest(&mut first).is_empty(), "the first has ended");
    client.exchange(&call(3, "test_update_resource", json!({})));
    let missed = second.next_message().expect("the new message");
    drop(second);
    // Messages that were read are replayed from the id before them.
    let at = event.id.clone().expect("an id");
    let mut again = Events::open(HttpConnection::connect(address), &client.get().with("Last-Event-ID", &at));
    assert_eq!(again.next_message(), Some(missed));
}

/// A question to the user is sent on the stream of the call, and answered with another POST.
#[test]
fn questions_are_sent_on_the_stream_of_their_call() {
    let server = server();
    let client = Endpoint::initialize(server.address, NEWEST);
    for (tool, arguments, method, answer) in [
        ("test_elicitation", json!({"message": "Who?"}), "elicitation/create", json!({"action": "decline"})),
        (
            "test_sampling",
            json!({"prompt": "Say hi"}),
            "sampling/createMessage",
            json!({"role": "assistant", "content": {"type": "text", "text": "Hi"}, "model": "m"}),
        ),
        ("test_roots", json!({}), "roots/list", json!({"roots": []})),
    ] {
        let mut stream = client.stream(&call(9, tool, arguments));
        let question = next(&mut stream);
        assert_eq!(question["method"], method);
        let accepted = client.exchange(&json!({"jsonrpc": "2.0", "id": question["id"], "result": answer}));
        assert_eq!((accepted.status, accepted.text()), (202, ""));
        let result = next(&mut stream);
        assert_eq!(result["id"], 9, "{result}");
        assert_eq!(stream.next_event(), None, "the answer is the last");
    }
}

/// A session cannot answer a question of another session.
#[test]
fn another_session_cannot_answer_a_question() {
    let server = server();
    let client = Endpoint::initialize(server.address, NEWEST);
    let other = Endpoint::initialize(server.address, NEWEST);
    let mut stream = client.stream(&call(9, "test_roots", json!({})));
    let question = next(&mut stream);
    let answer = |uri: &str| json!({"jsonrpc": "2.0", "id": question["id"], "result": {"roots": [{"uri": uri}]}});
    assert_eq!(other.exchange(&answer("file:///other")).status, 202);
    assert_eq!(client.exchange(&answer("file:///mine")).status, 202);
    assert!(next(&mut stream).to_string().contains("file:///mine"));
}

/// HL-10, HL-13: a lost connection cancels nothing, and the stream resumes on the next one.
#[test]
fn a_lost_stream_can_be_resumed() {
    let server = server();
    let client = Endpoint::initialize(server.address, NEWEST);
    let mut stream = client.stream(&slow(5, 1.5));
    let step = stream.next_message().expect("a step");
    assert_eq!(step.json()["method"], "notifications/progress");
    drop(stream);
    let resume = client.get().with("Last-Event-ID", step.id.as_deref().expect("an id"));
    let mut again = Events::open(HttpConnection::connect(server.address), &resume);
    let events = rest(&mut again);
    let ids: Vec<_> = events.iter().filter(|event| !event.data.is_empty()).map(|event| event.id.clone()).collect();
    assert!(!ids.contains(&step.id), "a read event is replayed: {ids:?}");
    let answer = events.last().expect("an answer").json();
    assert_eq!((&answer["id"], &answer["result"]["isError"]), (&json!(5), &Value::Null), "{answer}");
    // Resuming from the same id again replays the same events.
    let replayed = rest(&mut Events::open(HttpConnection::connect(server.address), &resume));
    assert_eq!(replayed[1..], events[1..], "{replayed:?}");
}

/// The first event has the id of the position before the first message.
#[test]
fn a_stream_can_be_replayed_from_its_first_event() {
    let server = server();
    let client = Endpoint::initialize(server.address, NEWEST);
    let mut message = call(1, "test_tool_with_progress", json!({}));
    message["params"]["_meta"]["progressToken"] = json!(7);
    let mut stream = client.stream(&message);
    let first = stream.next_event().expect("the first event");
    let all = rest(&mut stream);
    assert_eq!(all.len(), 4);
    let resume = client.get().with("Last-Event-ID", first.id.as_deref().expect("an id"));
    let again = rest(&mut Events::open(HttpConnection::connect(server.address), &resume));
    assert_eq!(again[1..], all[..]);
}

/// HL-13: only events of that stream and that session are replayed.
#[test]
fn only_the_same_stream_is_resumed() {
    let server = server();
    let client = Endpoint::initialize(server.address, NEWEST);
    let read = |id: u64| {
        let mut message = call(id, "test_tool_with_progress", json!({}));
        message["params"]["_meta"]["progressToken"] = json!(id);
        rest(&mut client.stream(&message))
    };
    let (first, second) = (read(1), read(2));
    let at = |event: &Event| client.get().with("Last-Event-ID", event.id.as_deref().expect("an id"));
    let again = rest(&mut Events::open(HttpConnection::connect(server.address), &at(&first[1])));
    assert_eq!(again[1..], first[2..]);
    let ids: Vec<_> = first.iter().chain(&second).map(|event| event.id.clone()).collect();
    let mut unique = ids.clone();
    unique.sort();
    unique.dedup();
    assert_eq!(unique.len(), ids.len(), "{ids:?}");
    // In another session the id is unknown.
    let other = Endpoint::initialize(server.address, NEWEST);
    for id in [
        first[1].id.as_deref().expect("an id"),
        "0-99999",
        "7",
        "x-y",
        "-",
        "",
        "+0-0",
        "0-00",
        "0-0, 0-0",
        "18446744073709551616-1",
    ] {
        let refused = server.exchange(&other.get().with("Last-Event-ID", id));
        assert!(refused.status == 400 && refused.text().contains("event_not_kept"), "{id}: {}", refused.text());
    }
    let mut own = other.listen();
    other.exchange(&request(1, "resources/subscribe", json!({"uri": "test://watched-resource"})));
    other.exchange(&call(2, "test_update_resource", json!({})));
    assert_eq!(next(&mut own)["method"], "notifications/resources/updated");
}

/// 32 ended streams are kept, with 256 messages each.
#[test]
fn events_kept_by_a_session_are_bounded() {
    let server = server();
    let client = Endpoint::initialize(server.address, NEWEST);
    let mut message = call(1, "test_tool_with_logging", json!({}));
    message["params"]["_meta"]["progressToken"] = json!(1);
    let mut firsts = Vec::new();
    for _ in 0..40 {
        let request = client.post(&message).set("Accept", "text/event-stream");
        let events = rest(&mut Events::open(HttpConnection::connect(server.address), &request));
        firsts.push(events[0].id.clone().expect("an id"));
    }
    let resumed = |id: &str| {
        let mut stream = Events::open(HttpConnection::connect(server.address), &client.get().with("Last-Event-ID", id));
        let begin = stream.next_event().expect("the first event").id.expect("an id");
        begin.split('-').next() == id.split('-').next()
    };
    assert!(resumed(&firsts[39]), "the last is kept");
    // Resuming a dropped stream is an error.
    let gone = server.exchange(&client.get().with("Last-Event-ID", &firsts[0]));
    assert_eq!(gone.status, 400, "{}", gone.text());
    assert!(gone.text().contains("event_not_kept"), "{}", gone.text());
}

/// The total over all sessions is bounded too. Resuming at a dropped answer gives an error in its
/// place; newer answers are still there.
#[test]
fn events_kept_by_all_sessions_are_bounded() {
    let sessions = SessionSettings { max_retained: 16 << 10, ..SessionSettings::default() };
    let server = HttpServer::serve(&Home::with(&["everything"]), Settings { sessions, ..Settings::default() });
    let clients: Vec<_> = (0..8).map(|_| Endpoint::initialize(server.address, NEWEST)).collect();
    let mut firsts = Vec::new();
    for round in 0..10 {
        for client in &clients {
            // Its answer is some 300 bytes.
            let request = client.post(&call(round, "test_simple_text", json!({}))).set("Accept", "text/event-stream");
            let events = rest(&mut Events::open(HttpConnection::connect(server.address), &request));
            assert_eq!(events.last().expect("an answer").json()["id"], round, "an answer is complete if read at once");
            firsts.push((client, round, events[0].id.clone().expect("an id")));
        }
    }
    let again = |(client, _, id): &(&Endpoint, u64, String)| {
        let mut stream = Events::open(HttpConnection::connect(server.address), &client.get().with("Last-Event-ID", id));
        next(&mut stream)
    };
    let last = again(&firsts[79]);
    assert!(last["id"] == 9 && last.get("result").is_some(), "{last}");
    let first = again(&firsts[0]);
    assert_eq!((&first["id"], &first["error"]["data"]["reason"]), (&json!(0), &json!("answer_dropped")), "{first}");
}

/// A principal that holds all streams loses one to another principal.
#[test]
fn streams_are_shared_between_principals() {
    let tokens = vec![Token::new("alice", ALICE), Token::new("bob", BOB)];
    let server =
        HttpServer::serve(&Home::new(), Settings { tokens: tokens.into(), connections: 32, ..Settings::default() });
    let listen = |token: &str| {
        let params = json!({"notifications": {"toolsListChanged": true}});
        let listen = Endpoint::new(server.address).post(&stateless(7, "subscriptions/listen", params));
        let mut connection = server.connect();
        let response = connection.exchange(&listen.with("Authorization", &format!("Bearer {token}")));
        (connection, response)
    };
    let mut hers: Vec<_> =
        (0..30).map(|_| listen(ALICE)).map(|(connection, head)| Events::from_response(connection, head)).collect();
    let (_, full) = listen(ALICE);
    assert_eq!((full.status, full.header("retry-after")), (503, Some("10")), "{}", full.text());
    assert!(full.text().contains("too_many_streams") && full.text().contains(r#""id":7"#), "{}", full.text());
    let (_line, his) = listen(BOB);
    assert_eq!(his.status, 200);
    rest(&mut hers[0]);
    assert_eq!(listen(ALICE).1.status, 503, "alice still has the most");
}

/// Clients of the handshake revisions cancel with a notification.
#[test]
fn a_session_cancels_with_a_notification() {
    let home = Home::with(&["everything"]);
    let (process, address) = serve(&home, &[]);
    let client = Endpoint::initialize(address, NEWEST);
    let mut stream = client.stream(&slow(5, 30.0));
    stream.next_message().expect("a step");
    let accepted =
        client.exchange(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}}));
    assert_eq!(accepted.status, 202);
    assert!(rest(&mut stream).iter().all(|event| !event.data.contains("\"id\":5")), "no answer");
    process.log_with("cancelled");
}

/// P12: request ids and cancellations are scoped to a session.
#[test]
fn p12_a_session_cancels_only_its_own_requests() {
    let server = server();
    let mine = Endpoint::initialize(server.address, NEWEST);
    let other = Endpoint::initialize(server.address, NEWEST);
    let mut stream = mine.stream(&slow(5, 1.2));
    let mut beside = other.stream(&slow(5, 1.2));
    stream.next_message().expect("a step");
    beside.next_message().expect("a step");
    other.exchange(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}}));
    assert_eq!(rest(&mut stream).last().expect("an answer").json()["id"], 5);
    assert!(rest(&mut beside).iter().all(|event| !event.data.contains("\"result\"")));
}

/// At shutdown calls are drained, and streams end.
#[test]
fn shutdown_drains_calls_and_ends_streams() {
    let home = Home::with(&["everything"]);
    let (mut process, address) = serve(&home, &[]);
    let client = Endpoint::initialize(address, NEWEST);
    let mut own = client.listen();
    let mut stream = client.stream(&slow(5, 1.0));
    stream.next_message().expect("a step");
    let begun = Instant::now();
    process.signal(rustix::process::Signal::TERM);
    assert_eq!(rest(&mut stream).last().expect("an answer").json()["id"], 5);
    rest(&mut own);
    assert!(process.wait().success());
    assert!(begun.elapsed() < Duration::from_secs(5).min(TIMEOUT), "took {:?}", begun.elapsed());
}
