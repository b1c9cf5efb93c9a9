//! More connections than the limits allow (P24).

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::process::Command;
use std::time::Instant;

use serde_json::json;
use tokio::net::TcpSocket;
use tokio::runtime::Builder;
use wharf::transport::http::Settings;

use crate::support::PATIENCE;
use crate::support::events::Events;
use crate::support::home::Home;
use crate::support::http::{Front, Line, Request, serve, told};
use crate::support::process::{Process, binary};
use crate::support::streamable::{Endpoint, alone};

/// A connection from another loopback address.
fn from(last: u8, to: SocketAddr) -> Line<TcpStream> {
    let runtime = Builder::new_current_thread().enable_io().build().expect("a runtime");
    let stream = runtime.block_on(async {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.bind(SocketAddr::new(IpAddr::V4(Ipv4Addr::new(127, 0, 0, last)), 0)).expect("a loopback address");
        socket.connect(to).await.expect("somebody listens").into_std().expect("a socket")
    });
    stream.set_nonblocking(false).expect("a socket");
    stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
    Line::new(stream)
}

/// Waits until a connection is accepted: a slot is free once the host has noticed a disconnect.
fn until_there_is_a_place(front: &Front) {
    let health = Request::new("GET", "/healthz", front.address).bytes();
    let deadline = Instant::now() + PATIENCE;
    let is_served = || {
        let mut line = front.connect();
        line.send(&health);
        line.response().is_some_and(|response| response.status == 200)
    };
    while !is_served() {
        assert!(Instant::now() < deadline, "no slot is released");
    }
}

/// P24: 64 from one address; the next gets `Retry-After`, and the others are served.
#[test]
fn p24_one_address_has_64_connections() {
    let front = Front::start(Settings::default());
    let health = Request::new("GET", "/healthz", front.address);
    let mut open: Vec<_> = (0..64).map(|_| front.connect()).collect();
    for line in &mut open {
        assert_eq!(line.ask(&health).status, 200);
    }
    let mut one_more = front.connect();
    let busy = one_more.response().expect("a response");
    assert_eq!((busy.status, busy.header("retry-after"), busy.header("connection")), (503, Some("1"), Some("close")));
    assert_eq!(one_more.rest(), "");
    assert_eq!(from(2, front.address).ask(&health).status, 200, "another address");
    for line in &mut open {
        assert!(line.ask(&front.discover()).reached_mcp(), "existing connections are still served");
    }
    drop(open);
    until_there_is_a_place(&front);
}

/// P24: the total over all addresses is limited, by default to 512.
#[test]
fn p24_the_total_of_connections_is_limited() {
    assert_eq!(Settings::default().connections, 512);
    let front = Front::start(Settings { connections: 16, connections_per_address: 4, ..Settings::default() });
    let health = Request::new("GET", "/healthz", front.address);
    let mut open: Vec<_> = (0..16).map(|n| from(2 + n / 4, front.address)).collect();
    for line in &mut open {
        assert_eq!(line.ask(&health).status, 200);
    }
    assert_eq!(from(9, front.address).response().expect("a response").status, 503);
    assert_eq!(open[0].ask(&health).status, 200);
}

/// P24: repeated floods of connections do not displace existing ones.
#[test]
fn p24_a_flood_of_connections_leaks_nothing() {
    let front = Front::start(Settings { connections_per_address: 8, ..Settings::default() });
    let health = Request::new("GET", "/healthz", front.address);
    let mut first = front.connect();
    assert_eq!(first.ask(&health).status, 200);
    for _ in 0..40 {
        let crowd: Vec<_> = (0..25).map(|_| front.connect()).collect();
        assert_eq!(first.ask(&health).status, 200);
        drop(crowd);
    }
    until_there_is_a_place(&front);
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
    let mut stream = Events::open(from(2, address), &endpoint.post(&alone(1, "tools/call", params)));
    stream.message().expect("a step");
    let mut good: Vec<_> = (0..100).map(|n| from(3 + n / 50, address)).collect();
    let echo = |message: usize| {
        let arguments = json!({"message": message.to_string()});
        endpoint.post(&alone(2, "tools/call", json!({"name": "echo", "arguments": arguments})))
    };
    for (n, line) in good.iter_mut().enumerate() {
        assert_eq!(line.ask(&echo(n)).status, 200);
    }
    // Some are accepted and send nothing, the others are refused.
    let crowd: Vec<_> = (0..1000).map(|n| from(10 + u8::try_from(n / 50).expect("few"), address)).collect();
    for round in 0..5 {
        for (n, line) in good.iter_mut().enumerate() {
            let answer = line.ask(&echo(round * 1000 + n));
            let said = format!("\"text\":\"{}\"", round * 1000 + n);
            assert!(answer.status == 200 && answer.text().contains(&said), "{}", answer.text());
        }
    }
    let last = std::iter::from_fn(|| stream.message()).last().expect("an answer").json();
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
    let address = told(&process);
    process.log_with("files=256 connections=2000");
    let echo = alone(1, "tools/call", json!({"name": "echo", "arguments": {"message": "x"}}));
    let echo = Endpoint::new(address).post(&echo);
    let mut first = Line::connect(address);
    assert_eq!(first.ask(&echo).status, 200);
    // Not more than the kernel's backlog holds.
    let crowd: Vec<_> = (0..DESCRIPTORS + 64).map(|_| Line::connect(address)).collect();
    process.log_with("take up a connection");
    for _ in 0..10 {
        assert_eq!(first.ask(&echo).status, 200, "an existing connection");
    }
    drop(crowd);
    assert_eq!(Line::connect(address).ask(&echo).status, 200);
    assert!(!process.log().contains("panicked"), "{}", process.log());
}

/// P24: every connection of a burst gets `Retry-After`, even if it has already sent a request.
#[test]
fn p24_each_connection_of_a_burst_gets_retry_after() {
    const BURST: usize = 400;
    let front = Front::start(Settings { connections_per_address: 8, ..Settings::default() });
    let health = Request::new("GET", "/healthz", front.address);
    let mut first: Vec<_> = (0..8).map(|_| front.connect()).collect();
    for line in &mut first {
        assert_eq!(line.ask(&health).status, 200);
    }
    // A client may send its request before it reads.
    let mut asking: Vec<_> = (0..100).map(|_| front.connect()).collect();
    assert!(asking.iter_mut().all(|line| line.send(&health.bytes())));
    let told = asking.iter_mut().filter_map(Line::response).filter(|busy| busy.status == 503);
    assert_eq!(told.count(), 100);
    drop(asking);
    let mut burst: Vec<_> = (0..BURST).map(|_| front.connect()).collect();
    let told = burst.iter_mut().filter_map(|line| line.response());
    let told = told.filter(|busy| (busy.status, busy.header("retry-after")) == (503, Some("1"))).count();
    assert_eq!(told, BURST);
    assert_eq!(first[0].ask(&health).status, 200, "existing connections are still served");
}
