//! Clients that request much data and do not read it, or disconnect before the answer.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::Row;
use crate::arena::{Arena, Setup};
use crate::stalled::StalledClient;
use crate::support::events::Events;
use crate::support::guest::Guest;
use crate::support::home::Home;
use crate::support::http::{HttpConnection, Request};
use crate::support::streamable::{Endpoint, initialize, request, stateless};

pub(crate) const ROWS: &[Row] = rows![
    h58_unread_results,
    h59_unread_logs_and_progress,
    h60_clients_that_disconnect_early,
    h61_large_queued_arguments,
];

const MIB: u64 = 1 << 20;
/// Limit of buffered bytes: 96 MiB on stdio, 128 MiB per caller over HTTP, and the memory of four
/// running calls. The answers here are 384 MB.
const PEAK: u64 = 224 * MIB;
/// The same for arguments over HTTP, whose budget is 256 MiB.
const PEAK_OF_ARGUMENTS: u64 = 336 * MIB;
const LEFT: u64 = 64 * MIB;
const CALLS: usize = 96;
/// Bytes of a result, of 4 MiB at most.
const RESULT: usize = 4_000_000;
/// First id in additional sessions, since the audit log identifies calls by id.
const OWN: u64 = 1_000_000;
/// For how long the peak is measured.
const WATCHED: Duration = Duration::from_secs(6);

fn large() -> Vec<u8> {
    Guest::returning("1").returns_letters("large", RESULT).returns_letters("some", 2_000_000).build()
}

/// Calls of a session, one per line.
fn lines(count: usize, tool: &str, meta: &Value) -> String {
    let call = |n: usize| request(n as u64, "tools/call", json!({"name": tool, "arguments": {}, "_meta": meta}));
    (1..=count).map(|n| format!("{}\n", call(n))).collect()
}

fn home_with(plugin: &str, bytes: &[u8]) -> Home {
    let home = Home::new();
    home.put_bytes(bytes, plugin);
    home
}

fn h58_unread_results(setup: Setup) -> Arena {
    let transport = setup.transport;
    let mut arena = setup.open("");
    if !transport.is_http() {
        arena.meanwhile(|| {
            let mut stalled = StalledClient::serve(home_with("big", &large()));
            stalled.send_in_background(lines(CALLS, "big_large", &json!({})));
            stalled.grows_at_most(PEAK, WATCHED);
            // Each call gets an answer, possibly that its result was dropped.
            let (answers, reading) = stalled.read_in_background("\"id\":");
            let began = Instant::now();
            while answers.load(Ordering::SeqCst) < CALLS {
                let count = answers.load(Ordering::SeqCst);
                assert!(began.elapsed() < Duration::from_secs(40), "{count} of {CALLS} are answered");
                stalled.grows_at_most(PEAK, Duration::from_millis(100));
            }
            stalled.shrinks_to(LEFT, Duration::from_secs(30));
            stalled.expect_clean_exit(true);
            let _ = reading.join();
        });
        arena.meanwhile(|| {
            let mut stalled = StalledClient::serve(home_with("big", &large()));
            stalled.send_in_background(lines(16, "big_large", &json!({})));
            stalled.grows_at_most(PEAK, Duration::from_secs(1));
            stalled.expect_clean_exit(true);
        });
        return arena;
    }
    arena.loads("big", &large());
    arena.bounded(PEAK, LEFT);
    let endpoint = Endpoint::new(arena.address().expect("it listens"));
    let call = endpoint.post(&stateless(1, "tools/call", json!({"name": "big_large"}))).bytes();
    // Four pipelined calls per connection.
    let mut connections: Vec<_> = (0..CALLS).map(|_| HttpConnection::connect(endpoint.address)).collect();
    for connection in &mut connections {
        connection.send(&call.repeat(4));
    }
    arena.pause(WATCHED);
    drop(connections);
    arena
}

fn h59_unread_logs_and_progress(mut setup: Setup) -> Arena {
    let words = "x".repeat(4 << 10);
    let guest = Guest::returning("1")
        .logs("log", &words, 200, "")
        .reports_progress_times("steps", 100_000, "")
        .reports_progress("step", &"y".repeat(60 << 10))
        .logs_data("data", &"l".repeat(60), &format!("[\"{}\"]", "z".repeat(60 << 10)))
        .returns_letters("large", RESULT)
        .build();
    let mut calls = String::new();
    let mut id = OWN;
    for _ in 0..36 {
        for tool in ["log", "steps", "step", "data", "large"] {
            let meta = json!({"progressToken": id});
            let call =
                request(id, "tools/call", json!({"name": format!("big_{tool}"), "arguments": {}, "_meta": meta}));
            calls += &format!("{call}\n");
            id += 1;
        }
    }
    let level = request(0, "logging/setLevel", json!({"level": "debug"}));
    let transport = setup.transport;
    setup.start.sse = true;
    let mut arena = setup.open("");
    if !transport.is_http() {
        arena.meanwhile(|| {
            let mut stalled = StalledClient::serve(home_with("big", &guest));
            stalled.send_in_background(format!("{level}\n{calls}"));
            stalled.grows_at_most(PEAK, WATCHED);
            stalled.expect_clean_exit(true);
        });
        return arena;
    }
    arena.loads("big", &guest);
    arena.bounded(PEAK, LEFT);
    let address = arena.address().expect("it listens");
    // One stream for all messages, of which only the endpoint is read.
    let get = Request::new("GET", "/sse", address).with("Accept", "text/event-stream");
    let mut stream = Events::open(HttpConnection::connect(address), &get);
    let place = stream.next_event().expect("an endpoint").data;
    let mut posts = HttpConnection::connect(address);
    let mut post = |message: &str| posts.exchange(&Request::new("POST", &place, address).json(message)).status;
    let begun = [
        initialize("2025-03-26").to_string(),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string(),
    ];
    for message in begun.iter().chain([&level.to_string()]) {
        assert_eq!(post(message), 202, "{message}");
    }
    let mut taken = 0;
    for call in calls.lines() {
        // A client that does not read is refused, or its connection is closed.
        taken += usize::from(post(call) == 202);
    }
    assert!(taken > 0, "no call was accepted");
    arena.pause(WATCHED);
    drop(stream);
    arena
}

