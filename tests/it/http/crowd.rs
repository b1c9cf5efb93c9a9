//! More connections than the limits allow (P24).

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::process::Command;
use std::time::Instant;

use serde_json::json;
use tokio::net::TcpSocket;
use tokio::runtime::Builder;
use wharf::transport::http::Settings;

use crate::support::TIMEOUT;
use crate::support::events::Events;
use crate::support::home::Home;
use crate::support::http::{HttpConnection, HttpServer, Request, listening_address, serve};
use crate::support::process::{Process, binary};
use crate::support::streamable::{Endpoint, stateless};

/// A connection from another loopback address.
fn from(last: u8, to: SocketAddr) -> HttpConnection<TcpStream> {
    let runtime = Builder::new_current_thread().enable_io().build().expect("a runtime");
    let stream = runtime.block_on(async {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.bind(SocketAddr::new(IpAddr::V4(Ipv4Addr::new(127, 0, 0, last)), 0)).expect("a loopback address");
        socket.connect(to).await.expect("somebody listens").into_std().expect("a socket")
    });
    stream.set_nonblocking(false).expect("a socket");
    stream.set_read_timeout(Some(TIMEOUT)).expect("a socket");
    HttpConnection::new(stream)
}

/// Waits until a connection is accepted: a slot is free once the host has noticed a disconnect.
fn until_there_is_a_place(server: &HttpServer) {
    let health = Request::new("GET", "/healthz", server.address).bytes();
    let deadline = Instant::now() + TIMEOUT;
    let is_served = || {
        let mut connection = server.connect();
        connection.send(&health);
        connection.response().is_some_and(|response| response.status == 200)
    };
    while !is_served() {
        assert!(Instant::now() < deadline, "no slot is released");
    }
}

/// P24: 64 from one address; the next gets `Retry-After`, and the others are served.
#[test]
fn p24_one_address_has_64_connections() {
    let server = HttpServer::start(Settings::default());
    let health = Request::new("GET", "/healthz", server.address);
    let mut open: Vec<_> = (0..64).map(|_| server.connect()).collect();
    for connection in &mut open {
        assert_eq!(connection.exchange(&health).status, 200);
    }
    let mut one_more = server.connect();
    let busy = one_more.response().expect("a response");
    assert_eq!((busy.status, busy.header("retry-after"), busy.header("connection")), (503, Some("1"), Some("close")));
    assert_eq!(one_more.rest(), "");
    assert_eq!(from(2, server.address).exchange(&health).status, 200, "another address");
    for connection in &mut open {
        assert!(connection.exchange(&server.discover()).reached_mcp(), "existing connections are still served");
    }
    drop(open);
    until_there_is_a_place(&server);
}

/// P24: the total over all addresses is limited, by default to 512.
#[test]
fn p24_the_total_of_connections_is_limited() {
    assert_eq!(Settings::default().connections, 512);
    let server = HttpServer::start(Settings { connections: 16, connections_per_address: 4, ..Settings::default() });
    let health = Request::new("GET", "/healthz", server.address);
    let mut open: Vec<_> = (0..16).map(|n| from(2 + n / 4, server.address)).collect();
    for connection in &mut open {
        assert_eq!(connection.exchange(&health).status, 200);
    }
    assert_eq!(from(9, server.address).response().expect("a response").status, 503);
    assert_eq!(open[0].exchange(&health).status, 200);
}

/// P24: repeated floods of connections do not displace existing ones.
#[test]
fn p24_a_flood_of_connections_leaks_nothing() {
    let server = HttpServer::start(Settings { connections_per_address: 8, ..Settings::default() });
    let health = Request::new("GET", "/healthz", server.address);
    let mut first = server.connect();
    assert_eq!(first.exchange(&health).status, 200);
    for _ in 0..40 {
        let crowd: Vec<_> = (0..25).map(|_| server.connect()).collect();
        assert_eq!(first.exchange(&health).status, 200);
        drop(crowd);
    }
    until_there_is_a_place(&server);
}

