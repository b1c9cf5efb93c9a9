//! Hostile clients on stdio that no other file covers. `P` and a number is a row of the abuse
//! suite; its rows for HTTP are in `http/`.

use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use wharf::server::Settings;

use crate::support::client::Client;
use crate::support::guest::Guest;
use crate::support::home::Home;
use crate::support::http::{HttpConnection, Request, serve};
use crate::support::memory::Memory;
use crate::support::process::{Process, command, resident};
use crate::support::streamable::stateless;
use crate::support::wire::{Received, Wire};
use crate::support::{MODERN, TIMEOUT};

/// A home with `echo`, and a plugin whose only tool, `spinner_version`, never returns.
fn with_a_spinner(timeout: &str) -> Home {
    let home = Home::with(&["echo"]);
    home.put_bytes(&Guest::spinning().build(), "spinner");
    home.configure(&format!("[limits]\ntimeout = '{timeout}'\ncpu = '{timeout}'\n"));
    home
}

fn next(process: &mut Process) -> Value {
    match process.receive(TIMEOUT) {
        Received::Frame(frame) => serde_json::from_str(&frame).expect("JSON"),
        ended => panic!("{ended:?} instead of a message; the log:\n{}", process.log()),
    }
}

/// Sends a line and returns the next message.
fn exchange(process: &mut Process, line: &str) -> Value {
    process.send(line);
    next(process)
}

fn ping(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#)
}

