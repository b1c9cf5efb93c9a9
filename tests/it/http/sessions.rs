//! Sessions of the handshake revisions: creation, ownership, limits and end (P26).

use std::collections::HashSet;
use std::time::{Duration, Instant};

use serde_json::json;
use wharf::transport::http::{SessionSettings, Settings, Token};

use crate::support::TIMEOUT;
use crate::support::home::Home;
use crate::support::http::{HttpConnection, HttpServer, Request, serve};
use crate::support::streamable::{Endpoint, initialize, request};

const LEGACY: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

fn with_sessions(max_sessions: usize, idle: Duration) -> HttpServer {
    start(Settings {
        sessions: SessionSettings { max_sessions, idle, ..SessionSettings::default() },
        ..Settings::default()
    })
}

/// Marks the first scan as finished, since a handshake waits for it.
fn start(settings: Settings) -> HttpServer {
    let server = HttpServer::start(settings);
    server.catalog.set_ready();
    server
}

#[test]
fn each_handshake_revision_opens_a_session() {
    let server = start(Settings::default());
    for revision in LEGACY {
        let client = Endpoint::initialize(server.address, revision);
        let pong = client.exchange(&request(1, "ping", json!({})));
        assert_eq!((pong.status, pong.header("content-type")), (200, Some("application/json")));
        assert_eq!(pong.text(), r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
        assert_eq!(pong.header("mcp-session-id"), None, "only the handshake has it");
    }
}

/// P26: 128 random bits in visible ASCII.
#[test]
fn p26_session_ids_cannot_be_guessed() {
    let server = start(Settings::default());
    let ids: HashSet<String> =
        (0..100).map(|_| Endpoint::initialize(server.address, "2025-11-25").session.expect("a session")).collect();
    assert_eq!(ids.len(), 100);
    for id in &ids {
        assert!(id.len() >= 32 && id.bytes().all(|byte| matches!(byte, 0x21..=0x7e)), "{id}");
    }
    // Each position takes many values: there is no counter in an id.
    for place in 0..32 {
        let seen: HashSet<u8> = ids.iter().map(|id| id.as_bytes()[place]).collect();
        assert!(seen.len() > 4, "position {place}: {seen:?}");
    }
}

/// A client cannot choose its session id (P26, fixation), and needs a valid one.
#[test]
fn p26_an_unknown_or_missing_session_is_refused() {
    let server = start(Settings::default());
    let client = Endpoint::initialize(server.address, "2025-11-25");
    let chosen = client.post(&initialize("2025-11-25")).with("Mcp-Session-Id", "0123456789abcdef0123456789abcdef");
    let given = server.exchange(&chosen);
    assert_ne!(given.header("mcp-session-id"), Some("0123456789abcdef0123456789abcdef"));
    let ping = request(1, "ping", json!({}));
    for request in [client.post(&ping), client.get(), client.delete()] {
        let missing = server.exchange(&request.clone().without("Mcp-Session-Id"));
        assert_eq!(missing.status, 400, "{}", request.line);
        assert!(missing.text().contains("Mcp-Session-Id"), "{}", missing.text());
        for wrong in ["0123456789abcdef0123456789abcdef", "", "x", "../x"] {
            let unknown = server.exchange(&request.clone().set("Mcp-Session-Id", wrong));
            assert_eq!(unknown.status, 404, "{} {wrong}", request.line);
        }
    }
    let answer = server.exchange(&client.post(&ping).without("Mcp-Session-Id")).text().to_owned();
    assert!(answer.contains(r#""id":1"#), "an error names the request: {answer}");
}

#[test]
fn a_failed_handshake_opens_no_session() {
    let server = with_sessions(1, Duration::from_secs(60));
    let client = Endpoint::new(server.address);
    let failed = client.exchange(&request(0, "initialize", json!({"protocolVersion": 1})));
    assert_eq!((failed.status, failed.header("mcp-session-id")), (200, None), "{}", failed.text());
    assert!(failed.text().contains("-32602"), "{}", failed.text());
    Endpoint::initialize(server.address, "2025-06-18");
}

/// A second handshake opens a second session, and the first continues.
#[test]
fn a_second_handshake_opens_a_second_session() {
    let server = start(Settings::default());
    let first = Endpoint::initialize(server.address, "2025-11-25");
    let again = server.exchange(
        &first.post(&initialize("2024-11-05")).with("Mcp-Session-Id", first.session.as_deref().expect("one")),
    );
    assert_eq!(again.status, 200);
    assert_ne!(again.header("mcp-session-id"), first.session.as_deref());
    // 2025-11-25 refuses batches, 2024-11-05 accepts them.
    assert_eq!(server.exchange(&first.post(&json!([request(1, "ping", json!({}))]))).status, 400);
    let mut second = first.clone();
    second.session = again.header("mcp-session-id").map(str::to_owned);
    second.version = Some("2024-11-05".into());
    assert_eq!(second.exchange(&json!([request(1, "ping", json!({}))])).status, 200);
}

const ALICE: &str = "0123456789abcdef0123456789abcdef";
const BOB: &str = "fedcba9876543210fedcba9876543210";

/// P26: the id of a session gives other principals no access.
#[test]
fn p26_a_session_belongs_to_its_principal() {
    let (mine, other) = ("0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210");
    let tokens = vec![Token::new("me", mine), Token::new("other", other)];
    let server = start(Settings { tokens: tokens.into(), ..Settings::default() });
    let mut client = Endpoint::new(server.address);
    let bearer = |token: &str| format!("Bearer {token}");
    let hello = server.exchange(&client.post(&initialize("2025-11-25")).with("Authorization", &bearer(mine)));
    client.session = hello.header("mcp-session-id").map(str::to_owned);
    let ping = client.post(&request(1, "ping", json!({})));
    for request in [ping.clone(), client.get(), client.delete()] {
        assert_eq!(
            server.exchange(&request.clone().with("Authorization", &bearer(other))).status,
            404,
            "{}",
            request.line
        );
        assert_eq!(server.exchange(&request).status, 401, "{}: the session is no token", request.line);
    }
    assert_eq!(server.exchange(&ping.with("Authorization", &bearer(mine))).status, 200);
}

#[test]
fn p26_a_deleted_session_is_gone() {
    let server = start(Settings::default());
    let client = Endpoint::initialize(server.address, "2025-11-25");
    let mut stream = client.listen();
    assert_eq!(stream.next_event().expect("the first event").data, "");
    let deleted = server.exchange(&client.delete());
    assert_eq!((deleted.status, deleted.text()), (200, ""));
    assert_eq!(stream.next_event(), None, "its stream has ended");
    for request in [client.post(&request(1, "ping", json!({}))), client.get(), client.delete()] {
        assert_eq!(server.exchange(&request).status, 404, "{}", request.line);
    }
}

#[test]
fn p26_a_handshake_over_the_limit_gets_retry_after() {
    assert_eq!(SessionSettings::default().max_sessions, 1024);
    let server = with_sessions(2, Duration::from_secs(60));
    let first = Endpoint::initialize(server.address, "2025-11-25");
    let second = Endpoint::initialize(server.address, "2025-11-25");
    let full = Endpoint::new(server.address).exchange(&initialize("2025-11-25"));
    assert_eq!((full.status, full.header("retry-after"), full.header("mcp-session-id")), (503, Some("60"), None));
    assert!(full.text().contains(r#""id":0"#), "{}", full.text());
    assert_eq!(second.exchange(&request(1, "ping", json!({}))).status, 200);
    server.exchange(&first.delete());
    Endpoint::initialize(server.address, "2025-11-25");
}

/// P26: an unused session expires, also without other requests; one with an open stream does not.
#[test]
fn p26_idle_sessions_expire() {
    assert_eq!(SessionSettings::default().idle, Duration::from_secs(15 * 60));
    let idle = Duration::from_secs(1);
    let server = with_sessions(16, idle);
    let listening = Endpoint::initialize(server.address, "2025-11-25");
    let mut stream = listening.listen();
    stream.next_event().expect("the first event");
    let unused = Endpoint::initialize(server.address, "2025-11-25");
    // Each request renews the session, so each pause is longer.
    let mut pause = 2 * idle;
    while unused.exchange(&request(1, "ping", json!({}))).status != 404 {
        assert!(pause < TIMEOUT, "the session does not expire");
        std::thread::sleep(pause);
        pause *= 2;
    }
    assert_eq!(listening.exchange(&request(1, "ping", json!({}))).status, 200);
}

/// P26: thousands of handshakes open at most 1024 sessions, and existing ones are kept.
#[test]
fn p26_a_flood_of_handshakes_keeps_the_session_limit() {
    const HANDSHAKES: usize = 5000;
    let home = Home::new();
    let (process, address) = serve(&home, &[]);
    let before = Endpoint::initialize(address, "2025-11-25");
    let mut stream = before.listen();
    stream.next_event().expect("the first event");
    let resident = process.resident();
    let hello = Endpoint::new(address).post(&initialize("2025-11-25"));
    let mut connection = HttpConnection::connect(address);
    let mut ids = HashSet::new();
    let begun = Instant::now();
    for number in 0..HANDSHAKES {
        let response = connection.exchange(&hello);
        match response.header("mcp-session-id") {
            Some(id) => assert!(response.status == 200 && ids.insert(id.to_owned()), "{id} twice"),
            None => assert_eq!(response.status, 503, "handshake {number}: {}", response.text()),
        }
    }
    // After half a minute unfinished handshakes expire and make room.
    assert!(ids.len() == 1023 || begun.elapsed() > SessionSettings::default().handshake, "{}", ids.len());
    let growth = process.resident().saturating_sub(resident) >> 20;
    assert!(growth < 32, "{growth} MiB");
    assert_eq!(before.exchange(&request(1, "ping", json!({}))).status, 200);
    let modern = Request::discover(address);
    assert!(connection.exchange(&modern).reached_mcp(), "stateless requests are served");
    assert_eq!(before.exchange(&json!({"jsonrpc": "2.0", "method": "notifications/none"})).status, 202);
    assert_eq!(connection.exchange(&before.delete()).status, 200);
    Endpoint::initialize(address, "2025-11-25");
}

/// The revision of the session applies, whichever known one the header names (HL-17).
#[test]
fn the_version_header_is_optional_and_must_be_known() {
    let server = start(Settings::default());
    for revision in LEGACY {
        let client = Endpoint::initialize(server.address, revision);
        for request in [client.post(&request(1, "ping", json!({}))), client.get().with("Last-Event-ID", "0-0")] {
            assert_eq!(server.exchange(&request.clone().without("MCP-Protocol-Version")).status, 200);
            assert_eq!(server.exchange(&request.clone().set("MCP-Protocol-Version", "2024-11-05")).status, 200);
            for bad in ["2025-11-26", "v1", "", "2025-06-18, 2025-11-25"] {
                let refused = server.exchange(&request.clone().set("MCP-Protocol-Version", bad));
                assert_eq!(refused.status, 400, "{revision} {bad:?}: {}", refused.text());
            }
            for other in ["2099-01-01", revision] {
                let once = request.clone().set("MCP-Protocol-Version", revision);
                assert_eq!(server.exchange(&once.with("mcp-protocol-version", other)).status, 400);
            }
        }
    }
}

/// HL-5, HL-18, HL-19.
#[test]
fn statuses_in_a_session() {
    let server = start(Settings::default());
    for revision in LEGACY {
        let client = Endpoint::initialize(server.address, revision);
        let status = |text: &str| server.exchange(&client.post_text(text)).status;
        // JSON-RPC errors have the status 200.
        assert_eq!(status(r#"{"jsonrpc":"2.0","id":1,"method":"unknown"}"#), 200);
        assert_eq!(status(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"nobody"}}"#), 200);
        // Invalid messages.
        for bad in ["", "{", "1", "null", "{}", r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, "[]"] {
            assert_eq!(status(bad), 400, "{bad}");
        }
        // Notifications, and responses to unknown requests.
        for message in [
            r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#,
            r#"{"jsonrpc":"2.0","method":"unknown"}"#,
            r#"{"jsonrpc":"2.0","id":77,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"m"}}"#,
        ] {
            let taken = server.exchange(&client.post_text(message));
            assert_eq!((taken.status, taken.text()), (202, ""), "{message}");
        }
        let batches = revision < "2025-06-18";
        let both = r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"x"},{"jsonrpc":"2.0","id":2,"method":"ping"}]"#;
        let answer = server.exchange(&client.post_text(both));
        assert_eq!(answer.status, if batches { 200 } else { 400 }, "{revision}: {}", answer.text());
        if batches {
            let answers: serde_json::Value = serde_json::from_slice(&answer.body).expect("JSON");
            assert_eq!(answers.as_array().map(Vec::len), Some(2), "{answers}");
            assert_eq!(status(r#"[{"jsonrpc":"2.0","method":"x"},{"jsonrpc":"2.0","id":9,"result":{}}]"#), 202);
        }
        let outside = server.exchange(&client.post_text(both).without("Mcp-Session-Id"));
        assert_eq!(outside.status, 400);
    }
}

/// HL-4: by `Accept`, and JSON if both are accepted.
#[test]
fn answers_have_an_accepted_content_type() {
    let server = start(Settings::default());
    let client = Endpoint::initialize(server.address, "2025-11-25");
    let ping = client.post(&request(1, "ping", json!({})));
    let (json, events) = (Some("application/json"), Some("text/event-stream"));
    for (accept, kind) in [
        ("application/json, text/event-stream", json),
        ("text/event-stream, application/json;q=0.1", json),
        ("application/json", json),
        ("APPLICATION/JSON", json),
        ("*/*", json),
        ("text/event-stream", events),
        ("text/*", events),
        // A weight of zero refuses, and the more specific type wins.
        ("application/json;q=0, text/event-stream", events),
        ("application/json; Q=0.000, */*;q=0.1", events),
        ("text/event-stream;q=0, */*", json),
        ("*/*;q=0, application/json", json),
        ("application/json;q=0.001", json),
    ] {
        let answer = server.exchange(&ping.clone().set("Accept", accept));
        assert_eq!((answer.status, answer.header("content-type")), (200, kind), "{accept}");
    }
    assert_eq!(server.exchange(&ping.clone().without("Accept")).header("content-type"), json);
    for accept in ["text/html", "image/*", "", "*/*;q=0", "application/json;q=0, text/event-stream;q=0.0"] {
        assert_eq!(server.exchange(&ping.clone().set("Accept", accept)).status, 406, "{accept}");
        assert_eq!(
            HttpConnection::connect(server.address).exchange(&client.get().set("Accept", accept)).status,
            406,
            "{accept}"
        );
    }
    assert_eq!(server.exchange(&client.get().set("Accept", "application/json")).status, 406);
}

/// P26: a principal that holds all sessions loses its oldest one to another principal.
#[test]
fn p26_one_principal_cannot_take_all_sessions() {
    let tokens = vec![Token::new("alice", ALICE), Token::new("bob", BOB)];
    let sessions = SessionSettings { max_sessions: 32, ..SessionSettings::default() };
    let server = start(Settings { tokens: tokens.into(), sessions, ..Settings::default() });
    let hello = |token: &str| {
        let hello = Endpoint::new(server.address).post(&initialize("2025-11-25"));
        server.exchange(&hello.with("Authorization", &format!("Bearer {token}")))
    };
    let hers: Vec<_> = (0..32).map(|_| hello(ALICE)).collect();
    assert!(hers.iter().all(|answer| answer.status == 200));
    let full = hello(ALICE);
    assert_eq!((full.status, full.header("retry-after")), (503, Some("60")));
    assert_eq!(hello(BOB).status, 200);
    assert_eq!(hello(ALICE).status, 503, "alice still has the most");
    let ping = |session: &crate::support::http::Response, token: &str| {
        let mut client = Endpoint::new(server.address);
        client.session = session.header("mcp-session-id").map(str::to_owned);
        let ping = client.post(&request(1, "ping", json!({})));
        server.exchange(&ping.with("Authorization", &format!("Bearer {token}"))).status
    };
    assert_eq!((ping(&hers[0], ALICE), ping(&hers[1], ALICE), ping(&hers[31], ALICE)), (404, 200, 200));
}

/// P26: an unfinished handshake expires, whatever else its client sends.
#[test]
fn p26_an_unfinished_handshake_expires() {
    let sessions = SessionSettings { handshake: Duration::from_millis(500), ..SessionSettings::default() };
    let server = start(Settings { sessions, ..Settings::default() });
    let mut client = Endpoint::new(server.address);
    client.session =
        server.exchange(&client.post(&initialize("2025-11-25"))).header("mcp-session-id").map(str::to_owned);
    let finished = Endpoint::initialize(server.address, "2025-11-25");
    let ping = request(1, "ping", json!({}));
    let begun = Instant::now();
    while client.exchange(&ping).status != 404 {
        assert!(begun.elapsed() < TIMEOUT, "the session does not expire");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(finished.exchange(&ping).status, 200);
}
