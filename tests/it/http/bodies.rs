//! Large bodies, which share one budget (P30).

use std::io::{ErrorKind, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use wharf::transport::http::{Settings, Token};

use crate::support::TIMEOUT;
use crate::support::home::Home;
use crate::support::http::{HttpConnection, HttpServer, Request, serve};
use crate::support::streamable::{Endpoint, stateless};

const MIB: usize = 1 << 20;
/// Enough time for 4 MiB on a busy machine.
const SHORT: Duration = Duration::from_secs(2);
/// A sender without progress for this long is assumed to be blocked.
const STILL: Duration = Duration::from_millis(300);

/// A server whose budget is one body of 4 MiB.
fn with_room_for_one(body_timeout: Duration) -> HttpServer {
    let settings = Settings { bodies: 4 * MIB, body_timeout, ..Settings::default() };
    HttpServer::serve(&Home::with(&["everything"]), settings)
}

/// That request with its body padded with spaces.
fn padded(request: Request, length: usize) -> Request {
    let mut body = request.body.clone();
    body.resize(length, b' ');
    request.json(body)
}

fn health(server: &HttpServer) -> u16 {
    server.exchange(&Request::new("GET", "/healthz", server.address)).status
}

/// A call that holds the whole budget until its connection closes.
fn holding(server: &HttpServer) -> HttpConnection<TcpStream> {
    let arguments = json!({"seconds": 50.0});
    let call: Value = stateless(1, "tools/call", json!({"name": "everything_slow_compute", "arguments": arguments}));
    let request = Endpoint::new(server.address).post(&call).set("Accept", "application/json");
    let mut connection = server.connect();
    assert!(connection.send(&padded(request, 4 * MIB).bytes()));
    connection
}

/// P30: one more large body waits for the body timeout and is refused; small ones do not wait.
#[test]
fn p30_a_body_over_the_budget_gets_retry_after() {
    let server = with_room_for_one(SHORT);
    let holding = holding(&server);
    let large = padded(server.discover(), 4 * MIB);
    let deadline = Instant::now() + TIMEOUT;
    let busy = loop {
        let response = server.exchange(&large);
        if response.status != 200 {
            break response;
        }
        assert!(Instant::now() < deadline, "two bodies fit into the budget of one");
    };
    assert_eq!((busy.status, busy.header("retry-after")), (503, Some("1")), "{}", busy.text());
    assert!(busy.text().contains("too_many_bodies"), "{}", busy.text());
    assert!(server.exchange(&padded(server.discover(), 60 << 10)).reached_mcp());
    // Closing the connection cancels the call.
    drop(holding);
    while server.exchange(&large).status != 200 {
        assert!(Instant::now() < deadline, "the budget is not released");
    }
}

/// P30: the budget is shared between principals.
#[test]
fn p30_one_caller_cannot_take_the_whole_budget() {
    let (alice, bob) = ("0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210");
    let tokens = vec![Token::new("alice", alice), Token::new("bob", bob)];
    let settings = Settings { bodies: 8 * MIB, body_timeout: SHORT, tokens: tokens.into(), ..Settings::default() };
    let server = HttpServer::serve(&Home::with(&["everything"]), settings);
    let bearer = |request: Request, token: &str| request.with("Authorization", &format!("Bearer {token}"));
    let arguments = json!({"seconds": 50.0});
    let call = stateless(1, "tools/call", json!({"name": "everything_slow_compute", "arguments": arguments}));
    let call = Endpoint::new(server.address).post(&call).set("Accept", "application/json");
    let mut holding = server.connect();
    assert!(holding.send(&padded(bearer(call, alice), 4 * MIB).bytes()));
    let large = padded(server.discover(), 4 * MIB);
    let deadline = Instant::now() + TIMEOUT;
    while server.exchange(&bearer(large.clone(), alice)).status != 503 {
        assert!(Instant::now() < deadline, "alice has more than her share");
    }
    assert_eq!(server.exchange(&bearer(large, bob)).status, 200);
}

/// P30: waiting requests are served when budget is released; chunked ones take what they need.
#[test]
fn p30_a_body_waits_for_budget() {
    let server = with_room_for_one(TIMEOUT);
    let holding = holding(&server);
    let whole = padded(server.discover(), 4 * MIB);
    let text = String::from_utf8(padded(server.discover(), MIB).body).expect("text");
    let mut chunked = server.discover().without("Content-Length").with("Transfer-Encoding", "chunked").head();
    chunked.extend(format!("{:x}\r\n{text}\r\n0\r\n\r\n", text.len()).bytes());
    std::thread::scope(|scope| {
        let waiting = [
            scope.spawn(|| server.exchange(&whole).status),
            scope.spawn(|| {
                let mut connection = server.connect();
                assert!(connection.send(&chunked));
                connection.response().expect("a response").status
            }),
        ];
        assert_eq!(health(&server), 200);
        drop(holding);
        assert_eq!(waiting.map(|waiting| waiting.join().expect("an answer")), [200, 200]);
    });
}

/// P30: 60 connections send 4 MiB each except the last byte, and the host buffers 64 MiB of them.
#[test]
fn p30_bodies_share_one_budget() {
    assert_eq!(Settings::default().bodies, 64 * MIB);
    let home = Home::new();
    let (process, address) = serve(&home, &[]);
    let large = padded(Request::discover(address), 4 * MIB);
    assert!(HttpConnection::connect(address).exchange(&large).reached_mcp());
    let before = process.resident();
    let bytes = large.bytes();
    let mut crowd: Vec<_> = (0..60)
        .map(|_| {
            let connection = HttpConnection::connect(address);
            connection.stream().set_nonblocking(true).expect("a socket");
            (connection, 0)
        })
        .collect();
    // Until all senders are blocked.
    let mut last = Instant::now();
    while last.elapsed() < STILL {
        std::thread::yield_now();
        for (connection, sent) in &mut crowd {
            match connection.stream().write(&bytes[*sent..bytes.len() - 1]) {
                Ok(0) => {}
                Ok(more) => {
                    *sent += more;
                    last = Instant::now();
                }
                Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
            }
        }
    }
    let growth = process.resident().saturating_sub(before) >> 20;
    // Less would mean that the bodies are still in the socket buffers.
    assert!((32..2 * 64).contains(&growth), "{growth} MiB");
    assert!(HttpConnection::connect(address).exchange(&Request::discover(address)).reached_mcp());
    drop(crowd);
    assert!(HttpConnection::connect(address).exchange(&large).reached_mcp(), "the budget is released");
}