/// P24: during a flood of connections, a hundred existing clients get all their answers, and a
/// stream continues.
#[test]
fn p24_a_flood_of_connections_does_not_affect_existing_ones() {
    let home = Home::with(&["echo", "everything"]);
    let (_process, address) = serve(&home, &[]);
    let endpoint = Endpoint::new(address);
    let arguments = json!({"seconds": 2.0});
    let params = json!({"name": "everything_slow_compute", "arguments": arguments, "_meta": {"progressToken": "p"}});
    let mut stream = Events::open(from(2, address), &endpoint.post(&stateless(1, "tools/call", params)));
    stream.next_message().expect("a step");
    let mut good: Vec<_> = (0..100).map(|n| from(3 + n / 50, address)).collect();
    let echo = |message: usize| {
        let arguments = json!({"message": message.to_string()});
        endpoint.post(&stateless(2, "tools/call", json!({"name": "echo", "arguments": arguments})))
    };
    for (n, connection) in good.iter_mut().enumerate() {
        assert_eq!(connection.exchange(&echo(n)).status, 200);
    }
    // Some are accepted and send nothing, the others are refused.
    let crowd: Vec<_> = (0..1000).map(|n| from(10 + u8::try_from(n / 50).expect("few"), address)).collect();
    for round in 0..5 {
        for (n, connection) in good.iter_mut().enumerate() {
            let answer = connection.exchange(&echo(round * 1000 + n));
            let expected = format!("\"text\":\"{}\"", round * 1000 + n);
            assert!(answer.status == 200 && answer.text().contains(&expected), "{}", answer.text());
        }
    }
    let last = std::iter::from_fn(|| stream.next_message()).last().expect("an answer").json();
    assert!(last["id"] == 1 && last.get("result").is_some(), "{last}");
    drop(crowd);
}

/// P24: more connections than file descriptors. The host keeps running, serves existing
/// connections, and accepts others once descriptors are free.
#[test]
fn p24_without_descriptors_connections_wait() {
    const DESCRIPTORS: usize = 256;
    let home = Home::with(&["echo"]);
    home.configure("[server.http]\nconnections = 2000\nconnections-per-address = 2000\n");
    let mut command = Command::new("sh");
    let limited = format!("ulimit -n {DESCRIPTORS}; exec \"$0\" \"$@\"");
    command.args(["-c", &limited]).arg(binary()).arg("serve").arg(home.plugins()).args(["--http", "127.0.0.1:0"]);
    command.env_clear().envs(home.environment()).current_dir(home.path("home"));
    let process = Process::start(command);
    let address = listening_address(&process);
    process.log_with("files=256 connections=2000");
    let echo = stateless(1, "tools/call", json!({"name": "echo", "arguments": {"message": "x"}}));
    let echo = Endpoint::new(address).post(&echo);
    let mut first = HttpConnection::connect(address);
    assert_eq!(first.exchange(&echo).status, 200);
    // Not more than the system keeps for it.
    let crowd: Vec<_> = (0..DESCRIPTORS + 64).map(|_| HttpConnection::connect(address)).collect();
    process.log_with("failed to accept a connection");
    for _ in 0..10 {
        assert_eq!(first.exchange(&echo).status, 200, "an existing connection");
    }
    drop(crowd);
    assert_eq!(HttpConnection::connect(address).exchange(&echo).status, 200);
    assert!(!process.log().contains("panicked"), "{}", process.log());
}

/// P24: every connection of a burst gets `Retry-After`, even if it has already sent a request.
#[test]
fn p24_each_connection_of_a_burst_gets_retry_after() {
    const BURST: usize = 400;
    let server = HttpServer::start(Settings { connections_per_address: 8, ..Settings::default() });
    let health = Request::new("GET", "/healthz", server.address);
    let mut first: Vec<_> = (0..8).map(|_| server.connect()).collect();
    for connection in &mut first {
        assert_eq!(connection.exchange(&health).status, 200);
    }
    // A client may send its request before it reads.
    let mut asking: Vec<_> = (0..100).map(|_| server.connect()).collect();
    assert!(asking.iter_mut().all(|connection| connection.send(&health.bytes())));
    let refused = asking.iter_mut().filter_map(HttpConnection::response).filter(|busy| busy.status == 503);
    assert_eq!(refused.count(), 100);
    drop(asking);
    let mut burst: Vec<_> = (0..BURST).map(|_| server.connect()).collect();
    let refused = burst.iter_mut().filter_map(|connection| connection.response());
    let refused = refused.filter(|busy| (busy.status, busy.header("retry-after")) == (503, Some("1"))).count();
    assert_eq!(refused, BURST);
    assert_eq!(first[0].exchange(&health).status, 200, "existing connections are still served");
}