fn serving(home: &Home) -> Command {
    let mut command = command(home, ["serve".as_ref(), home.plugins().as_os_str()]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[test]
fn p03_deep_nesting_is_refused_in_every_member() {
    let home = Home::new();
    let mut process = Process::serve(&home);
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for line in [
        deep.clone(),
        ping(&deep),
        format!(r#"{{"jsonrpc":{deep},"id":1,"method":"ping"}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":{deep}}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"_meta":{{"x":{deep}}}}}}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":1,"result":{deep}}}"#),
    ] {
        let answer = exchange(&mut process, &line);
        assert_eq!(answer["error"]["data"]["reason"], "nesting_limit", "{answer} to {:.60}", line);
        assert_eq!(exchange(&mut process, &ping("2"))["id"], 2);
    }
}

#[test]
fn p04_an_id_of_ten_megabytes_is_refused() {
    let home = Home::new();
    let mut process = Process::serve(&home);
    let answer = exchange(&mut process, &ping(&format!("\"{}\"", "x".repeat(10 << 20))));
    assert_eq!(answer["error"]["data"]["reason"], "message_too_long", "{answer}");
    assert!(answer.get("id").is_none(), "{answer}");
    assert_eq!(exchange(&mut process, &ping("2"))["id"], 2);
}

/// Two parsers must not read one message as two different ones.
#[test]
fn p05_repeated_members_are_refused() {
    let home = Home::with(&["echo"]);
    let mut client = Client::start(&home);
    client.tools();
    let process = client.process();
    for line in [
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}"#,
        r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{},"params":{"x":1}}"#,
        r#"{"jsonrpc":"2.0","id":1,"meth\u006fd":"tools/list","method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo_add","name":"echo","arguments":{}}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{},"arguments":{}}}"#,
    ] {
        let answer = exchange(process, line);
        assert!([-32600, -32602].map(Value::from).contains(&answer["error"]["code"]), "{answer} to {line}");
    }
}

/// A client that sends requests and reads no responses is subject to back-pressure, costs little
/// memory, and gets every response once it reads.
#[test]
fn p06_a_client_that_never_reads_is_throttled() {
    const REQUESTS: usize = 60_000;
    const BLOCKED: Duration = Duration::from_secs(1);
    let home = Home::new();
    let mut child = serving(&home).spawn().expect("the binary starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut answer = String::new();
    writeln!(stdin, "{}", ping("0")).expect("the host reads");
    stdout.read_line(&mut answer).expect("an answer");
    let before = resident(child.id());

    let line = format!("{}\n", ping(&format!("\"{}\"", "x".repeat(1000))));
    let (sender, sent) = channel();
    let writer = std::thread::spawn(move || {
        for _ in 0..REQUESTS {
            stdin.write_all(line.as_bytes()).expect("the host resumes reading");
            sender.send(()).expect("the test waits");
        }
    });
    let mut count = 0;
    while sent.recv_timeout(BLOCKED).is_ok() {
        count += 1;
    }
    let growth = resident(child.id()).saturating_sub(before) >> 20;
    assert!(count < REQUESTS / 2, "{count} requests were accepted while no response was read");
    assert!(growth < 32, "{growth} MiB for a client that does not read");

    let answers = stdout.lines().inspect(|line| assert!(line.as_ref().is_ok_and(|line| line.contains("result"))));
    assert_eq!(answers.count(), REQUESTS);
    writer.join().expect("all was sent");
    assert!(child.wait().expect("its end").success());
}

#[test]
fn p07_a_closed_stderr_stops_nothing() {
    let home = Home::with(&["echo"]);
    let mut command = serving(&home);
    let mut child = command.arg("--log").arg("trace").spawn().expect("the binary starts");
    drop(child.stderr.take());
    let mut stdin = child.stdin.take().expect("a pipe");
    let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
    for id in 0..100 {
        writeln!(stdin, "{}", ping(&id.to_string())).expect("the host reads");
        let mut answer = String::new();
        stdout.read_line(&mut answer).expect("an answer");
        assert!(answer.contains(&format!("\"id\":{id},")), "{answer}");
    }
    drop(stdin);
    let status = child.wait().expect("its end");
    assert!(status.success(), "{status}");
}

/// Many clients open a pipe for stderr and never read it.
#[test]
fn p07_an_unread_stderr_blocks_nothing() {
    let home = Home::with(&["echo"]);
    home.put_bytes(&Guest::returning("1").prints("talk", &"a line\n".repeat(1000)).build(), "talker");
    let mut child = serving(&home).spawn().expect("the binary starts");
    let unread = child.stderr.take();
    let mut stdin = child.stdin.take().expect("a pipe");
    let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut exchange = |id: u64, method: &str, params: Value| {
        writeln!(stdin, "{}", stateless(id, method, params)).expect("the host reads");
        let mut answer = String::new();
        stdout.read_line(&mut answer).expect("an answer");
        serde_json::from_str::<Value>(&answer).expect("JSON")
    };
    // More than the pipe and the host buffer.
    for id in 0..40 {
        let answer = exchange(id, "tools/call", json!({"name": "talker_talk", "arguments": {}}));
        assert_eq!((&answer["id"], answer.get("error")), (&json!(id), None), "{answer}");
    }
    let echo = exchange(41, "tools/call", json!({"name": "echo", "arguments": {"message": "x"}}));
    assert_eq!(echo.pointer("/result/content/0/text"), Some(&json!("x")), "{echo}");
    kill_process(Pid::from_child(&child), Signal::TERM).expect("a signal");
    let status = child.wait().expect("its end");
    assert!(status.success(), "{status}");
    let mut log = Vec::new();
    unread.expect("a pipe").read_to_end(&mut log).expect("what was written");
    // A pipe has 16 pages, and a write that does not fit into the end of a page leaves it unused.
    assert!(log.len() >= 48 << 10, "the pipe was full: {} bytes", log.len());
}

#[test]
fn p08_the_end_of_input_ends_fifty_running_calls() {
    let home = with_a_spinner("30s");
    let mut client = Client::start(&home);
    client.tools();
    for _ in 0..50 {
        client.post("tools/call", json!({"name": "spinner_version"}));
    }
    assert_eq!(client.text("echo", json!({"message": "x"})), "x");
    let started = Instant::now();
    client.process().close();
    assert!(client.process().wait().success());
    assert!(started.elapsed() < Duration::from_secs(5), "took {:?}", started.elapsed());
}

/// A first signal ends streams with their results and drains calls; a second one exits at once.
#[test]
fn p09_a_second_signal_exits_at_once() {
    let home = with_a_spinner("30s");
    let mut client = Client::start_modern(&home);
    let listen = client.post("subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}));
    client.notification("notifications/subscriptions/acknowledged");
    client.tools();
    client.post("tools/call", json!({"name": "spinner_version"}));
    assert_eq!(client.text("echo", json!({"message": "x"})), "x");
    client.process().signal(Signal::TERM);
    assert_eq!(client.answer(listen)["result"]["resultType"], "complete");
    let started = Instant::now();
    client.process().signal(Signal::TERM);
    assert_eq!(client.process().wait().code(), Some(143));
    assert!(started.elapsed() < Duration::from_secs(3), "took {:?}", started.elapsed());
}

#[test]
fn p10_an_unfinished_line_costs_only_its_bytes() {
    let home = Home::new();
    let mut process = Process::serve(&home);
    assert_eq!(exchange(&mut process, &ping("1"))["id"], 1);
    let before = process.resident();
    process.send_bytes(br#"{"jsonrpc":"2.0","id":2,"method":"ping","params":{"x":""#);
    process.send_bytes(&vec![b'x'; 3 << 20]);
    // Memory grows only once the host has read it.
    let deadline = Instant::now() + TIMEOUT;
    let growth = loop {
        let growth = process.resident().saturating_sub(before) >> 20;
        if growth >= 2 {
            break growth;
        }
        assert!(Instant::now() < deadline, "three MiB are not read: {growth} MiB more");
        std::thread::sleep(Duration::from_millis(5));
    };
    assert!(growth < 16, "{growth} MiB for three");
    assert_eq!(exchange(&mut process, "\"}}")["id"], 2);
}

#[test]
fn p11_an_id_in_use_is_refused_and_the_first_request_answered() {
    let home = with_a_spinner("500ms");
    let mut client = Client::start(&home);
    client.tools();
    let process = client.process();
    process.send(r#"{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"spinner_version"}}"#);
    let refused = exchange(process, &ping("\"\\u0078\""));
    assert_eq!(refused["error"]["data"]["reason"], "id_in_use", "{refused}");
    let first = next(process);
    assert_eq!((&first["id"], &first["result"]["isError"]), (&json!("x"), &json!(true)), "{first}");
    assert_eq!(exchange(process, &ping("\"x\""))["result"], json!({}), "the id is free again once answered");
}

/// Request ids are scoped to a connection, and a cancellation on a new connection affects none.
#[test]
fn p12_a_cancellation_does_not_affect_other_connections() {
    let home = with_a_spinner("1s");
    let (_process, address) = serve(&home, &[]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({"name": "spinner_version", "_meta": meta});
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let call = Request::discover(address).set("Mcp-Method", "tools/call").with("Mcp-Name", "spinner_version");
    let call = call.json(message.to_string());
    let mut connections = [HttpConnection::connect(address), HttpConnection::connect(address)];
    for connection in &mut connections {
        assert!(connection.send(&call.bytes()));
    }
    let cancel =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1, "_meta": meta}});
    let cancel = Request::discover(address).set("Mcp-Method", "notifications/cancelled").json(cancel.to_string());
    assert_eq!(HttpConnection::connect(address).exchange(&cancel).status, 202);
    for connection in &mut connections {
        let response = connection.response().expect("an answer");
        let answer: Value = serde_json::from_slice(&response.body).expect("JSON");
        assert_eq!((&answer["id"], &answer["result"]["isError"]), (&json!(1), &json!(true)), "{answer}");
    }
}

/// Cancelled before it runs, while it runs, twice, or after it ended: one answer at most, and
/// its resources are released.
#[test]
fn p13_a_cancelled_request_has_at_most_one_answer() {
    let home = Home::with(&["echo"]);
    let mut client = Client::start(&home);
    client.tools();
    let mut ids = Vec::new();
    for at in 0..600 {
        let id = client.post("tools/call", json!({"name": "echo", "arguments": {"message": "x"}}));
        let cancel = json!({"requestId": id});
        match at % 4 {
            0 => client.notify("notifications/cancelled", cancel),
            1 => (0..2).for_each(|_| client.notify("notifications/cancelled", cancel.clone())),
            2 => {
                assert!(client.answer(id).get("result").is_some());
                client.notify("notifications/cancelled", cancel);
                continue;
            }
            _ => {}
        }
        ids.push((id, at % 4 == 3));
    }
    assert_eq!(client.text("echo", json!({"message": "y"})), "y");
    let rest = client.finish();
    for (id, is_kept) in ids {
        let answers = rest.iter().filter(|message| message["id"] == id).count();
        assert!(answers <= 1 && (answers == 1 || !is_kept), "{answers} answers to request {id}");
    }
}

#[test]
fn p14_subscription_streams_are_limited() {
    let home = Home::with(&["echo"]);
    let mut client = Client::start_modern(&home);
    let wanted = json!({"notifications": {"toolsListChanged": true}});
    let mut open: Vec<u64> = (0..64).map(|_| client.post("subscriptions/listen", wanted.clone())).collect();
    for _ in &open {
        client.notification("notifications/subscriptions/acknowledged");
    }
    for _ in 0..2000 {
        let error = client.error("subscriptions/listen", wanted.clone());
        assert_eq!((&error["code"], &error["data"]["reason"]), (&json!(-32603), &json!("too_many_listens")));
    }
    // The slot of a cancelled stream is released, though not immediately.
    client.notify("notifications/cancelled", json!({"requestId": open.remove(0)}));
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let id = client.post("subscriptions/listen", wanted.clone());
        let message = client.next_before(deadline).expect("an acknowledgement or a refusal");
        if message["method"] == "notifications/subscriptions/acknowledged" {
            open.push(id);
            break;
        }
        assert_eq!(message["error"]["data"]["reason"], "too_many_listens", "{message}");
    }
    let rest = client.finish();
    let ended = rest.iter().filter(|message| message["result"]["resultType"] == "complete").count();
    assert_eq!(ended, open.len(), "each stream has its result: {rest:?}");
}

/// Notifications about a list are at least 250 ms apart, and the last change is always notified.
#[test]
fn p14_a_burst_of_changes_causes_few_notifications() {
    const PAUSE: Duration = Duration::from_millis(250);
    const CHANGES: usize = 60;
    let home = Home::with(&["echo"]);
    let bytes = Guest::returning("1").build();
    // Compiled once in advance, so that the changes come in a burst.
    home.put_bytes(&bytes, "p");
    let mut client = Client::start_modern(&home);
    assert_eq!(client.tools().len(), 3);
    client.post("subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}));
    client.notification("notifications/subscriptions/acknowledged");
    let started = Instant::now();
    for number in 0..CHANGES {
        home.put_bytes(&bytes, &format!("p{number}"));
        // Each file causes one more scan of the folder.
        std::thread::sleep(Duration::from_millis(10));
    }
    let mut notified = 0;
    // The list is read only after a notification: without the last one this would never end.
    while client.tools().len() != 3 + CHANGES {
        client.notification("notifications/tools/list_changed");
        notified += 1;
    }
    let most = started.elapsed().as_millis() / PAUSE.as_millis() + 1;
    let rest = client.finish();
    notified += rest.iter().filter(|message| message["method"] == "notifications/tools/list_changed").count();
    assert!(notified as u128 <= most + 1, "{notified} notifications, of {most} at most");
}

#[test]
fn p15_incomplete_or_invalid_meta_is_refused() {
    let home = Home::with(&["echo"]);
    let mut process = Process::serve(&home);
    let version = "io.modelcontextprotocol/protocolVersion";
    let whole = json!({version: MODERN, "io.modelcontextprotocol/clientCapabilities": {}});
    let with = |key: &str, value: Value| {
        let mut meta = whole.clone();
        meta[key] = value;
        meta
    };
    for (meta, code) in [
        (json!({version: MODERN}), -32602),
        (json!({"io.modelcontextprotocol/clientCapabilities": {}}), -32602),
        (with(version, json!("2025-11-25")), -32022),
        (with(version, json!("")), -32022),
        (with(version, json!(20_260_728)), -32602),
        (with("io.modelcontextprotocol/clientCapabilities", json!([])), -32602),
        (with("io.modelcontextprotocol/logLevel", json!("loud")), -32602),
        (with("io.modelcontextprotocol/logLevel", json!(3)), -32602),
        (with("progressToken", json!({})), -32602),
    ] {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}});
        let answer = exchange(&mut process, &message.to_string());
        assert_eq!(answer["error"]["code"], code, "{answer} to {message}");
        let supported = &answer["error"]["data"]["supported"];
        assert!(code != -32022 || supported == &json!([MODERN]), "{answer}");
    }
}

