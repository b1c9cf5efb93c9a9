//! Slow clients (P23). Timeouts are short here; the defaults are asserted at the end.

use std::io::{ErrorKind, Write as _};
use std::time::{Duration, Instant};

use wharf::transport::http::Settings;

use crate::support::TIMEOUT;
use crate::support::http::{HttpConnection, HttpServer, Request};

const SHORT: Duration = Duration::from_millis(300);
const PAUSE: Duration = Duration::from_millis(30);

/// Sends single bytes until the host closes, which must not be before its timeout. `started` is
/// from before the connection was opened.
fn drip(started: Instant, mut connection: HttpConnection<std::net::TcpStream>, byte: u8) {
    // Waiting for the close is the pause between two bytes.
    while !connection.is_closed_after(PAUSE) && connection.send(&[byte]) {
        assert!(started.elapsed() < TIMEOUT, "the host never times out");
    }
    assert!(started.elapsed() >= SHORT, "closed after {:?}", started.elapsed());
}

/// P23: a header that never ends.
#[test]
fn p23_unfinished_headers_time_out() {
    let server = HttpServer::start(Settings { header_timeout: SHORT, ..Settings::default() });
    let started = Instant::now();
    let mut connection = server.connect();
    connection.send(b"GET /healthz HTTP/1.1\r\nX-Slow: ");
    drip(started, connection, b'x');
    drip(Instant::now(), server.connect(), b'G');
    assert_eq!(server.exchange(&Request::new("GET", "/healthz", server.address)).status, 200, "others are served");
}

/// P23: a connection without a request, from its start or after one.
#[test]
fn p23_an_idle_connection_is_closed() {
    let server = HttpServer::start(Settings { header_timeout: SHORT, ..Settings::default() });
    assert_eq!(server.connect().rest(), "");
    let mut connection = server.connect();
    assert_eq!(connection.exchange(&Request::new("GET", "/healthz", server.address)).status, 200);
    assert_eq!(connection.rest(), "");
}

/// P23: a body that never ends.
#[test]
fn p23_an_unfinished_body_times_out() {
    let server = HttpServer::start(Settings { body_timeout: SHORT, ..Settings::default() });
    let started = Instant::now();
    let mut connection = server.connect();
    connection.send(&server.discover().set("Content-Length", "100000").head());
    drip(started, connection, b' ');

    let mut connection = server.connect();
    connection.send(&server.discover().head());
    let response = connection.response().expect("a response");
    assert_eq!((response.status, response.header("connection")), (408, Some("close")));
    assert_eq!(connection.rest(), "");
}

/// P23: a client that sends requests and never reads a response.
#[test]
fn p23_a_client_that_never_reads_is_disconnected() {
    let server = HttpServer::start(Settings { write_timeout: SHORT, ..Settings::default() });
    let connection = server.connect();
    let mut stream = connection.stream();
    stream.set_write_timeout(Some(PAUSE)).expect("a socket");
    let requests = Request::new("GET", "/healthz", server.address).bytes().repeat(100);
    let started = Instant::now();
    loop {
        match stream.write(&requests) {
            Ok(_) => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            // The host has reset the connection.
            Err(_) => break,
        }
        assert!(started.elapsed() < TIMEOUT, "the host never times out");
    }
    assert!(started.elapsed() >= SHORT, "closed after {:?}", started.elapsed());
}

/// P23: the default timeouts.
#[test]
fn p23_default_timeouts_are_ten_and_thirty_seconds() {
    let settings = Settings::default();
    let seconds = [settings.header_timeout, settings.body_timeout, settings.write_timeout].map(|time| time.as_secs());
    assert_eq!(seconds, [10, 30, 30]);
}
