//! Shutdown: end of input, signals, a closed stdout, cancelled calls, a kill.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;

use crate::support::client::Client;
use crate::support::guest::Guest;
use crate::support::home::Home;
use crate::support::http::{HttpConnection, Request, serve};
use crate::support::process::{Process, command};
use crate::support::streamable::{Endpoint, request, stateless};
use crate::support::wire::{Received, Wire};
use crate::support::{MODERN, TIMEOUT};

/// A home with `echo` and a plugin whose only tool, `spinner_version`, never returns.
fn with_a_spinner() -> Home {
    let home = Home::with(&["echo"]);
    home.put_bytes(&Guest::spinning().build(), "spinner");
    home
}

#[test]
fn the_end_of_input_drains_pending_requests() {
    let home = Home::with(&["echo"]);
    let mut client = Client::start(&home);
    client.tools();
    let ids: Vec<u64> =
        (0..20).map(|_| client.post("tools/call", json!({"name": "echo", "arguments": {"message": "x"}}))).collect();
    let rest = client.finish();
    for id in ids {
        assert_eq!(rest.iter().filter(|message| message["id"] == id).count(), 1, "request {id} in {rest:?}");
    }
}

#[test]
fn p08_the_end_of_input_does_not_wait_for_an_endless_call() {
    let home = with_a_spinner();
    let mut client = Client::start(&home);
    client.tools();
    client.post("tools/call", json!({"name": "spinner_version"}));
    let echo = client.post("tools/call", json!({"name": "echo", "arguments": {"message": "x"}}));
    client.answer(echo);
    let started = Instant::now();
    client.process().close();
    let status = client.process().wait();
    assert!(status.success(), "{status}");
    assert!(started.elapsed() < Duration::from_secs(5), "took {:?}", started.elapsed());
}

#[test]
fn a_host_without_requests_exits_at_the_end_of_input() {
    let home = with_a_spinner();
    let mut process = Process::serve(&home);
    assert!(process.wait().success());
    assert_eq!(process.receive(TIMEOUT), Received::Closed);
}

#[test]
fn p09_a_signal_drains_calls_and_exits() {
    for signal in [Signal::TERM, Signal::INT] {
        let home = with_a_spinner();
        let mut client = Client::start(&home);
        client.tools();
        client.post("tools/call", json!({"name": "spinner_version"}));
        let echo = client.post("tools/call", json!({"name": "echo", "arguments": {"message": "x"}}));
        client.answer(echo);
        let started = Instant::now();
        client.process().signal(signal);
        let status = client.process().wait();
        assert!(status.success(), "{signal:?}: {status}");
        assert!(started.elapsed() < Duration::from_secs(8), "{signal:?}: took {:?}", started.elapsed());
    }
}

#[test]
fn a_subscription_ends_with_a_result() {
    let home = Home::with(&["echo"]);
    let mut client = Client::start_modern(&home);
    let id = client.post("subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}));
    client.notification("notifications/subscriptions/acknowledged");
    let rest = client.finish();
    let last = rest.last().unwrap_or_else(|| panic!("no result at the end of a subscription of {MODERN}"));
    assert_eq!(last["id"], id, "{rest:?}");
    assert_eq!(last["result"]["resultType"], "complete");
    assert_eq!(last["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"], id);
}

/// However the server shuts down, calls that exceed the grace period get an error: running, queued
/// and waiting for the user.
#[test]
fn interrupted_calls_are_answered_before_exit() {
    const CALLS: usize = 24;
    let home = Home::with(&["echo", "everything"]);
    home.put_bytes(&Guest::spinning().build(), "spinner");
    for signal in [None, Some(Signal::TERM)] {
        let mut client = Client::with_capabilities(Process::serve(&home), "2025-11-25", json!({"roots": {}}));
        client.tools();
        let mut ids: Vec<u64> =
            (0..CALLS).map(|_| client.post("tools/call", json!({"name": "spinner_version"}))).collect();
        let wait = json!({"name": "everything_slow_compute", "arguments": {"seconds": 30}});
        ids.push(client.post("tools/call", wait));
        ids.push(client.post("tools/call", json!({"name": "everything_test_roots"})));
        client.notification("roots/list");
        match signal {
            Some(signal) => client.process().signal(signal),
            None => client.process().close(),
        }
        let rest = client.finish();
        for id in &ids {
            let answers: Vec<_> =
                rest.iter().filter(|message| message["id"] == *id && message["method"].is_null()).collect();
            assert_eq!(answers.len(), 1, "{signal:?}: request {id} in {rest:?}");
            let answer = answers[0];
            // A queued call may have been refused before.
            let is_reported =
                answer["error"]["data"]["reason"] == "shutting_down" || answer["result"]["isError"] == true;
            assert!(is_reported, "{signal:?}: {answer}");
        }
        let cut = rest.iter().filter(|message| message["error"]["data"]["reason"] == "shutting_down").count();
        assert!(cut >= 2, "{signal:?}: {rest:?}");
    }
}

/// Over HTTP: with and without a session, as JSON and as a complete stream.
#[test]
fn interrupted_calls_over_http_are_answered_before_exit() {
    let home = Home::with(&["everything"]);
    let (mut process, address) = serve(&home, &[]);
    let session = Endpoint::initialize(address, "2025-11-25");
    let wait = json!({"name": "everything_slow_compute", "arguments": {"seconds": 60}});
    let posts = (0..12).map(|id| match id % 4 {
        0 => session.post(&request(id, "tools/call", wait.clone())),
        1 => session.post(&request(id, "tools/call", wait.clone())).set("Accept", "application/json"),
        more => {
            let post = Request::discover(address).set("Mcp-Method", "tools/call");
            let post = post.with("Mcp-Name", "everything_slow_compute");
            let accept = ["application/json", "application/json, text/event-stream"][usize::from(more == 3)];
            post.set("Accept", accept).json(stateless(id, "tools/call", wait.clone()).to_string())
        }
    });
    let mut connections: Vec<HttpConnection<_>> = posts
        .map(|post| {
            let mut connection = HttpConnection::connect(address);
            assert!(connection.send(&post.bytes()));
            connection
        })
        .collect();
    // Calls that are not running by then are refused as well.
    for id in 100..200 {
        assert_eq!(session.exchange(&request(id, "ping", json!({}))).status, 200);
    }
    process.signal(Signal::TERM);
    let mut cut = 0;
    for (id, connection) in connections.iter_mut().enumerate() {
        let text = connection.rest();
        let is_stream = text.to_lowercase().contains("transfer-encoding: chunked");
        assert!(!is_stream || text.ends_with("\r\n0\r\n\r\n"), "request {id}: cut short: {text}");
        assert!(text.contains(&format!("\"id\":{id},")), "request {id}: {text}");
        let late = ["session_not_found", "\"busy\""].iter().any(|reason| text.contains(reason));
        let is_cut = text.contains("shutting_down");
        assert!(is_cut || late, "request {id}: {text}");
        cut += usize::from(is_cut);
    }
    // That many calls of one caller run concurrently, with one turn reserved for others; the rest
    // may already have timed out.
    assert!(cut >= 3, "only {cut} of 12 calls were running");
    assert!(process.wait().success());
}

/// A reader that closes the pipe, as `head` does, is not an error.
#[test]
fn p07_a_closed_stdout_is_a_clean_exit() {
    let home = Home::with(&["echo"]);
    let mut child = command(&home, ["serve".as_ref(), home.plugins().as_os_str()])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("the binary starts");
    drop(child.stdout.take());
    let mut stdin = child.stdin.take().expect("a pipe");
    // Writing fails once the host has exited.
    let deadline = Instant::now() + TIMEOUT;
    while std::io::Write::write_all(&mut stdin, b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n").is_ok() {
        assert!(Instant::now() < deadline, "the host runs on without a reader");
    }
    let output = child.wait_with_output().expect("its end");
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!log.contains("panicked") && !log.to_lowercase().contains("error"), "{log}");
    assert!(output.status.success(), "{}: {log}", output.status);
}

