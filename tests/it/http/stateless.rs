//! Stateless requests (2026-07-28): how they are recognised, how they are answered, and what
//! happens when their connection closes (P12, P27, P28, P29).

use std::fs;
use std::net::{Shutdown, SocketAddr};
use std::time::{Duration, Instant};

use rustix::net::sockopt::set_socket_linger;
use rustix::process::Signal;
use serde_json::{Value, json};
use wharf::transport::http::Settings;

use crate::support::events::{Event, Events};
use crate::support::guest::Guest;
use crate::support::home::Home;
use crate::support::http::{HttpConnection, HttpServer, Request, Response, serve};
use crate::support::process::Process;
use crate::support::streamable::{Endpoint, request, stateless};
use crate::support::{MODERN, TIMEOUT};

const SUBSCRIPTION: &str = "/params/_meta/io.modelcontextprotocol~1subscriptionId";

fn server() -> HttpServer {
    HttpServer::serve(&Home::with(&["everything"]), Settings::default())
}

fn json_of(response: &Response) -> Value {
    serde_json::from_slice(&response.body).unwrap_or_else(|error| panic!("{error}: {response:?}"))
}

/// A call that reports progress until it ends or is cancelled.
fn slow(id: u64, seconds: f64) -> Value {
    let meta = json!({"progressToken": "p", "io.modelcontextprotocol/logLevel": "debug"});
    let arguments = json!({"seconds": seconds});
    stateless(id, "tools/call", json!({"name": "everything_slow_compute", "arguments": arguments, "_meta": meta}))
}

fn listen(id: u64) -> Value {
    stateless(id, "subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}))
}

fn rest(stream: &mut Events) -> Vec<Event> {
    std::iter::from_fn(|| stream.next_event()).collect()
}

/// Rows H1–H12 of the table: which era handles a body.
#[test]
fn each_body_is_handled_in_its_era() {
    let server = server();
    let session = Endpoint::initialize(server.address, "2025-03-26");
    let post = |body: &Value| {
        let accept = "application/json, text/event-stream";
        Request::new("POST", "/mcp", server.address).with("Accept", accept).json(body.to_string())
    };
    let versioned = |body: &Value, version: &str| post(body).with("MCP-Protocol-Version", version);
    let in_session = |request: Request| request.with("Mcp-Session-Id", session.session.as_deref().expect("one"));
    let list = request(1, "tools/list", json!({}));
    let hello = request(
        1,
        "initialize",
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}),
    );
    let discover = request(1, "server/discover", json!({}));
    let notice = json!({"jsonrpc": "2.0", "method": "notifications/none"});
    let modern_notice = json!({"jsonrpc": "2.0", "method": "notifications/none", "params": {"_meta": {"io.modelcontextprotocol/protocolVersion": MODERN}}});
    let response = json!({"jsonrpc": "2.0", "id": 1, "result": {}});
    let batch = json!([list]);
    let modern_batch = json!([list, stateless(2, "tools/list", json!({}))]);
    let both = stateless(1, "initialize", json!({}));
    for (row, request, status, code) in [
        ("H1", versioned(&both, MODERN).with("Mcp-Method", "initialize"), 404, Some(-32601)),
        ("H2", versioned(&list, MODERN), 400, Some(-32602)),
        ("H2 in a session", in_session(versioned(&list, MODERN)), 400, Some(-32602)),
        ("H2 initialize", versioned(&hello, MODERN), 400, Some(-32602)),
        ("H3", versioned(&list, "2099-01-01"), 400, Some(-32022)),
        ("H3 in a session", in_session(versioned(&list, "2099-01-01")), 400, Some(-32022)),
        ("H3 initialize", versioned(&hello, "2099-01-01"), 400, Some(-32022)),
        ("H4", post(&hello), 200, None),
        ("H4 with a version", versioned(&hello, "2025-06-18"), 200, None),
        ("H5", in_session(post(&list)), 200, None),
        ("H5 without a session", post(&list), 400, Some(-32600)),
        ("H5 of no session", post(&list).with("Mcp-Session-Id", "x"), 404, Some(-32600)),
        ("H6", post(&discover), 400, Some(-32602)),
        ("H6 in a session", in_session(versioned(&discover, "2025-03-26")), 200, Some(-32601)),
        ("H7", versioned(&notice, MODERN), 202, None),
        ("H7 by its body", post(&modern_notice), 202, None),
        ("H8", in_session(post(&notice)), 202, None),
        ("H8 without a session", post(&notice), 400, Some(-32600)),
        ("H8 of no session", post(&notice).with("Mcp-Session-Id", "x"), 404, Some(-32600)),
        ("H9", versioned(&response, MODERN), 400, Some(-32600)),
        ("H10", in_session(post(&response)), 202, None),
        ("H10 without a session", post(&response), 400, Some(-32600)),
        ("H11", versioned(&batch, MODERN), 400, Some(-32600)),
        ("H11 by its body", in_session(post(&modern_batch)), 400, Some(-32600)),
        ("H12", in_session(post(&batch)), 200, None),
        ("H12 without a session", post(&batch), 400, Some(-32600)),
        ("no JSON", versioned(&list, MODERN).json("{"), 400, Some(-32700)),
        ("no message", versioned(&list, MODERN).json("{}"), 400, Some(-32600)),
    ] {
        let answer = server.exchange(&request);
        let found = (!answer.body.is_empty()).then(|| json_of(&answer)["error"]["code"].as_i64()).flatten();
        assert_eq!((answer.status, found), (status, code), "{row}: {}", answer.text());
        let opens = row.starts_with("H4");
        assert_eq!(answer.header("mcp-session-id").is_some(), opens, "{row}");
    }
}