fn h60_clients_that_disconnect_early(setup: Setup) -> Arena {
    const SESSIONS: usize = 12;
    const EACH: usize = 8;
    let mut arena = setup.open("[plugins.big.limits]\nconcurrency = 8\n");
    arena.loads("big", &large());
    // The answers are 192 MB. Of them, the allocator keeps between 30 and 70 MB for its next allocations.
    arena.bounded(PEAK, 96 * MIB);
    if !arena.transport.is_http() {
        for _ in 0..SESSIONS {
            let pending: Vec<u64> = (0..EACH).map(|_| arena.start_call_with_text("big_some", "{}")).collect();
            arena.pause(Duration::from_millis(150));
            pending.into_iter().for_each(|id| arena.cancel(id));
        }
        arena.strays(Duration::from_millis(500), |_| false);
        return arena;
    }
    let address = arena.address().expect("it listens");
    let mut sessions = Vec::new();
    for _ in 0..SESSIONS {
        let client = Endpoint::initialize(address, "2025-11-25");
        let mut connections = Vec::new();
        for id in 1..=EACH {
            let call = request(OWN + id as u64, "tools/call", json!({"name": "big_some", "arguments": {}}));
            // The answer is buffered for resumption.
            let mut connection = HttpConnection::connect(address);
            connection.send(&client.post(&call).set("Accept", "text/event-stream").bytes());
            connections.push(connection);
        }
        arena.pause(Duration::from_millis(150));
        sessions.push(client);
    }
    let began = Instant::now();
    let over = |arena: &mut Arena| {
        let of_it = |record: &&Value| record["plugin"] == "big" && record.get("method").is_some();
        arena.records().iter().filter(of_it).count()
    };
    while over(&mut arena) < SESSIONS * EACH && began.elapsed() < Duration::from_secs(12) {
        arena.pause(Duration::from_millis(200));
    }
    let calls = over(&mut arena);
    assert!(calls > SESSIONS, "only {calls} calls of disconnected clients have ended");
    arena.pause(Duration::from_millis(500));
    for client in &sessions {
        HttpConnection::connect(address).send(&client.delete().bytes());
    }
    arena
}

fn h61_large_queued_arguments(setup: Setup) -> Arena {
    // One at a time; the others are queued with their arguments.
    let mut arena = setup.open("[plugins.hostile.limits]\nconcurrency = 1\ntimeout = '4s'\n");
    arena.loads_guest("hostile", "hostile");
    arena.bounded(PEAK_OF_ARGUMENTS, LEFT);
    let arguments = format!(r#"{{"seconds":1,"more":"{}"}}"#, "x".repeat(3_900_000));
    let transport = arena.transport;
    let address = arena.address();
    if !transport.is_http() {
        arena.meanwhile(|| {
            let home = Home::with(&["hostile"]);
            home.configure("[plugins.hostile.limits]\nconcurrency = 1\ntimeout = '4s'\n");
            let mut stalled = StalledClient::serve(home);
            let call = |id: usize| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"hostile_sleep","arguments":{arguments}}}}}"#);
            let (_, reading) = stalled.read_in_background("\"id\":");
            stalled.send_in_background((0..100).map(|id| call(id) + "\n").collect());
            stalled.grows_at_most(PEAK, WATCHED);
            stalled.expect_clean_exit(true);
            let _ = reading.join();
        });
        return arena;
    }
    let endpoint = Endpoint::new(address.expect("it listens"));
    let call = stateless(1, "tools/call", json!({"name": "hostile_sleep"})).to_string();
    let call = call.replacen("\"name\"", &format!("\"arguments\":{arguments},\"name\""), 1);
    let post = endpoint.post(&stateless(1, "tools/call", json!({"name": "hostile_sleep"}))).json(call).bytes();
    let post = Arc::new(post);
    let senders: Vec<_> = (0..120)
        .map(|_| {
            let post = Arc::clone(&post);
            let address = endpoint.address;
            std::thread::spawn(move || {
                let mut connection = HttpConnection::connect(address);
                connection.send(&post);
                std::thread::park_timeout(Duration::from_secs(5));
            })
        })
        .collect();
    arena.pause(WATCHED);
    drop(senders);
    arena
}