/// Large requests of all connections share one budget; small ones never wait for it.
#[test]
fn p30_running_requests_share_one_budget() {
    const LARGE: usize = 1 << 20;
    let home = Home::with(&["echo", "everything"]);
    let settings = Settings { waiting_together: 3 * LARGE / 2, ..Settings::default() };
    let memory = Memory::serve_with(&home, settings);
    let beside = memory.second_connection();
    let mut one = Client::with_capabilities(memory, "2025-11-25", json!({"roots": {}}));
    let mut other = Client::with_capabilities(beside, "2025-11-25", json!({}));
    // The call runs until its question is answered.
    let held = one.post("tools/call", json!({"name": "everything_test_roots", "_meta": {"x": "x".repeat(LARGE)}}));
    let question = one.notification("roots/list");
    let large = json!({"name": "echo", "arguments": {"message": "x".repeat(LARGE)}});
    assert_eq!(other.error("tools/call", large.clone())["data"]["reason"], "too_many_requests");
    assert_eq!(other.text("echo", json!({"message": "x"})), "x");
    one.reply(&question, json!({"roots": []}));
    assert!(one.answer(held).get("result").is_some());
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let id = other.post("tools/call", large.clone());
        if other.answer(id).get("result").is_some() {
            break;
        }
        assert!(Instant::now() < deadline, "the budget is not released");
    }
}