/// H13, H15, H16, P27: no session, no other HTTP methods, no resumption.
#[test]
fn p27_stateless_requests_ignore_sessions_and_event_ids() {
    let server = server();
    let client = Endpoint::new(server.address);
    let session = Endpoint::initialize(server.address, "2025-11-25");
    let mine = session.session.as_deref().expect("one");
    for method in ["GET", "DELETE"] {
        let request = Request::new(method, "/mcp", server.address).with("Accept", "text/event-stream");
        let request = request.with("MCP-Protocol-Version", MODERN).with("Mcp-Session-Id", mine);
        let refused = server.exchange(&request);
        assert_eq!((refused.status, refused.header("allow")), (405, Some("POST")), "{method}");
    }
    assert_eq!(session.exchange(&request(1, "ping", json!({}))).status, 200, "it was not deleted");
    for id in [mine, "x", ""] {
        let request = client.post(&stateless(1, "tools/list", json!({})));
        let answer = server.exchange(&request.with("Mcp-Session-Id", id).with("Last-Event-ID", "1-1"));
        assert_eq!((answer.status, answer.header("mcp-session-id")), (200, None));
    }
}

/// HM-4, HM-5.
#[test]
fn a_stateless_stream_has_no_ids_and_ends_with_the_answer() {
    let server = server();
    let client = Endpoint::new(server.address);
    let mut stream = client.stream(&slow(3, 1.2));
    assert_eq!(stream.response.header("x-accel-buffering"), Some("no"));
    assert_eq!(stream.response.header("mcp-session-id"), None);
    let events = rest(&mut stream);
    assert!(events.iter().all(|event| event.id.is_none() && !event.data.is_empty()), "{events:?}");
    let (answer, before) = events.split_last().expect("an answer");
    assert_eq!(answer.json()["id"], 3);
    assert!(!before.is_empty());
    assert!(before.iter().all(|event| event.json()["method"] == "notifications/progress"), "{before:?}");
}