#[test]
fn a_cancelled_call_stops_and_sends_nothing() {
    let home = with_a_spinner();
    for modern in [false, true] {
        let mut client = if modern { Client::start_modern(&home) } else { Client::start(&home) };
        client.tools();
        // More than may run concurrently: each cancelled call must release its slot.
        for _ in 0..64 {
            let id = client.post("tools/call", json!({"name": "spinner_version"}));
            client.notify("notifications/cancelled", json!({"requestId": id, "reason": "tests"}));
        }
        assert_eq!(client.text("echo", json!({"message": "x"})), "x");
        let rest = client.finish();
        assert!(rest.is_empty(), "sent after the cancellation: {rest:?}");
    }
}

#[test]
fn p13_a_cancellation_of_another_id_has_no_effect() {
    let home = Home::with(&["echo"]);
    let mut client = Client::start(&home);
    let id = client.post("tools/call", json!({"name": "echo", "arguments": {"message": "x"}}));
    client.notify("notifications/cancelled", json!({"requestId": id.to_string()}));
    client.notify("notifications/cancelled", json!({"requestId": id + 1000}));
    assert!(client.answer(id).get("result").is_some());
}

#[test]
fn a_spinning_guest_does_not_delay_a_ping() {
    let home = with_a_spinner();
    let mut client = Client::start(&home);
    client.tools();
    for _ in 0..8 {
        client.post("tools/call", json!({"name": "spinner_version"}));
    }
    let mut slowest = Duration::ZERO;
    for _ in 0..50 {
        let started = Instant::now();
        client.result("ping", json!({}));
        slowest = slowest.max(started.elapsed());
    }
    assert!(slowest < Duration::from_secs(1), "a ping took {slowest:?}");
}

#[test]
fn a_call_over_its_timeout_is_stopped_and_reported() {
    let home = with_a_spinner();
    home.configure("[limits]\ntimeout = \"300ms\"\n");
    let mut client = Client::start(&home);
    let result = client.call("spinner_version", json!({}));
    assert_eq!(result["isError"], true, "{result}");
    assert!(result["content"][0]["text"].as_str().is_some_and(|text| text.contains("spinner")), "{result}");
    assert_eq!(client.text("echo", json!({"message": "x"})), "x");
}

#[test]
fn a_host_can_be_started_after_a_kill() {
    let home = Home::with(&["echo"]);
    let mut client = Client::start(&home);
    assert_eq!(client.text("echo", json!({"message": "x"})), "x");
    client.process().signal(Signal::KILL);
    assert!(!client.process().wait().success());
    drop(client);
    let mut client = Client::start(&home);
    assert_eq!(client.tools(), ["echo", "echo_add"]);
    assert_eq!(client.text("echo", json!({"message": "again"})), "again");
}

/// Two clients may start a host each for the same folder.
#[test]
fn two_hosts_share_a_folder() {
    let home = Home::with(&["echo"]);
    let (mut one, mut two) = (Client::start(&home), Client::start(&home));
    home.put_bytes(&Guest::returning("1").build(), "late");
    for client in [&mut one, &mut two] {
        client.tools_until(|tools| tools.len() == 3);
        assert_eq!(client.text("late_version", json!({})), "1");
    }
}
