//! One client exhausts a shared resource that another needs. Over HTTP they are two users at one
//! address, with a token each; on stdio there is one client, which exhausts the resources of one
//! plugin.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::Row;
use crate::arena::{Arena, PROMPT, Setup, outcome_code};
use crate::host::{ALICE, BOB};
use crate::stalled::StalledClient;
use crate::support::guest::Guest;
use crate::support::home::Home;
use crate::support::http::{HttpConnection, Request, Response};
use crate::support::streamable::{Endpoint, initialize, request, stateless};

pub(crate) const ROWS: &[Row] = rows![
    h62_one_user_takes_all_sessions,
    h63_one_user_takes_all_turns,
    h64_one_user_takes_all_streams,
    h65_faults_caused_by_one_user,
    h66_slow_calls_of_one_connection,
    h67_batches_with_ids_in_use,
    h68_partial_messages,
];

/// Two users.
const TOKENS: &str = "tokens = [{ name = 'alice', env = 'ALICE' }, { name = 'bob', env = 'BOB' }]\n";

/// An arena whose client is Bob over HTTP.
fn with_users(mut setup: Setup, settings: &str) -> Arena {
    setup.start.token = Some(BOB);
    setup.open(&format!("{TOKENS}{settings}"))
}

fn as_user(request: Request, token: &str) -> Request {
    request.with("Authorization", &format!("Bearer {token}"))
}

fn response(connection: &mut HttpConnection<std::net::TcpStream>, request: &Request) -> Option<Response> {
    connection.send(&request.bytes());
    connection.response()
}

fn h62_one_user_takes_all_sessions(setup: Setup) -> Arena {
    const MANY: usize = 1_100;
    let mut arena = with_users(setup, "");
    arena.bounded(96 << 20, 64 << 20);
    let hello = initialize("2025-11-25");
    let Some(address) = arena.address() else {
        // On stdio the connection is the only session.
        for n in 0..MANY {
            arena.send_raw(&hello.to_string().replacen("\"id\":0", &format!("\"id\":\"h{n}\""), 1), &[]);
        }
        let answers = arena.strays(Duration::from_secs(10), |strays| strays.len() == MANY);
        assert_eq!(answers.len(), MANY, "handshakes that were answered");
        return arena;
    };
    let post = Endpoint::new(address).post(&hello);
    let opened = arena.meanwhile(|| {
        let mut connection = HttpConnection::connect(address);
        let mut opened = 0;
        for _ in 0..MANY {
            match response(&mut connection, &as_user(post.clone(), ALICE)) {
                Some(response) => opened += usize::from(response.status == 200),
                None => connection = HttpConnection::connect(address),
            }
        }
        opened
    });
    assert!(opened > 0, "Alice opened no session");
    let handshake = HttpConnection::connect(address).exchange(&as_user(post, BOB));
    assert_eq!(handshake.status, 200, "Bob's handshake, when Alice has opened {opened} sessions: {}", handshake.text());
    let mut bob = Endpoint::new(address);
    bob.session = handshake.header("mcp-session-id").map(str::to_owned);
    bob.version = Some("2025-11-25".into());
    let ping = as_user(bob.post(&request(1, "ping", json!({}))), BOB);
    assert_eq!(HttpConnection::connect(address).exchange(&ping).status, 200, "a ping in Bob's session");
    arena
}

