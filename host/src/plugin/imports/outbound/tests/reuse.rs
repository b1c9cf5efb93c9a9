//! Reuse of connections: by which requests, for how long, and with misbehaving servers.

use std::io::Write as _;
use std::net::TcpStream;
use std::sync::Barrier;

use http_body_util::{BodyExt as _, Empty, Full};
use wasmtime_wasi_http::WasiHttpHooks as _;

use super::super::connection::{Connection, Route};
use super::super::fetch::fetch;
use super::super::pool::{MAX_AGE, MAX_PER_PLUGIN, MAX_TOTAL, Pool};
use super::super::wasi;
use super::server::Connections;
use super::*;

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const EVIL: &str = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil";

fn inside(url: &str) -> HttpGrant {
    let all = ["GET", "HEAD", "POST"].map(str::to_owned);
    grant(url).methods(&all).expect("methods").private(true)
}

fn to(sandbox: &Sandbox, server: &Server) -> Sender {
    call_of(sandbox, vec![inside(&server.url("")), inside(&elsewhere(server))], Vec::new())
}

/// The same server under another name.
fn elsewhere(server: &Server) -> String {
    format!("http://other.example:{}", server.port)
}

fn with(method: &str, url: String) -> Http::Request {
    Http::Request { method: method.into(), ..get(url) }
}

fn respond(stream: &mut TcpStream, response: &str) -> bool {
    stream.write_all(response.as_bytes()).is_ok()
}

/// A server that keeps its connections open, and always sends this response.
fn keep_alive(response: &'static str) -> Server {
    Server::keep_alive(move |_, stream| respond(stream, response))
}

async fn fetched(call: &Sender, url: String) -> String {
    let response = fetch(call.clone(), get(url)).await.expect("a response");
    String::from_utf8(response.body).expect("text")
}

/// The status of a request without a body, through the other front end.
async fn sent(call: &Sender, request: http::request::Builder) -> u16 {
    let body = Empty::new().map_err(|never| match never {}).boxed_unsync();
    let request = request.body(body).expect("a request");
    let sent = wasi::Hooks(call.clone()).send_request(request, None, Box::new(async { Ok(()) }));
    let (response, _) = Box::into_pin(sent).await.expect("a response");
    let status = response.status().as_u16();
    response.into_body().collect().await.expect("a body");
    status
}

#[tokio::test]
async fn requests_of_one_plugin_share_a_connection() {
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n";
    let early = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    let none = "HTTP/1.1 204 No Content\r\n\r\n";
    let server = Server::keep_alive(move |request, stream| respond(stream, [OK, chunked, early, none][request % 4]));
    let call = to(sandbox(), &server);
    for _ in 0..8 {
        fetched(&call, server.url("/")).await;
        assert!(sent(&call, Request::get(server.url("/"))).await < 205);
        fetch(call.clone(), with("POST", server.url("/"))).await.expect("a response");
    }
    assert_eq!(server.settled(1).await, Connections { all: 1, open: 1 });
    assert_eq!(server.take().len(), 24);
    // Another name has its own connection, even at the same address.
    fetched(&call, elsewhere(&server)).await;
    assert_eq!(server.connections(), 2);
}

#[tokio::test]
async fn each_plugin_and_set_of_grants_has_its_own_connections() {
    let server = keep_alive(OK);
    let calls = [to(sandbox(), &server), to(sandbox(), &server)];
    for call in &calls {
        assert_eq!(fetched(call, server.url("/")).await, "ok");
    }
    assert_eq!(server.settled(2).await, Connections { all: 2, open: 2 });
    // They are closed with the loaded plugin.
    drop(calls);
    assert_eq!(server.settled(0).await, Connections { all: 2, open: 0 });
}