/// By `Accept`; notifications are omitted where the format has no place for them.
#[test]
fn answers_have_an_accepted_content_type() {
    let server = server();
    let client = Endpoint::new(server.address);
    let post = client.post(&slow(3, 0.6));
    let plain = server.exchange(&post.clone().set("Accept", "application/json"));
    assert_eq!(json_of(&plain)["id"], 3);
    let quick = client.post(&stateless(1, "tools/list", json!({})));
    assert_eq!(server.exchange(&quick).header("content-type"), Some("application/json"));
    let mut events = Events::open(server.connect(), &quick.clone().set("Accept", "text/event-stream"));
    assert_eq!(events.next_message().expect("an answer").json()["id"], 1);
    assert_eq!(events.next_event(), None);
    assert_eq!(server.exchange(&quick.clone().set("Accept", "text/html")).status, 406);
    // A refusal needs an error status, so it is not sent as a stream.
    let refused = server.exchange(&quick.without("Mcp-Method").set("Accept", "text/event-stream"));
    assert_eq!((refused.status, refused.header("content-type")), (400, Some("application/json")));
}

/// The state that the server caches per connection changes no answer.
#[test]
fn a_connection_serves_sequential_requests() {
    let server = server();
    let client = Endpoint::new(server.address);
    let call = |name: &str, token: Value| {
        let params = json!({"name": name, "arguments": {"seconds": 0}, "_meta": {"progressToken": token}});
        client.post(&stateless(1, "tools/call", params)).set("Accept", "application/json")
    };
    let notice = json!({"jsonrpc": "2.0", "method": "notifications/none", "params": {"_meta": {"io.modelcontextprotocol/protocolVersion": MODERN}}});
    let mut connection = server.connect();
    for round in 0..30 {
        let done = connection.exchange(&call("everything_slow_compute", json!(round)));
        assert_eq!((done.status, &json_of(&done)["result"]["isError"]), (200, &Value::Null), "{done:?}");
        for (what, request, status, code) in [
            ("a token that is none", call("everything_slow_compute", json!([])), 400, -32602),
            ("no such tool", call("everything_none", json!(0)), 200, -32602),
            (
                "another version",
                call("everything_slow_compute", json!(0)).set("MCP-Protocol-Version", "1"),
                400,
                -32020,
            ),
        ] {
            let refused = connection.exchange(&request);
            let error = json_of(&refused);
            assert_eq!(
                (refused.status, &error["id"], &error["error"]["code"]),
                (status, &json!(1), &json!(code)),
                "{what}: {refused:?}"
            );
        }
        assert_eq!(connection.exchange(&client.post(&notice)).status, 202);
    }
}

/// P12: ids are scoped to a request, and a cancellation notification has no effect.
#[test]
fn p12_ids_are_scoped_to_one_request() {
    let server = server();
    let client = Endpoint::new(server.address);
    let mut one = client.stream(&slow(7, 1.2));
    let mut two = client.stream(&slow(7, 1.2));
    one.next_message().expect("a step");
    two.next_message().expect("a step");
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}});
    let accepted = server.exchange(
        &Request::new("POST", "/mcp", server.address).with("MCP-Protocol-Version", MODERN).json(cancel.to_string()),
    );
    assert_eq!((accepted.status, accepted.text()), (202, ""));
    for stream in [&mut one, &mut two] {
        let answer = rest(stream).pop().expect("an answer").json();
        assert_eq!((&answer["id"], &answer["result"]["isError"]), (&json!(7), &Value::Null), "{answer}");
    }
}

/// Whether the guest has logged its cancellation that many times.
fn cancelled(process: &Process, times: usize) -> bool {
    process.log().matches("cancelled").count() >= times
}

