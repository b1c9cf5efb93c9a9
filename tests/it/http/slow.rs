//! Slow clients (P23). Timeouts are short here; the defaults are asserted at the end.

use std::io::{ErrorKind, Write as _};
use std::time::{Duration, Instant};

use wharf::transport::http::Settings;

use crate::support::PATIENCE;
use crate::support::http::{Front, Line, Request};

const SHORT: Duration = Duration::from_millis(300);
const PAUSE: Duration = Duration::from_millis(30);

/// Sends single bytes until the host closes, which must not be before its timeout. `started` is
/// from before the connection was opened.
fn drip(started: Instant, mut line: Line<std::net::TcpStream>, byte: u8) {
    // Waiting for the close is the pause between two bytes.
    while !line.is_closed_after(PAUSE) && line.send(&[byte]) {
        assert!(started.elapsed() < PATIENCE, "the host never times out");
    }
    assert!(started.elapsed() >= SHORT, "closed after {:?}", started.elapsed());
}

/// P23: a header that never ends.
#[test]
fn p23_unfinished_headers_time_out() {
    let front = Front::start(Settings { header_timeout: SHORT, ..Settings::default() });
    let started = Instant::now();
    let mut line = front.connect();
    line.send(b"GET /healthz HTTP/1.1\r\nX-Slow: ");
    drip(started, line, b'x');
    drip(Instant::now(), front.connect(), b'G');
    assert_eq!(front.ask(&Request::new("GET", "/healthz", front.address)).status, 200, "others are served");
}

/// P23: a connection without a request, from its start or after one.
#[test]
fn p23_an_idle_connection_is_closed() {
    let front = Front::start(Settings { header_timeout: SHORT, ..Settings::default() });
    assert_eq!(front.connect().rest(), "");
    let mut line = front.connect();
    assert_eq!(line.ask(&Request::new("GET", "/healthz", front.address)).status, 200);
    assert_eq!(line.rest(), "");
}

/// P23: a body that never ends.
#[test]
fn p23_an_unfinished_body_times_out() {
    let front = Front::start(Settings { body_timeout: SHORT, ..Settings::default() });
    let started = Instant::now();
    let mut line = front.connect();
    line.send(&front.discover().set("Content-Length", "100000").head());
    drip(started, line, b' ');

    let mut line = front.connect();
    line.send(&front.discover().head());
    let response = line.response().expect("a response");
    assert_eq!((response.status, response.header("connection")), (408, Some("close")));
    assert_eq!(line.rest(), "");
}

/// P23: a client that sends requests and never reads a response.
#[test]
fn p23_a_client_that_never_reads_is_disconnected() {
    let front = Front::start(Settings { write_timeout: SHORT, ..Settings::default() });
    let line = front.connect();
    let mut stream = line.stream();
    stream.set_write_timeout(Some(PAUSE)).expect("a socket");
    let requests = Request::new("GET", "/healthz", front.address).bytes().repeat(100);
    let started = Instant::now();
    loop {
        match stream.write(&requests) {
            Ok(_) => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            // The host has reset the connection.
            Err(_) => break,
        }
        assert!(started.elapsed() < PATIENCE, "the host never times out");
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