#[tokio::test]
async fn entries_with_and_without_private_do_not_share_connections() {
    let server = keep_alive(OK);
    let entries = vec![grant(&server.url("/a")).private(true), grant(&server.url("/b"))];
    let call = call_of(sandbox(), entries, Vec::new());
    assert_eq!(fetched(&call, server.url("/a")).await, "ok");
    assert_eq!(fetch(call.clone(), get(server.url("/b"))).await, Err(Failure::NotPublic));
    assert_eq!(fetched(&call, server.url("/a")).await, "ok");
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn idle_connections_expire() {
    let sandbox = with_caps(Caps { idle: Duration::from_millis(200), ..Caps::default() });
    let server = keep_alive(OK);
    let call = to(&sandbox, &server);
    fetched(&call, server.url("/")).await;
    assert_eq!(server.settled(0).await, Connections { all: 1, open: 0 });
    fetched(&call, server.url("/")).await;
    assert_eq!(server.connections(), 2);
}

#[tokio::test]
async fn an_old_connection_is_not_kept() {
    let places = Arc::new(Semaphore::new(1));
    let pool = Pool::new(places.clone(), Duration::from_secs(20), Handle::current());
    let target = grant("http://api.example").target;
    let route = Route { target, private: false };
    let turn = Arc::new(Arc::new(Semaphore::new(1)).acquire_owned().await.expect("a turn"));
    for (age, kept) in [(Duration::ZERO, true), (MAX_AGE, false)] {
        let (stream, _server) = tokio::io::duplex(64);
        let mut connection = Connection::open(stream, route.clone(), 128).await.expect("a connection");
        assert!(connection.ready().await);
        connection.opened -= age;
        pool.clone().keep(connection, turn.clone());
        assert_eq!(places.available_permits(), usize::from(!kept));
        assert_eq!(pool.take(&route, Duration::from_secs(20)).is_some(), kept);
    }
}

#[tokio::test]
async fn idempotent_requests_are_retried_on_a_closed_connection() {
    // It reads the second request of a connection, and does not answer.
    let server = Server::keep_alive(|request, stream| request == 1 && respond(stream, OK));
    let call = to(sandbox(), &server);
    for _ in 0..3 {
        assert_eq!(fetched(&call, server.url("/")).await, "ok");
    }
    assert_eq!((server.take().len(), server.connections()), (5, 3));
    // A POST may have been processed.
    let outcome = fetch(call.clone(), with("POST", server.url("/"))).await;
    assert!(matches!(outcome, Err(Failure::Protocol(_))), "{outcome:?}");
    assert_eq!((server.take().len(), server.connections()), (1, 3));
    // A request on a new connection is not retried.
    let server = Server::keep_alive(|_, _| false);
    let outcome = fetch(to(sandbox(), &server), get(server.url("/"))).await;
    assert!(matches!(outcome, Err(Failure::Protocol(_))), "{outcome:?}");
    assert_eq!(server.take().len(), 1);
}

#[tokio::test]
async fn other_requests_only_reuse_recently_used_connections() {
    let server = keep_alive(OK);
    let call = to(sandbox(), &server);
    for (wait, connections) in [(0, 1), (0, 1), (2_100, 2)] {
        tokio::time::sleep(Duration::from_millis(wait)).await;
        fetch(call.clone(), with("POST", server.url("/"))).await.expect("a response");
        assert_eq!(server.connections(), connections, "after {wait} ms");
    }
    tokio::time::sleep(Duration::from_millis(2_100)).await;
    fetched(&call, server.url("/")).await;
    assert_eq!(server.connections(), 2);
}

#[tokio::test]
async fn a_server_that_closes_after_each_response_does_no_harm() {
    let server = Server::keep_alive(|_, stream| {
        respond(stream, OK);
        false
    });
    let call = to(sandbox(), &server);
    for _ in 0..50 {
        assert_eq!(fetched(&call, server.url("/")).await, "ok");
    }
    let server = keep_alive("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok");
    let call = to(sandbox(), &server);
    for _ in 0..2 {
        fetch(call.clone(), with("POST", server.url("/"))).await.expect("a response");
    }
    assert_eq!(server.settled(0).await, Connections { all: 2, open: 0 });
}

#[tokio::test]
async fn data_after_a_response_is_not_read_as_the_next() {
    let bodies = ["HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 304 Not Modified\r\n\r\n", OK, OK];
    for (at, first) in bodies.into_iter().enumerate() {
        for late in [false, true] {
            let server = Server::keep_alive(move |_, stream| {
                if !late {
                    return respond(stream, &format!("{first}{EVIL}"));
                }
                respond(stream, first);
                std::thread::sleep(Duration::from_millis(20));
                respond(stream, EVIL)
            });
            let call = to(sandbox(), &server);
            for asked in 1..4 {
                let method = if at == 3 { "HEAD" } else { "GET" };
                let response = fetch(call.clone(), with(method, server.url("/"))).await.expect("a response");
                assert_ne!(response.body, b"evil", "{first}, late: {late}");
                // A late one arrives while the connection is idle.
                assert_eq!(server.settled(0).await, Connections { all: asked, open: 0 }, "{first}, late: {late}");
            }
        }
    }
}

/// With two lengths, a proxy on the way may have taken another part of the bytes for the response.
#[tokio::test]
async fn a_response_with_two_lengths_closes_the_connection() {
    let server =
        keep_alive("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n");
    let call = to(sandbox(), &server);
    for asked in 1..3 {
        let _ = fetch(call.clone(), get(server.url("/"))).await;
        assert_eq!(server.settled(0).await, Connections { all: asked, open: 0 });
    }
}

#[tokio::test]
async fn incomplete_responses_close_the_connection() {
    let switched = "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n";
    let server = Server::keep_alive(move |_, stream| respond(stream, switched));
    let call = to(sandbox(), &server);
    for asked in 1..3 {
        let _ = fetch(call.clone(), get(server.url("/"))).await;
        assert_eq!(server.settled(0).await, Connections { all: asked, open: 0 });
    }
    // A second response that never begins: endless hints, half a head, nothing.
    let too_many = Failure::Protocol("more than 16 interim responses (1xx) came before the response".into());
    let timeout = Failure::Timeout(Stage::FirstByte);
    for (endless, failure) in
        [("HTTP/1.1 103 Early Hints\r\n\r\n", too_many), ("HTTP/1.1 200 OK\r\nX: ", timeout.clone()), ("", timeout)]
    {
        let server = Server::keep_alive(move |request, stream| {
            if request == 1 {
                return respond(stream, OK);
            }
            while respond(stream, endless) && endless.len() == 28 {
                std::thread::sleep(Duration::from_millis(1));
            }
            true
        });
        let call = to(short_timeouts(), &server);
        assert_eq!(fetched(&call, server.url("/")).await, "ok");
        let outcome = fetch(call.clone(), get(server.url("/"))).await;
        assert_eq!(outcome, Err(failure), "{endless:?}");
        assert_eq!(server.settled(0).await, Connections { all: 1, open: 0 }, "{endless:?}");
    }
}

#[tokio::test]
async fn unread_bodies_close_the_connection() {
    let server = keep_alive("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nha");
    let call = to(sandbox(), &server);
    for asked in 1..3 {
        let request = Request::get(server.url("/")).body(Full::<Bytes>::default()).expect("a request");
        let mut response = call.clone().send(request, GuestTimeouts::default()).await.expect("a response");
        response.body_mut().frame().await.expect("a frame").expect("some of the body");
        drop(response);
        assert_eq!(server.settled(0).await, Connections { all: asked, open: 0 });
    }
    // So does a dropped call.
    let server = Server::keep_alive(|request, stream| request > 1 || respond(stream, OK));
    let call = to(sandbox(), &server);
    fetched(&call, server.url("/")).await;
    server.take();
    let request = tokio::spawn(fetch(call.clone(), get(server.url("/"))));
    while server.take().is_empty() {
        tokio::task::yield_now().await;
    }
    request.abort();
    assert_eq!(server.settled(0).await, Connections { all: 1, open: 0 });
}

#[tokio::test]
async fn authenticated_connections_are_not_reused() {
    let server = keep_alive(OK);
    let call = to(sandbox(), &server);
    for (value, connections) in [("Basic eDp5", 1), ("NTLM TlRM", 1), (" negotiate\tYII", 2), ("Bearer x", 3), ("x", 3)]
    {
        let headers = vec![field("Authorization", value)];
        fetch(call.clone(), Http::Request { headers, ..get(server.url("/")) }).await.expect("a response");
        assert_eq!(server.connections(), connections, "{value}");
    }
}

#[tokio::test]
async fn a_content_length_without_a_body_is_dropped() {
    let server = keep_alive(OK);
    let call = to(sandbox(), &server);
    assert_eq!(sent(&call, Request::get(server.url("/")).header("content-length", "500")).await, 200);
    assert_eq!(sent(&call, Request::post(server.url("/")).header("content-length", "0")).await, 200);
    let heads = server.take();
    assert!(!heads[0].contains("content-length"), "{}", heads[0]);
    assert!(heads[1].contains("content-length: 0\r\n"), "{}", heads[1]);
}

/// `count` concurrent requests, each over its own connection.
async fn concurrently(call: &Sender, server: &Server, count: usize) {
    let all: Vec<_> = (0..count).map(|_| tokio::spawn(fetch(call.clone(), get(server.url("/"))))).collect();
    for one in all {
        one.await.expect("no panic").expect("a response");
    }
}

#[tokio::test]
async fn idle_connections_are_limited() {
    let sandbox = with_caps(Caps::default());
    let barrier = Arc::new(Barrier::new(MAX_PER_PLUGIN));
    let server = Server::keep_alive(move |request, stream| {
        // All are open before the first response.
        if request == 1 {
            barrier.wait();
        }
        respond(stream, OK)
    });
    let plugins: Vec<_> = (0..=MAX_TOTAL / MAX_PER_PLUGIN).map(|_| to(&sandbox, &server)).collect();
    for plugin in &plugins {
        concurrently(plugin, &server, MAX_PER_PLUGIN).await;
    }
    let all = MAX_TOTAL + MAX_PER_PLUGIN;
    assert_eq!(server.settled(MAX_TOTAL).await, Connections { all, open: MAX_TOTAL });
    // Permits are free again when a plugin is dropped.
    drop(plugins);
    assert_eq!(server.settled(0).await, Connections { all, open: 0 });
    let plugin = to(&sandbox, &server);
    concurrently(&plugin, &server, MAX_PER_PLUGIN).await;
    assert_eq!(server.settled(MAX_PER_PLUGIN).await, Connections { all: all + MAX_PER_PLUGIN, open: MAX_PER_PLUGIN });
    // The longest idle connection is closed for a new one.
    let other = keep_alive(OK);
    let entries = vec![inside(&server.url("")), inside(&other.url(""))];
    let both = call_of(&sandbox, entries, Vec::new());
    drop(plugin);
    server.settled(0).await;
    concurrently(&both, &server, MAX_PER_PLUGIN).await;
    fetched(&both, other.url("/")).await;
    assert_eq!(server.settled(MAX_PER_PLUGIN - 1).await.open, MAX_PER_PLUGIN - 1);
    assert_eq!(other.settled(1).await, Connections { all: 1, open: 1 });
}