fn h63_one_user_takes_all_turns(setup: Setup) -> Arena {
    let mut arena = with_users(setup, "");
    arena.loads_guest("hostile", "hostile");
    arena.prompt();
    let Some(address) = arena.address() else {
        // All turns and the queues of two plugins; the bystander is another one.
        arena.loads_guest("hostile", "other");
        let pending: Vec<u64> = (0..100)
            .map(|n| arena.start_call(if n % 2 == 0 { "hostile_sleep" } else { "other_sleep" }, json!({"seconds": 1})))
            .collect();
        for id in pending {
            let answer = arena.answer(id);
            assert!(answer.took < Duration::from_secs(9), "a call waited for {:?}", answer.took);
        }
        return arena;
    };
    let endpoint = Endpoint::new(address);
    let sleep = as_user(
        endpoint.post(&stateless(1, "tools/call", json!({"name": "hostile_sleep", "arguments": {"seconds": 1}}))),
        ALICE,
    );
    let done = Arc::new(AtomicBool::new(false));
    let stop = Arc::clone(&done);
    let alice = std::thread::spawn(move || {
        let mut connections = Vec::new();
        while !stop.load(Ordering::SeqCst) && connections.len() < 150 {
            for _ in 0..if connections.is_empty() { 40 } else { 6 } {
                let mut connection = HttpConnection::connect(address);
                connection.send(&sleep.bytes());
                connections.push(connection);
            }
            std::thread::park_timeout(Duration::from_millis(300));
        }
        connections
    });
    arena.pause(Duration::from_millis(600));
    for n in 0..4 {
        let began = Instant::now();
        let id = arena.start_call("hostile_sane", json!({}));
        let message = arena.answer(id).message;
        let took = began.elapsed();
        assert_eq!(outcome_code(&message), "ok", "Bob's call {n} while Alice has all turns, after {took:?}: {message}");
        assert!(took < Duration::from_millis(3500), "Bob's call {n} while Alice has all turns took {took:?}");
    }
    done.store(true, Ordering::SeqCst);
    let connections = alice.join().expect("Alice");
    // Closing her connections cancels her calls.
    drop(connections);
    arena
}

fn h64_one_user_takes_all_streams(setup: Setup) -> Arena {
    // Fewer than the limit per address, so that the total is exhausted.
    let mut arena = with_users(setup, "connections = 200\n");
    arena.prompt();
    let listen = json!({"notifications": {"toolsListChanged": true}});
    let Some(address) = arena.address() else {
        let pending: Vec<u64> =
            (0..300).map(|_| arena.start_request("", "subscriptions/listen", listen.clone())).collect();
        arena.pause(Duration::from_secs(1));
        pending.into_iter().for_each(|id| arena.cancel(id));
        arena.strays(Duration::from_millis(300), |_| false);
        arena.loses_records();
        return arena;
    };
    let post = as_user(Endpoint::new(address).post(&stateless(1, "subscriptions/listen", listen)), ALICE);
    // Continues after refusals, and keeps only the streams.
    let open = arena.meanwhile(|| {
        let open = |_| {
            let mut connection = HttpConnection::connect(address);
            let is_stream = |it: &Response| it.header("content-type") == Some("text/event-stream");
            response(&mut connection, &post).filter(is_stream).map(|_| connection)
        };
        (0..300).filter_map(open).collect::<Vec<_>>()
    });
    assert!(!open.is_empty(), "Alice has no stream");
    arena.until_within(Duration::from_secs(5), "Bob is served while Alice has all streams", |_| {
        let bob = as_user(
            // An id that the arena does not use.
            Endpoint::new(address).post(&stateless(
                1_000_009,
                "tools/call",
                json!({"name": "echo", "arguments": {"message": "b"}}),
            )),
            BOB,
        );
        let mut connection = HttpConnection::connect(address);
        response(&mut connection, &bob).is_some_and(|response| response.status == 200)
    });
    arena.pause(Duration::from_secs(1));
    drop(open);
    arena
}

fn h65_faults_caused_by_one_user(setup: Setup) -> Arena {
    let guest = Guest::returning("1").returns_letters("large", 5 << 20).does("crash", "unreachable").build();
    let mut arena = with_users(setup, "");
    arena.loads("p", &guest);
    let Some(address) = arena.address() else {
        // The quarantine applies to one plugin.
        for _ in 0..8 {
            let id = arena.start_call("p_crash", json!({}));
            arena.faulted(id, &["trap", "quarantined"]);
        }
        arena.loads("other", &guest);
        arena.expect_text("other_version", json!({}), "1");
        return arena;
    };
    for n in 0..16 {
        let tool = if n % 2 == 0 { "p_large" } else { "p_crash" };
        let post = as_user(Endpoint::new(address).post(&stateless(1, "tools/call", json!({"name": tool}))), ALICE);
        HttpConnection::connect(address).exchange(&post);
    }
    for _ in 0..3 {
        let id = arena.start_call("p_version", json!({}));
        let message = arena.answer(id).message;
        assert_eq!(outcome_code(&message), "ok", "Bob's call, when Alice has made the plugin fail: {message}");
    }
    arena
}

