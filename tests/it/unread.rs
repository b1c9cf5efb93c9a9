//! Clients that do not read their answers, and queued requests: how much is buffered, which errors
//! they get, and that other clients are not delayed.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use wharf::server::Settings;

use crate::support::TIMEOUT;
use crate::support::client::Client;
use crate::support::guest::Guest;
use crate::support::home::Home;
use crate::support::memory::Memory;
use crate::support::process::{command, resident};
use crate::support::streamable::{initialize, request};
use crate::support::wire::Wire as _;

const LARGE: usize = 1 << 20;
/// How long the servers of these tests wait for a client to read, or for a slot.
const SOON: Duration = Duration::from_millis(200);

/// A home with `echo`, and `large`, whose answers have 1 MiB.
fn home() -> Home {
    let home = Home::with(&["echo", "everything"]);
    home.put_bytes(&Guest::returning(&"x".repeat(LARGE)).build(), "large");
    home
}

/// The outcome of a request: `ok`, or the code of its fault or error.
fn outcome(answer: &Value) -> String {
    let failed = answer["result"]["_meta"]["wharf/fault"]["code"].as_str();
    failed.or(answer["error"]["data"]["reason"].as_str()).unwrap_or("ok").to_owned()
}

fn count<'a>(answers: impl IntoIterator<Item = &'a Value>) -> HashMap<String, usize> {
    let mut count = HashMap::new();
    for answer in answers {
        *count.entry(outcome(answer)).or_default() += 1;
    }
    count
}

/// A client that sends all requests, and reads only after the server has stopped waiting for it.
fn late(client: &mut Client<Memory>, requests: usize, tool: &str, arguments: &Value) -> Vec<Value> {
    let call = json!({"name": tool, "arguments": arguments});
    let ids: Vec<u64> = (0..requests).map(|_| client.post("tools/call", call.clone())).collect();
    std::thread::sleep(5 * SOON);
    ids.into_iter().map(|id| client.answer(id)).collect()
}

#[test]
fn answers_for_a_client_that_does_not_read_are_bounded() {
    let settings = Settings { unread: 7 * LARGE, patience: SOON, ..Settings::default() };
    let mut client = Client::initialized(Memory::serve_with(&home(), settings), "2025-11-25");
    let answers = late(&mut client, 64, "large_version", &json!({}));
    let count = count(&answers);
    let ok = count.get("ok").copied().unwrap_or_default();
    assert!((4..7).contains(&ok), "{count:?}");
    assert!(count.keys().all(|outcome| ["ok", "busy", "answer_not_kept"].contains(&outcome.as_str())), "{count:?}");
    // Reading releases the buffer.
    assert_eq!(client.text("large_version", json!({})).len(), LARGE);
    // While a full buffer blocks, new requests of the client are refused.
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let ids: Vec<u64> = (0..4).map(|_| client.post("tools/call", json!({"name": "large_version"}))).collect();
        // The answers are made meanwhile; if that takes longer, the next iteration finds them.
        std::thread::sleep(SOON);
        let small = late(&mut client, 8, "echo", &json!({"message": "x"}));
        ids.into_iter().for_each(|id| drop(client.answer(id)));
        let is_busy = |answer: &Value| (&answer["error"]["code"], outcome(answer).as_str()) == (&json!(-32603), "busy");
        if small.iter().any(is_busy) {
            break;
        }
        assert!(Instant::now() < deadline, "never refused: {small:?}");
    }
}

#[test]
fn unread_answers_of_one_connection_block_only_large_ones_of_others() {
    let settings = Settings { unread_of_caller: 4 * LARGE, patience: SOON, ..Settings::default() };
    let memory = Memory::serve_with(&home(), settings);
    let mut beside = Client::initialized(memory.second_connection(), "2025-11-25");
    let mut client = Client::initialized(memory, "2025-11-25");
    let large = json!({"name": "large_version"});
    let ids: Vec<u64> = (0..16).map(|_| client.post("tools/call", large.clone())).collect();
    let deadline = Instant::now() + TIMEOUT;
    // Until the shared buffer is full.
    loop {
        let id = beside.post("tools/call", large.clone());
        if outcome(&beside.answer(id)) == "answer_not_kept" {
            break;
        }
        assert!(Instant::now() < deadline, "the buffer never fills");
    }
    assert_eq!(beside.text("echo", json!({"message": "x"})), "x");
    assert!(beside.tools().len() > 3);
    let count = count(&ids.into_iter().map(|id| client.answer(id)).collect::<Vec<_>>());
    assert!(count["ok"] >= 3 && count.len() <= 2, "{count:?}");
    assert_eq!(beside.text("large_version", json!({})).len(), LARGE, "the buffer is released");
}

#[test]
fn requests_queued_for_one_plugin_do_not_delay_others() {
    let settings = Settings { in_flight: 2, patience: SOON, ..Settings::default() };
    let mut client = Client::initialized(Memory::serve_with(&home(), settings), "2025-03-26");
    let slow = json!({"name": "everything_slow_compute", "arguments": {"seconds": 2}});
    let began = Instant::now();
    let ids: Vec<u64> = (0..20).map(|_| client.post("tools/call", slow.clone())).collect();
    // Also in a batch.
    let batch: Vec<Value> = (0..20)
        .map(|id| json!({"jsonrpc": "2.0", "id": format!("b{id}"), "method": "tools/call", "params": slow}))
        .collect();
    client.wire().send(&Value::Array(batch).to_string());
    assert_eq!(client.text("echo", json!({"message": "x"})), "x");
    assert!(began.elapsed() < Duration::from_secs(2), "it was delayed by the others: {:?}", began.elapsed());
    let answers: Vec<Value> = ids.into_iter().map(|id| client.answer(id)).collect();
    let batch = client.answers_to_batch();
    assert_eq!(batch.len(), 20);
    let all = count(answers.iter().chain(&batch));
    assert_eq!((all["ok"], all["busy"]), (2, 38), "each takes its own slot: {all:?}");
}

