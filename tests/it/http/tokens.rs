//! Bearer tokens (P22).

use serde_json::json;
use wharf::transport::http::{Settings, Token, TokenSet};

use crate::support::events::Events;
use crate::support::home::Home;
use crate::support::http::{HttpConnection, HttpServer, Request, listening_address};
use crate::support::process::{Process, command, run};
use crate::support::streamable::{Endpoint, initialize, request, stateless};

const SECRET: &str = "0123456789abcdef0123456789abcdef";

/// P22.
#[test]
fn p22_without_a_valid_token_nothing_is_disclosed() {
    let server = HttpServer::start(Settings { tokens: vec![Token::new("ci", SECRET)].into(), ..Settings::default() });
    let bearer = |token: &str| server.discover().with("Authorization", &format!("Bearer {token}"));
    assert!(server.exchange(&bearer(SECRET)).reached_mcp());
    for (what, request, status) in [
        ("no token", server.discover(), 401),
        ("a wrong one", bearer("wrong"), 401),
        ("a part of one", bearer(&SECRET[..31]), 401),
        ("two", bearer(SECRET).with("Authorization", &format!("Bearer {SECRET}")), 400),
    ] {
        let response = server.exchange(&request);
        assert_eq!(response.status, status, "{what}");
        assert!(response.header("www-authenticate").is_some_and(|value| value.starts_with("Bearer")), "{what}");
        assert!(!response.text().contains("0123"), "{what}: {}", response.text());
    }
    let mut in_query = server.discover();
    in_query.line = format!("POST /mcp?access_token={SECRET} HTTP/1.1");
    assert_eq!(server.exchange(&in_query).status, 400, "in the query");
    let mut elsewhere = server.discover();
    elsewhere.line = "POST /elsewhere HTTP/1.1".into();
    assert_eq!(server.exchange(&elsewhere).status, 401, "an unknown path is not disclosed either");
}

/// P22: ten failures per second, further ones get 429; a valid token is not delayed.
#[test]
fn p22_guessing_tokens_is_rate_limited() {
    let server = HttpServer::start(Settings { tokens: vec![Token::new("ci", SECRET)].into(), ..Settings::default() });
    let wrong = server.discover().with("Authorization", "Bearer wrong");
    let mut connection = server.connect();
    connection.send(&wrong.bytes().repeat(50));
    let responses: Vec<_> = (0..50).map(|_| connection.response().expect("a response")).collect();
    assert!(responses[..10].iter().all(|response| response.status == 401));
    let waiting = responses.iter().find(|response| response.status == 429).expect("50 at once are too many");
    assert_eq!(waiting.header("retry-after"), Some("1"));
    assert!(connection.exchange(&server.discover().with("Authorization", &format!("Bearer {SECRET}"))).reached_mcp());
}

#[test]
fn tokens_come_from_the_environment_and_from_files() {
    let home = Home::new();
    home.configure(
        "[server.http]\naddress = '127.0.0.1:0'\n\
         tokens = [{ name = 'ci', env = 'WHARF_TEST_TOKEN' }, { name = 'me', file = 'token' }]\n",
    );
    let other = "fedcba9876543210fedcba9876543210";
    std::fs::write(home.path("config/wharf/token"), format!("{other}\n")).expect("a file");
    let mut command = command(&home, ["serve".as_ref(), home.plugins().as_os_str()]);
    command.env("WHARF_TEST_TOKEN", SECRET);
    let process = Process::start(command);
    let address = listening_address(&process);
    let exchange = |token: &str| {
        let request = Request::discover(address).with("Authorization", &format!("Bearer {token}"));
        HttpConnection::connect(address).exchange(&request)
    };
    assert!(exchange(SECRET).reached_mcp() && exchange(other).reached_mcp());
    assert_eq!(exchange("00000000000000000000000000000000").status, 401);
    let log = process.log();
    assert!(!log.contains(SECRET) && !log.contains(other), "{log}");
}

#[test]
fn a_missing_token_is_an_error() {
    let home = Home::new();
    home.configure("[server.http]\ntokens = [{ name = 'ci', env = 'WHARF_TEST_TOKEN' }]\n");
    let folder = home.plugins();
    let output = run(&home, ["serve".as_ref(), folder.as_os_str(), "--http".as_ref(), "127.0.0.1:0".as_ref()]);
    let reported = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{reported}");
    assert!(reported.contains("WHARF_TEST_TOKEN") && reported.contains("hint:"), "{reported}");
}

/// What a token started ends with it: streams, sessions, and requests that wait.
#[test]
fn a_revoked_token_ends_streams_and_sessions() {
    let (alice, bob) = ("alice-0123456789abcdef", "bob-0123456789abcdef");
    let tokens = TokenSet::from(vec![Token::new("alice", alice), Token::new("bob", bob)]);
    let server = HttpServer::start(Settings { tokens: tokens.clone(), sse: true, ..Settings::default() });
    server.catalog.set_ready();
    let start = |token: &str| {
        let bearer = format!("Bearer {token}");
        let by = |request: Request| request.with("Authorization", &bearer);
        let mut client = Endpoint::new(server.address);
        let opened = server.exchange(&by(client.post(&initialize("2025-11-25"))));
        client.session = opened.header("mcp-session-id").map(str::to_owned);
        client.version = Some("2025-11-25".into());
        let session = by(client.post(&request(1, "ping", json!({}))));
        let listen = stateless(2, "subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}));
        let old = Request::new("GET", "/sse", server.address).with("Accept", "text/event-stream");
        let streams = [by(client.get()), by(client.post(&listen)), by(old)].map(|request| {
            let mut stream = Events::open(server.connect(), &request);
            stream.next_event().expect("its first event");
            stream
        });
        (session, streams)
    };
    let ((alices, ended), (bobs, open)) = (start(alice), start(bob));
    assert_eq!((server.exchange(&alices).status, server.exchange(&bobs).status), (200, 200));
    tokens.replace(vec![Token::new("bob", bob)]);
    for mut stream in ended {
        while stream.next_event().is_some() {}
    }
    assert_eq!((server.exchange(&alices).status, server.exchange(&bobs).status), (401, 200));
    // The session has ended too, even if the token returns.
    tokens.replace(vec![Token::new("alice", alice), Token::new("bob", bob)]);
    assert_eq!(server.exchange(&alices).status, 404);
    // Another token of the same principal continues the session, but not the streams.
    tokens.replace(vec![Token::new("bob", "bobs-next-0123456789abcdef")]);
    for mut stream in open {
        while stream.next_event().is_some() {}
    }
    assert_eq!(server.exchange(&bobs.set("Authorization", "Bearer bobs-next-0123456789abcdef")).status, 200);
}
