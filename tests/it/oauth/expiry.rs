//! Streams end when their token expires, and their client comes back with another one.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::issuer::{Issuer, by};
use crate::support::TIMEOUT;
use crate::support::events::Events;
use crate::support::home::Home;
use crate::support::http::{HttpServer, Request};
use crate::support::streamable::{Endpoint, initialize, request, stateless};

const NEWEST: &str = "2025-11-25";

/// A session of that token.
pub(super) fn session(server: &HttpServer, token: &str) -> Endpoint {
    let mut client = Endpoint::new(server.address);
    let opened = server.exchange(&by(client.post(&initialize(NEWEST)), token));
    client.session = Some(opened.header("mcp-session-id").expect("a session").to_owned());
    client.version = Some(NEWEST.into());
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(server.exchange(&by(client.post(&initialized), token)).status, 202);
    client
}

/// Returns when a token is no longer accepted.
fn until_expired(server: &HttpServer, token: &str) {
    let begun = Instant::now();
    while server.exchange(&by(server.discover(), token)).status != 401 {
        assert!(begun.elapsed() < TIMEOUT, "the token does not expire");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// A call that reports progress every half second.
fn slow(mut call: Value) -> Value {
    call["params"]["_meta"]["progressToken"] = json!("p");
    call
}

fn slow_params() -> Value {
    json!({"name": "everything_slow_compute", "arguments": {"seconds": 5.0}})
}

#[test]
fn streams_without_an_end_of_their_own_end_with_the_token() {
    let issuer = Issuer::start();
    let server = HttpServer::start(issuer.settings());
    server.catalog.set_ready();
    let (short, long) = (issuer.short_token("alice", 4), issuer.token("alice"));
    let client = session(&server, &short);
    let listen = stateless(2, "subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}));
    let old = Request::new("GET", "/sse", server.address);
    let open = |token: &str| {
        [client.get(), client.post(&listen), old.clone()].map(|request| {
            let mut stream = Events::open(server.connect(), &by(request, token));
            stream.next_event().expect("its first event");
            stream
        })
    };
    let ending = open(&short);
    let [mut own, mut listening, mut sse] = ending;
    assert_eq!(own.next_message(), None);
    assert_eq!(sse.next_message(), None);
    // It ends as the revision wants it: cancelled, and with a result.
    let last: Vec<Value> = std::iter::from_fn(|| listening.next_message()).map(|event| event.json()).collect();
    let methods: Vec<_> = last.iter().map(|message| message["method"].as_str()).collect();
    assert_eq!(methods, [Some("notifications/cancelled"), None], "{last:?}");
    assert_eq!((&last[1]["id"], last[1].get("result").is_some()), (&json!(2), true), "{last:?}");
    until_expired(&server, &short);
    // The session goes on with another token of its owner.
    let ping = client.post(&request(1, "ping", json!({})));
    assert_eq!(server.exchange(&by(ping.clone(), &short)).status, 401);
    assert_eq!(server.exchange(&by(ping, &long)).status, 200);
    open(&long);
}

#[test]
fn running_calls_finish_and_streams_are_resumed_with_another_token() {
    let issuer = Issuer::start();
    let home = Home::with(&["everything"]);
    let server = HttpServer::serve(&home, issuer.settings());
    let long = issuer.token("alice");
    let warm = by(Endpoint::new(server.address).post(&stateless(1, "tools/list", json!({}))), &long);
    assert_eq!(server.exchange(&warm).status, 200);
    let short = issuer.short_token("alice", 3);
    let client = session(&server, &short);
    let whole = by(client.post(&stateless(3, "tools/call", slow_params())), &short).set("Accept", "application/json");
    let streamed = by(client.post(&slow(stateless(4, "tools/call", slow_params()))), &short);
    let in_session = by(client.post(&slow(request(5, "tools/call", slow_params()))), &short);
    std::thread::scope(|scope| {
        let whole = scope.spawn(|| server.exchange(&whole));
        let streamed = scope.spawn(|| {
            let mut stream = Events::open(server.connect(), &streamed);
            std::iter::from_fn(|| stream.next_message()).last().expect("an answer").json()
        });
        let mut stream = Events::open(server.connect(), &in_session);
        let seen: Vec<_> = std::iter::from_fn(|| stream.next_message()).collect();
        let last = seen.last().expect("a step");
        assert_eq!(last.json()["method"], "notifications/progress", "the token expires before the answer");
        until_expired(&server, &short);
        let resume = client.get().with("Last-Event-ID", last.id.as_deref().expect("an id"));
        assert_eq!(server.exchange(&by(resume.clone(), &short)).status, 401);
        let mut rest = Events::open(server.connect(), &by(resume, &long));
        let answer = std::iter::from_fn(|| rest.next_message()).last().expect("an answer").json();
        assert_eq!((&answer["id"], answer.get("result").is_some()), (&json!(5), true), "{answer}");
        let whole = whole.join().expect("no panic");
        assert!(whole.status == 200 && whole.text().contains(r#""id":3"#), "{}", whole.text());
        let streamed = streamed.join().expect("no panic");
        assert_eq!((&streamed["id"], streamed.get("result").is_some()), (&json!(4), true), "{streamed}");
    });
}

/// A token may expire before there is anything to say: the client still learns where to resume.
#[test]
fn a_stream_that_begins_after_its_token_has_expired_can_be_resumed() {
    let issuer = Issuer::start();
    let server = HttpServer::serve(&Home::with(&["everything"]), issuer.settings());
    let (short, long) = (issuer.short_token("alice", 3), issuer.token("alice"));
    let client = session(&server, &short);
    // A response is a stream if it takes five seconds.
    let silent = json!({"name": "everything_slow_compute", "arguments": {"seconds": 7.0}});
    let mut stream = Events::open(server.connect(), &by(client.post(&request(5, "tools/call", silent)), &short));
    let events: Vec<_> = std::iter::from_fn(|| stream.next_event()).collect();
    assert!(events.len() == 1 && events[0].data.is_empty(), "{events:?}");
    let resume = client.get().with("Last-Event-ID", events[0].id.as_deref().expect("an id"));
    let mut rest = Events::open(server.connect(), &by(resume, &long));
    let answer = std::iter::from_fn(|| rest.next_message()).last().expect("an answer").json();
    assert_eq!((&answer["id"], answer.get("result").is_some()), (&json!(5), true), "{answer}");
}

/// A client of HTTP+SSE would lose its session with its stream.
#[test]
fn a_stream_of_http_sse_lasts_as_long_as_its_requests_bring_new_tokens() {
    let issuer = Issuer::start();
    let server = HttpServer::start(issuer.settings());
    let (short, long) = (issuer.short_token("alice", 3), issuer.token("alice"));
    let mut stream = Events::open(server.connect(), &by(Request::new("GET", "/sse", server.address), &short));
    let path = stream.next_event().expect("an endpoint").data;
    let mut ping = |id: u64, token: &str| {
        let ping = request(id, "ping", json!({})).to_string();
        let post = Request::new("POST", &path, server.address).json(ping);
        assert_eq!(server.exchange(&by(post, token)).status, 202);
        assert_eq!(stream.next_message().expect("an answer").json()["id"], id);
    };
    ping(1, &short);
    ping(2, &long);
    until_expired(&server, &short);
    ping(3, &long);
}