/// A request with the id of a running one is refused, in a batch as outside one.
#[test]
fn an_id_that_is_in_flight_is_refused_in_a_batch_too() {
    let mut client = Client::initialized(Memory::serve(&home()), "2025-03-26");
    let id = client.post("tools/call", json!({"name": "everything_slow_compute", "arguments": {"seconds": 1}}));
    let batch = json!([
        {"jsonrpc": "2.0", "id": id, "method": "tools/list"},
        {"jsonrpc": "2.0", "id": id, "method": "ping"},
        {"jsonrpc": "2.0", "id": "other", "method": "ping"},
    ]);
    client.wire().send(&batch.to_string());
    let answers = client.answers_to_batch();
    let count = count(&answers);
    assert_eq!((count["id_in_use"], count["ok"]), (2, 1), "{answers:?}");
    assert_eq!(answers.iter().filter(|answer| answer["id"] == id).count(), 1, "{answers:?}");
    assert!(client.answer(id).get("result").is_some());
}

/// Log messages for a client that does not read are buffered up to the limit; the call still ends.
#[test]
fn a_plugin_is_not_blocked_by_a_client_that_does_not_read() {
    let home = Home::with(&[]);
    home.put_bytes(&Guest::returning("1").logs("flood", &"x".repeat(2000), 90, "").build(), "hostile");
    let settings = Settings { unread: 64 << 10, patience: SOON, ..Settings::default() };
    let mut client = Client::initialized(Memory::serve_with(&home, settings), "2025-11-25");
    let answer = &late(&mut client, 1, "hostile_flood", &json!({}))[0];
    assert_eq!(outcome(answer), "ok", "{answer}");
    let mut sizes = Vec::new();
    while let Some(message) = client.next_before(Instant::now()) {
        sizes.push(message["params"]["data"].as_str().unwrap_or_default().len());
    }
    assert!((10..40).contains(&sizes.len()), "{} of 90 messages", sizes.len());
}

/// A host on pipes that are read only on demand, and which logs its refusals.
struct Pipes {
    child: Child,
    stdin: ChildStdin,
    stdout: Lines<BufReader<ChildStdout>>,
}

impl Pipes {
    fn serve(home: &Home) -> Self {
        let mut command = command(home, ["serve".as_ref(), home.plugins().as_os_str()]);
        command.arg("--log").arg("debug");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary starts");
        let stdin = child.stdin.take().expect("a pipe");
        let stdout = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let mut pipes = Self { child, stdin, stdout };
        pipes.send(&initialize("2025-11-25"));
        pipes.next();
        pipes
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.stdin, "{message}").expect("the host reads");
    }

    fn call(&mut self, id: usize) {
        self.send(&request(id as u64, "tools/call", json!({"name": "large_version", "arguments": {}})));
    }

    fn next(&mut self) -> Value {
        let line = self.stdout.next().expect("an answer").expect("text");
        serde_json::from_str(&line).expect("JSON")
    }
}

/// 64 answers of 1 MiB in flight, and a client that reads slowly.
#[test]
fn a_slow_reader_gets_all_answers() {
    let home = Home::new();
    home.put_bytes(&Guest::returning(&"x".repeat(LARGE)).build(), "large");
    let mut pipes = Pipes::serve(&home);
    (0..64).for_each(|id| pipes.call(id));
    for _ in 0..64 {
        std::thread::sleep(Duration::from_millis(10));
        let answer = pipes.next();
        assert_eq!(outcome(&answer), "ok", "{answer:.300}");
    }
    drop(pipes.stdin);
    assert!(pipes.child.wait().expect("its end").success());
}

/// Memory of the process when a client leaves many megabytes unread.
#[test]
fn memory_for_a_client_that_does_not_read_is_bounded() {
    const CALLS: usize = 400;
    let home = Home::new();
    home.put_bytes(&Guest::returning(&"x".repeat(LARGE)).build(), "large");
    let mut pipes = Pipes::serve(&home);
    pipes.call(CALLS);
    assert_eq!(outcome(&pipes.next()), "ok");
    let before = resident(pipes.child.id());
    (0..CALLS).for_each(|id| pipes.call(id));
    // Once the first call is refused, all have arrived, and none begins any more.
    let mut log = BufReader::new(pipes.child.stderr.take().expect("a pipe")).lines();
    assert!(log.any(|line| line.is_ok_and(|line| line.contains("the client does not read"))));
    std::thread::spawn(move || log.for_each(drop));
    let growth = resident(pipes.child.id()).saturating_sub(before) >> 20;
    assert!(growth < 192, "{growth} MiB for a client that does not read");
    let answers: Vec<Value> = (0..CALLS).map(|_| pipes.next()).collect();
    let count = count(&answers);
    assert!(count["ok"] >= 32 && count["busy"] > 0, "{count:?}");
    pipes.call(CALLS);
    assert_eq!(outcome(&pipes.next()), "ok", "reading releases the buffer");
    drop(pipes.stdin);
    assert!(pipes.child.wait().expect("its end").success());
}
