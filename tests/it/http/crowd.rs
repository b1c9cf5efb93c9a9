//! More connections than there are places (P24).

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::time::Instant;

use tokio::net::TcpSocket;
use tokio::runtime::Runtime;
use wharf::transport::http::Settings;

use crate::support::PATIENCE;
use crate::support::http::{Front, Line, Request};

/// A connection from an address of this machine's own network.
fn from(last: u8, to: SocketAddr) -> Line<TcpStream> {
    let runtime = Runtime::new().expect("a runtime");
    let stream = runtime.block_on(async {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.bind(SocketAddr::new(IpAddr::V4(Ipv4Addr::new(127, 0, 0, last)), 0)).expect("a loopback address");
        socket.connect(to).await.expect("somebody listens").into_std().expect("a socket")
    });
    stream.set_nonblocking(false).expect("a socket");
    stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
    Line::new(stream)
}

/// A place is free when the host has seen the end of who had it.
fn until_there_is_a_place(front: &Front) {
    let health = Request::new("GET", "/healthz", front.address).bytes();
    let deadline = Instant::now() + PATIENCE;
    let is_served = || {
        let mut line = front.connect();
        line.send(&health);
        line.response().is_some_and(|response| response.status == 200)
    };
    while !is_served() {
        assert!(Instant::now() < deadline, "no place is given back");
    }
}

/// P24: 64 from one address; the next is told when to come back, and the others are served.
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
        assert!(line.ask(&front.discover()).reached_mcp(), "those before are served as ever");
    }
    drop(open);
    until_there_is_a_place(&front);
}

/// P24: so many in all, whatever they come from. By default it is 512.
#[test]
fn p24_connections_are_counted_in_all() {
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

/// P24: a crowd that comes again and again takes no place from those who are there.
#[test]
fn p24_a_flood_of_connections_ends_without_a_trace() {
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
