//! Two users with a token each: what one of them causes does not affect the other. How they share
//! sessions, streams and bodies is tested with these.

use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::events::Events;
use crate::support::guest::Guest;
use crate::support::home::Home;
use crate::support::http::{HttpConnection, Request, serve};
use crate::support::streamable::{Endpoint, initialize, request, stateless};

const ALICE: &str = "0123456789abcdef0123456789abcdef";
const BOB: &str = "fedcba9876543210fedcba9876543210";

/// Configures a token for both users.
fn with_users(home: &Home, settings: &str) {
    for (name, token) in [("alice", ALICE), ("bob", BOB)] {
        std::fs::write(home.path("config/wharf").join(name), token).expect("a file");
    }
    let tokens = "tokens = [{ name = 'alice', file = 'alice' }, { name = 'bob', file = 'bob' }]";
    home.configure(&format!("{settings}\n[server.http]\n{tokens}\n"));
}

fn by(token: &str, request: Request) -> Request {
    request.with("Authorization", &format!("Bearer {token}"))
}

/// A session of that user.
fn session(address: SocketAddr, token: &str, revision: &str) -> Endpoint {
    let mut endpoint = Endpoint::new(address);
    let hello = HttpConnection::connect(address).exchange(&by(token, endpoint.post(&initialize(revision))));
    endpoint.session = hello.header("mcp-session-id").map(str::to_owned);
    endpoint.version = Some(revision.to_owned());
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(HttpConnection::connect(address).exchange(&by(token, endpoint.post(&initialized))).status, 202);
    endpoint
}

/// The outcome of a call of 2026-07-28: `ok`, or the code of the fault.
fn outcome(address: SocketAddr, token: &str, tool: &str, arguments: Value) -> String {
    let call = stateless(1, "tools/call", json!({"name": tool, "arguments": arguments}));
    let mut connection = HttpConnection::connect(address);
    let response = connection.exchange(&by(token, Endpoint::new(address).post(&call)));
    // A call that takes long, or waits, is answered by a stream.
    let answer = match response.header("content-type") {
        Some("text/event-stream") => Events::from_response(connection, response).next_message().expect("an event").data,
        _ => response.text().to_owned(),
    };
    fault_code(&serde_json::from_str(&answer).expect("an answer"))
}

fn fault_code(answer: &Value) -> String {
    let code = answer["result"]["_meta"]["wharf/fault"]["code"].as_str();
    code.or(answer["error"]["data"]["reason"].as_str()).unwrap_or("ok").to_owned()
}

/// Across all her sessions and connections, only the user who caused the faults is refused.
#[test]
fn only_the_user_who_causes_faults_is_quarantined() {
    let home = Home::new();
    home.put_bytes(&Guest::returning("1").does("crash", "unreachable").build(), "p");
    with_users(&home, "");
    let (_process, address) = serve(&home, &[]);
    for _ in 0..8 {
        outcome(address, ALICE, "p_crash", json!({}));
    }
    assert_eq!(outcome(address, ALICE, "p_version", json!({})), "quarantined");
    let hers = session(address, ALICE, "2025-11-25");
    let call = request(1, "tools/call", json!({"name": "p_version", "arguments": {}}));
    let response = HttpConnection::connect(address).exchange(&by(ALICE, hers.post(&call)));
    let answer = serde_json::from_slice(&response.body).expect("an answer");
    assert_eq!(fault_code(&answer), "quarantined", "in a session of alice");
    assert_eq!(outcome(address, BOB, "p_version", json!({})), "ok");
}

/// A queue of 16, and hundreds of calls by alice in two sessions and on separate connections.
#[test]
fn a_queue_filled_by_one_user_admits_another() {
    let home = Home::with(&["everything"]);
    with_users(&home, "[limits]\nqueue = 16\n");
    let (_process, address) = serve(&home, &[]);
    let slow = json!({"name": "everything_slow_compute", "arguments": {"seconds": 3.0}});
    let mut open: Vec<HttpConnection<TcpStream>> = Vec::new();
    let mut send = |request: Request| {
        let mut connection = HttpConnection::connect(address);
        assert!(connection.send(&by(ALICE, request).bytes()));
        open.push(connection);
    };
    // The queue is full of alice's calls: one more of hers is refused. If that one comes before them, it is admitted, and
    // they have ended when it has: then all are sent again.
    let began = Instant::now();
    loop {
        for _ in 0..2 {
            let hers = session(address, ALICE, "2025-03-26");
            let calls: Vec<Value> = (0..100).map(|id| request(id, "tools/call", slow.clone())).collect();
            send(hers.post_text(&Value::from(calls).to_string()));
        }
        for id in 0..10 {
            send(Endpoint::new(address).post(&stateless(id, "tools/call", slow.clone())));
        }
        if outcome(address, ALICE, "everything_slow_compute", json!({"seconds": 3.0})) == "busy" {
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(30), "the queue is not full");
    }
    for n in 0..3 {
        let began = Instant::now();
        let outcome = outcome(address, BOB, "everything_slow_compute", json!({"seconds": 0.0}));
        assert_eq!(outcome, "ok", "bob's call {n}, after {:?}", began.elapsed());
        assert!(began.elapsed() < Duration::from_millis(4500), "bob's call {n} took {:?}", began.elapsed());
    }
}