/// A session of `revision`; `None` on stdio, where the connection is initialized.
fn session(arena: &mut Arena, revision: &str) -> Option<Endpoint> {
    let Some(address) = arena.address() else {
        arena.send_raw(&initialize(revision).to_string().replacen("\"id\":0", "\"id\":\"hello\"", 1), &[]);
        let answer = arena.strays(Duration::from_secs(5), |strays| !strays.is_empty());
        assert_eq!(answer[0]["result"]["protocolVersion"], revision, "{answer:?}");
        arena.send_raw(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, &[]);
        return None;
    };
    Some(Endpoint::initialize(address, revision))
}

/// Sends a text in the session.
fn say(arena: &mut Arena, session: Option<&Endpoint>, text: &str) {
    let id = session.and_then(|endpoint| endpoint.session.clone()).unwrap_or_default();
    let version = session.and_then(|endpoint| endpoint.version.clone()).unwrap_or_default();
    arena.send_raw(text, &[("Mcp-Session-Id", &id), ("MCP-Protocol-Version", &version)]);
}

fn called(id: &str, tool: &str, arguments: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
        .to_string()
}

fn h66_slow_calls_of_one_connection(setup: Setup) -> Arena {
    const CALLS: usize = 300;
    let mut arena = setup.open("");
    arena.loads_guest("hostile", "hostile");
    let session = session(&mut arena, "2025-11-25");
    arena.prompt();
    let sleep = |n: usize| called(&format!("s{n}"), "hostile_sleep", &json!({"seconds": 1}));
    if let Some(session) = &session {
        for part in 0..CALLS / 150 {
            // Closing the connection does not cancel a call of a session.
            let post = |n: usize| session.post(&serde_json::from_str(&sleep(part * 150 + n)).expect("JSON")).bytes();
            let open: Vec<_> = (0..150)
                .map(|n| {
                    let mut connection = HttpConnection::connect(session.address);
                    connection.send(&post(n));
                    connection
                })
                .collect();
            arena.pause(Duration::from_millis(400));
            drop(open);
        }
    } else {
        (0..CALLS).for_each(|n| arena.send_raw(&sleep(n), &[]));
    }
    arena.pause(Duration::from_millis(300));
    for n in 0..5 {
        let (began, id) = (Instant::now(), format!("e{n}"));
        say(&mut arena, session.as_ref(), &called(&id, "echo", &json!({"message": "here"})));
        let mut seen = Vec::new();
        while !seen.iter().any(|answer: &Value| answer["id"] == id) {
            seen.extend(arena.strays(Duration::from_millis(50), |strays| strays.iter().any(|it| it["id"] == id)));
            let took = began.elapsed();
            assert!(took < PROMPT, "another plugin's call behind {CALLS} slow ones is not answered after {took:?}");
        }
        let answer = seen.iter().find(|answer| answer["id"] == id).expect("just seen");
        assert_eq!(outcome_code(answer), "ok", "another plugin's call behind {CALLS} slow ones: {answer}");
    }
    if session.is_none() {
        // Each gets an answer within the time that a call may wait for its turn.
        let answers = arena.strays(Duration::from_secs(9), |strays| strays.len() >= CALLS - 60);
        assert!(answers.len() >= CALLS - 60, "{} of {CALLS} slow calls are answered after 9 s", answers.len());
        arena.strays(Duration::from_secs(6), |_| false);
    } else {
        arena.pause(Duration::from_secs(6));
    }
    arena
}