/// HM-6, P28: however the stream is closed, the guest is notified at once.
#[test]
fn p28_closing_the_stream_cancels_the_guest() {
    let home = Home::with(&["everything"]);
    let (process, address) = serve(&home, &[]);
    let client = Endpoint::new(address);
    let mut took = Vec::new();
    for (n, way) in ["reset", "half-closed", "closed"].into_iter().enumerate() {
        let mut stream = client.stream(&slow(1, 50.0));
        stream.next_message().expect("a step");
        let begun = Instant::now();
        let socket = stream.connection.stream();
        match way {
            "reset" => set_socket_linger(socket, Some(Duration::ZERO)).expect("a socket"),
            "half-closed" => socket.shutdown(Shutdown::Write).expect("a socket"),
            _ => {}
        }
        if way != "half-closed" {
            drop(stream);
        }
        while !cancelled(&process, n + 1) {
            assert!(begun.elapsed() < TIMEOUT, "{way}: the guest is not notified; the log:\n{}", process.log());
            std::thread::yield_now();
        }
        took.push(begun.elapsed());
    }
    // It takes some milliseconds on an idle machine. A busy one may be slow once, but not three
    // times.
    let quickest = took.iter().min().expect("three");
    assert!(*quickest < Duration::from_secs(1), "took {took:?}");
}

/// The same before any message was sent.
#[test]
fn p28_closing_before_the_answer_cancels_the_guest() {
    let home = Home::with(&["everything"]);
    let (process, address) = serve(&home, &[]);
    let client = Endpoint::new(address);
    let request = client.post(&slow(1, 50.0)).set("Accept", "application/json");
    client.exchange(&stateless(1, "tools/list", json!({})));
    let mut connection = HttpConnection::connect(address);
    connection.send(&request.bytes());
    // The answer to a later request shows that the call has begun.
    client.exchange(&stateless(2, "tools/call", json!({"name": "everything_test_tool_with_progress"})));
    drop(connection);
    process.log_with("cancelled");
}

struct Usage {
    files: usize,
    threads: usize,
    resident: u64,
}

fn usage(process: &Process) -> Usage {
    let count = |what: &str| fs::read_dir(format!("/proc/{}/{what}", process.id())).expect("a process").count();
    Usage { files: count("fd"), threads: count("task"), resident: process.resident() }
}

/// P28: a thousand clients that disconnect during a call leak nothing.
#[test]
fn p28_clients_that_disconnect_leak_nothing() {
    let home = Home::with(&["echo", "everything"]);
    let (process, address) = serve(&home, &[]);
    let client = Endpoint::new(address);
    let mut connection = HttpConnection::connect(address);
    connection.exchange(&client.post(&stateless(1, "tools/list", json!({}))));
    let idle = sockets(&process) - 1;
    drop(connection);
    let echo = stateless(2, "tools/call", json!({"name": "echo", "arguments": {"message": "x"}}));
    let vanish = |times: usize| {
        for n in 0..times {
            let crowd: Vec<_> = (0..20)
                .map(|id| {
                    let mut connection = HttpConnection::connect(address);
                    let message = if id % 4 == 0 { listen(id) } else { slow(id, 50.0) };
                    connection.send(&client.post(&message).bytes());
                    connection
                })
                .collect();
            // Some are in a call, others have not begun one.
            assert_eq!(client.exchange(&echo).status, 200);
            for connection in crowd {
                if n % 2 == 0 {
                    set_socket_linger(connection.stream(), Some(Duration::ZERO)).expect("a socket");
                }
            }
        }
    };
    vanish(5);
    settled(&process, idle);
    let before = usage(&process);
    vanish(50);
    settled(&process, idle);
    let after = usage(&process);
    assert!(after.files <= before.files, "{} files, {} before", after.files, before.files);
    assert!(after.threads <= before.threads + 4, "{} threads, {} before", after.threads, before.threads);
    assert!(after.resident < before.resident + (32 << 20), "{} bytes, {} before", after.resident, before.resident);
    let answer = client.exchange(&stateless(2, "tools/call", json!({"name": "everything_test_simple_text"})));
    assert_eq!(answer.header("content-type"), Some("application/json"), "answered at once: no slot is occupied");
}

fn sockets(process: &Process) -> usize {
    let links = fs::read_dir(format!("/proc/{}/fd", process.id())).expect("a process");
    let targets = links.filter_map(|link| fs::read_link(link.ok()?.path()).ok());
    targets.filter(|target| target.to_string_lossy().starts_with("socket:")).count()
}

