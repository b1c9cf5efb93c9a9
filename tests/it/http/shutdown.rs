//! Shutdown with connected clients: requests that have begun are answered, partial ones are not
//! waited for.

use std::io::Read as _;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::events::Events;
use crate::support::guest::Guest;
use crate::support::home::Home;
use crate::support::http::{HttpConnection, Request, serve};
use crate::support::process::Process;
use crate::support::streamable::{Endpoint, stateless};

const SOON: Duration = Duration::from_secs(1);
/// A connection with a partial request.
type Half = HttpConnection<TcpStream>;

/// Checks that the process exits soon and with success, while partial requests keep sending single
/// bytes.
fn ends_soon(process: &mut Process, halves: &mut [Half]) {
    let started = Instant::now();
    let status = loop {
        if let Some(status) = process.ended() {
            break status;
        }
        assert!(started.elapsed() < SOON, "it has not exited after {SOON:?}; its log:\n{}", process.log());
        for half in halves.iter_mut().step_by(5) {
            half.send(b"x");
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    assert!(status.success(), "{status}");
    let log = process.log();
    assert!(!log.contains("still running") && !log.contains("were not read"), "{log}");
}

/// Connections that have sent these parts, once the host has had time to read them.
fn halves(address: SocketAddr, parts: &[&[u8]], of_each: usize) -> Vec<Half> {
    let open = |part: &&[u8]| {
        let mut connection = HttpConnection::connect(address);
        assert!(connection.send(part));
        connection
    };
    let halves: Vec<_> = (0..of_each).flat_map(|_| parts.iter().map(open).collect::<Vec<_>>()).collect();
    // By then each thread of the host has accepted later connections.
    for _ in 0..8 {
        assert_eq!(HttpConnection::connect(address).exchange(&Request::new("GET", "/healthz", address)).status, 200);
    }
    halves
}

/// A call that has begun and reports progress.
fn begun(address: SocketAddr, seconds: f64) -> Events {
    let mut params = json!({"name": "everything_slow_compute", "arguments": {"seconds": seconds}});
    params["_meta"]["progressToken"] = json!("p");
    let mut events = Endpoint::new(address).stream(&stateless(1, "tools/call", params));
    assert_eq!(events.next_message().expect("progress").json()["method"], "notifications/progress");
    events
}

/// The last message before the stream ends.
fn result(mut events: Events) -> Value {
    let mut last = Value::Null;
    while let Some(event) = events.next_message() {
        last = event.json();
    }
    last
}

#[test]
fn shutdown_does_not_wait_for_partial_requests() {
    let home = Home::with(&["everything"]);
    home.configure("[server.http]\nconnections-per-address = 400\n");
    for with_call in [false, true] {
        let (mut process, address) = serve(&home, &[]);
        let call = with_call.then(|| begun(address, 1.2));
        let whole = Request::discover(address);
        let (head, bytes) = (whole.head(), whole.bytes());
        let expecting = whole.clone().with("Expect", "100-continue").head();
        let chunked =
            [&whole.clone().without("Content-Length").with("Transfer-Encoding", "chunked").head(), "5\r\n{".as_bytes()];
        let refused = Request { line: "POST /nowhere HTTP/1.1".into(), ..whole.clone() }.head();
        let twice = [&bytes, &head[..20]].concat();
        let parts: [&[u8]; 10] = [
            b"",
            b"P",
            &head[..head.len() / 2],
            &head[..head.len() - 1],
            &twice,
            &head,
            &bytes[..bytes.len() - 1],
            &expecting,
            &chunked.concat(),
            &refused,
        ];
        let mut open = halves(address, &parts, 10);
        process.signal(Signal::TERM);
        if let Some(call) = call {
            let last = result(call);
            assert_eq!(last["result"]["content"][0]["text"], "It is done", "{last}");
        }
        ends_soon(&mut process, &mut open);
    }
}

/// The log distinguishes an unread response from a call that does not end.
#[test]
fn the_log_says_what_shutdown_waited_for() {
    let home = Home::with(&["everything"]);
    // More than the socket buffers hold.
    home.put_bytes(&Guest::returning("1").returns_letters("large", 12 << 20).build(), "p");
    home.configure("[limits]\noutput = '16 MiB'\n");
    let (running, unread) = ("requests that were still running", "responses were not read");

    let (mut process, address) = serve(&home, &[]);
    let mut connection = HttpConnection::connect(address);
    assert!(
        connection.send(&Endpoint::new(address).post(&stateless(1, "tools/call", json!({"name": "p_large"}))).bytes())
    );
    // The response has begun, and the rest of it is not read.
    connection.stream().read_exact(&mut [0]).expect("an answer");
    process.signal(Signal::TERM);
    assert!(process.wait().success());
    let log = process.log();
    assert!(log.contains(unread) && !log.contains(running), "{log}");

    let (mut process, address) = serve(&home, &[]);
    let call = begun(address, 30.0);
    process.signal(Signal::TERM);
    let last = result(call);
    assert_eq!(last["error"]["data"]["reason"], "shutting_down", "{last}");
    assert!(process.wait().success());
    let log = process.log();
    assert!(log.contains(running) && log.contains("requests=1") && !log.contains(unread), "{log}");
}