fn h67_batches_with_ids_in_use(setup: Setup) -> Arena {
    let mut arena = setup.open("");
    arena.loads_guest("hostile", "hostile");
    let session = session(&mut arena, "2025-03-26");
    arena.prompt();
    // Number of results under an id, in batches or alone.
    let results = |answers: &[Value], id: &str| {
        let flat = answers.iter().flat_map(|answer| match answer {
            Value::Array(all) => all.clone(),
            one => vec![one.clone()],
        });
        flat.filter(|answer| answer["id"] == id && answer.get("result").is_some()).count()
    };
    let list = |id: &str| json!({"jsonrpc": "2.0", "id": id, "method": "tools/list"}).to_string();
    let ping = |id: &str| json!({"jsonrpc": "2.0", "id": id, "method": "ping"}).to_string();
    let sleep = |id: &str| called(id, "hostile_sleep", &json!({"seconds": 1}));

    say(&mut arena, session.as_ref(), &sleep("a"));
    arena.pause(Duration::from_millis(200));
    say(&mut arena, session.as_ref(), &format!("[{},{}]", list("a"), ping("a")));
    say(&mut arena, session.as_ref(), &format!("[{}]", sleep("a")));
    arena.pause(Duration::from_millis(2200));
    let answers = arena.strays(Duration::from_millis(300), |_| false);
    assert_eq!(results(&answers, "a"), 1, "results under an id that was in flight: {answers:?}");

    for (first, second) in
        [(list("b"), ping("b")), (ping("b"), ping("b")), (sleep("b"), list("b")), (sleep("b"), sleep("b"))]
    {
        say(&mut arena, session.as_ref(), &format!("[{first},{second}]"));
        let answers = arena.strays(Duration::from_millis(2500), |strays| !strays.is_empty());
        assert!(results(&answers, "b") <= 1, "two results under an id that is twice in a batch: {answers:?}");
        arena.strays(Duration::from_millis(200), |_| false);
    }

    // 300 at once: each takes a slot or is refused, within the time limit.
    for batch in 0..3 {
        let all: Vec<String> = (0..100).map(|n| sleep(&format!("c{batch}-{n}"))).collect();
        say(&mut arena, session.as_ref(), &format!("[{}]", all.join(",")));
    }
    arena.strays(Duration::from_secs(9), |strays| strays.iter().filter(|it| it.is_array()).count() == 3);
    arena
}

fn h68_partial_messages(setup: Setup) -> Arena {
    let transport = setup.transport;
    let mut arena = setup.open("header-timeout = '1s'\nbody-timeout = '1s'\n");
    arena.prompt();
    if !transport.is_http() {
        arena.meanwhile(|| {
            for text in ["{\"jsonrpc\":", &format!("{{\"x\":\"{}", "x".repeat(3 << 20)), "[{\"jsonrpc\":\"2.0\""] {
                let mut stalled = StalledClient::serve(Home::with(&["echo"]));
                stalled.send(text);
                stalled.grows_at_most(32 << 20, Duration::from_millis(200));
                stalled.close_input();
                stalled.expect_clean_exit(false);
            }
        });
        return arena;
    }
    let address = arena.address().expect("it listens");
    let post = Endpoint::new(address).post(&initialize("2025-11-25"));
    let whole = post.bytes();
    let parts: [&[u8]; 4] = [b"", b"P", &whole[..whole.len() - post.body.len() - 3], &whole[..whole.len() - 5]];
    let mut open = Vec::new();
    for part in parts {
        for _ in 0..50 {
            let mut connection = HttpConnection::connect(address);
            connection.send(part);
            open.push(connection);
        }
    }
    // Unused sessions, each on its own connection.
    for _ in 0..20 {
        HttpConnection::connect(address).send(&whole);
    }
    // Sending single bytes does not keep a connection open.
    let began = Instant::now();
    let mut drip = 0;
    while began.elapsed() < Duration::from_secs(4) {
        for connection in open.iter_mut().step_by(10) {
            connection.send(b"x");
        }
        drip += 1;
        arena.pause(Duration::from_millis(200));
    }
    let closed = open
        .iter_mut()
        .filter_map(|connection| connection.is_closed_after(Duration::from_millis(50)).then_some(()))
        .count();
    assert!(closed + 60 >= open.len(), "after {drip} bytes {closed} of {} partial requests are closed", open.len());
    for connection in &mut open {
        // Responses before the close are discarded.
        while !connection.is_closed_after(Duration::from_secs(2)) {
            assert!(began.elapsed() < Duration::from_secs(20), "a partial request is never closed");
        }
    }
    arena
}