/// Waits until at most that many sockets are open.
fn settled(process: &Process, most: usize) {
    let deadline = Instant::now() + TIMEOUT;
    while sockets(process) > most {
        assert!(Instant::now() < deadline, "{} sockets instead of {most}", sockets(process));
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn acknowledged(address: SocketAddr, id: u64) -> Events {
    let mut stream = Endpoint::new(address).stream(&listen(id));
    let first = stream.next_message().expect("an acknowledgement").json();
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(first.pointer(SUBSCRIPTION), Some(&json!(id)));
    stream
}

/// Each stream is notified of each change under its own id, and ends with its result.
#[test]
fn subscription_streams_are_notified_and_end_with_a_result() {
    let home = Home::with(&["everything"]);
    let (mut process, address) = serve(&home, &[]);
    Endpoint::new(address).exchange(&stateless(1, "tools/list", json!({})));
    let mut streams = [acknowledged(address, 5), acknowledged(address, 5), acknowledged(address, 6)];
    home.put_bytes(&Guest::returning("1").build(), "later");
    for (stream, id) in streams.iter_mut().zip([5, 5, 6]) {
        let changed = stream.next_message().expect("a change").json();
        assert_eq!(changed["method"], "notifications/tools/list_changed");
        assert_eq!(changed.pointer(SUBSCRIPTION), Some(&json!(id)));
    }
    process.signal(Signal::TERM);
    for (stream, id) in streams.iter_mut().zip([5, 5, 6]) {
        let last = rest(stream).pop().expect("a result").json();
        assert_eq!((&last["id"], &last["result"]["resultType"]), (&json!(id), &json!("complete")), "{last}");
        assert_eq!(last["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"], id);
    }
    assert!(process.wait().success());
}

/// P29: a thousand unread streams delay no other client, cost little memory, and get few
/// notifications for many changes.
#[test]
fn p29_slow_readers_delay_no_other_client() {
    const CHANGES: usize = 40;
    let home = Home::with(&["everything"]);
    home.configure("[server.http]\nconnections = 1100\nconnections-per-address = 1100\n");
    let (mut process, address) = serve(&home, &[]);
    let client = Endpoint::new(address);
    client.exchange(&stateless(1, "tools/list", json!({})));
    let mut streams: Vec<Events> = (0..1000).map(|id| acknowledged(address, id)).collect();
    let before = process.resident();
    let bytes = Guest::returning("1").build();
    for number in 0..CHANGES {
        home.put_bytes(&bytes, &format!("later{number}"));
    }
    let last = format!("later{}_version", CHANGES - 1);
    while !client.exchange(&stateless(1, "tools/list", json!({}))).text().contains(&last) {
        let changed = streams[0].next_message().expect("a change").json();
        assert_eq!(changed["method"], "notifications/tools/list_changed");
    }
    assert!(process.resident() < before + (64 << 20), "{} bytes, {before} before", process.resident());
    // A stream that has not been notified when the server stops is not notified any more.
    let mut unread = streams.split_off(1);
    let first: Vec<Value> = unread.iter_mut().map(|stream| stream.next_message().expect("a change").json()).collect();
    process.signal(Signal::TERM);
    for (id, (stream, first)) in (1..).zip(unread.iter_mut().zip(first)) {
        let events: Vec<Value> = [first].into_iter().chain(rest(stream).iter().map(Event::json)).collect();
        let notified = events.iter().filter(|event| event["method"] == "notifications/tools/list_changed");
        let notified = notified.inspect(|event| assert_eq!(event.pointer(SUBSCRIPTION), Some(&json!(id)))).count();
        assert!((1..CHANGES / 2).contains(&notified), "{notified} notifications of {CHANGES} changes");
        assert_eq!(events.last().expect("a result")["result"]["resultType"], "complete");
    }
    assert!(process.wait().success());
}
