//! Lines on stdio: line endings, length and encoding.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::TIMEOUT;
use crate::support::client::Client;
use crate::support::home::Home;
use crate::support::process::Process;
use crate::support::wire::{Received, Wire};

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

fn answer(process: &mut Process) -> Value {
    match process.receive(TIMEOUT) {
        Received::Frame(frame) => serde_json::from_str(&frame).expect("JSON"),
        ended => panic!("{ended:?} instead of an answer; the log:\n{}", process.log()),
    }
}

/// Sends bytes and expects an error with that code, and an answer to a ping afterwards.
fn refused(process: &mut Process, bytes: &[u8], code: i64) {
    process.send_bytes(bytes);
    let error = answer(process);
    assert_eq!(error["error"]["code"], code, "{error} to {:?}", String::from_utf8_lossy(bytes));
    assert!(error.get("id").is_none_or(Value::is_null), "{error}");
    alive(process);
}

fn alive(process: &mut Process) {
    process.send(PING);
    assert_eq!(answer(process), json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
}

#[test]
fn p02_line_endings_and_blank_lines_do_not_matter() {
    let home = Home::new();
    let mut process = Process::serve(&home);
    process.send_bytes(b"\n\r\n   \t \n\n");
    process.send_bytes(format!("{PING}\r\n").as_bytes());
    assert_eq!(answer(&mut process)["id"], 1);
    process.send_bytes(format!("  {PING}\t\n").as_bytes());
    assert_eq!(answer(&mut process)["id"], 1);
    process.send_bytes(format!("\u{feff}{PING}\n").as_bytes());
    assert_eq!(answer(&mut process)["id"], 1);
    alive(&mut process);
}

#[test]
fn p02_invalid_utf8_is_refused_and_not_repaired() {
    let home = Home::with(&["echo"]);
    let mut process = Process::serve(&home);
    let call = |bytes: &[u8]| {
        let head = br#"{"jsonrpc":"2.0","id":5,"method":"ping","params":{"x":""#;
        [head.as_slice(), bytes, b"\"}}\n"].concat()
    };
    for bytes in [b"\xff".as_slice(), b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\xaf"] {
        refused(&mut process, &call(bytes), -32700);
    }
    let utf16: Vec<u8> = PING.encode_utf16().flat_map(u16::to_le_bytes).chain(*b"\n").collect();
    refused(&mut process, &utf16, -32700);
    refused(&mut process, b"{\"jsonrpc\":\"2.0\",\0\"id\":5,\"method\":\"ping\"}\n", -32700);
}

#[test]
fn two_messages_on_a_line_are_refused() {
    let home = Home::new();
    let mut process = Process::serve(&home);
    refused(&mut process, format!("{PING}{PING}\n").as_bytes(), -32700);
    refused(&mut process, format!("{PING} {PING}\n").as_bytes(), -32700);
}

#[test]
fn a_message_in_many_writes_is_one_message() {
    let home = Home::new();
    let mut process = Process::serve(&home);
    for byte in format!("{PING}\n").bytes() {
        process.send_bytes(&[byte]);
    }
    assert_eq!(answer(&mut process)["id"], 1);
    process.send_bytes(format!("{PING}\n").repeat(500).as_bytes());
    (0..500).for_each(|_| assert_eq!(answer(&mut process)["id"], 1));
}

#[test]
fn a_last_line_without_a_newline_is_answered() {
    let home = Home::new();
    let mut process = Process::serve(&home);
    process.send_bytes(PING.as_bytes());
    process.close();
    assert_eq!(answer(&mut process)["id"], 1);
    assert!(process.wait().success());
}

#[test]
fn p03_deep_nesting_is_refused_before_it_is_parsed() {
    let home = Home::new();
    let mut process = Process::serve(&home);
    for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
        for depth in [200, 1_000_000] {
            let deep = format!("{}1{}", open.repeat(depth), close.repeat(depth));
            let line = format!(r#"{{"jsonrpc":"2.0","id":5,"method":"ping","params":{{"x":{deep}}}}}"#);
            process.send(&line);
            let error = answer(&mut process);
            // Refused as too long or as too deep.
            assert!([-32700, -32600].map(Value::from).contains(&error["error"]["code"]), "{error}");
            alive(&mut process);
        }
    }
    // Brackets in a string do not nest.
    let line = format!(r#"{{"jsonrpc":"2.0","id":5,"method":"ping","params":{{"x":"{}"}}}}"#, "[".repeat(10_000));
    process.send(&line);
    assert_eq!(answer(&mut process)["id"], 5);
}

/// A gigabyte without a newline is discarded as it arrives and refused once it ends.
#[test]
fn p01_an_endless_line_takes_no_memory() {
    const CHUNKS: usize = 1024;
    let home = Home::new();
    let mut process = Process::serve(&home);
    alive(&mut process);
    let before = process.resident();
    let chunk = vec![b'x'; 1 << 20];
    let mut most = 0;
    for _ in 0..CHUNKS {
        assert!(process.send_bytes(&chunk), "the host has gone away; the log:\n{}", process.log());
        most = most.max(process.resident());
    }
    process.send_bytes(b"\n");
    let error = answer(&mut process);
    assert_eq!(error["error"]["code"], -32600, "{error}");
    alive(&mut process);
    let growth = most.saturating_sub(before) >> 20;
    assert!(growth < 16, "{growth} MiB for a discarded line");
}

/// Requests whose answers are read late must neither grow memory without bound nor fail.
#[test]
fn p06_answers_that_are_read_late_are_not_lost() {
    let home = Home::with(&["echo"]);
    let mut client = Client::start(&home);
    let message = "x".repeat(10_000);
    let ids: Vec<u64> = (0..300)
        .map(|_| client.post("tools/call", json!({"name": "echo", "arguments": {"message": message}})))
        .collect();
    for id in ids {
        assert!(client.answer(id).get("result").is_some());
    }
}

#[test]
fn answers_are_one_line_whatever_their_content() {
    let home = Home::with(&["echo"]);
    let mut client = Client::start(&home);
    let message = "a\nb\r\nc\u{2028}d\u{85}e\u{0}f\"\\{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{}}\n";
    // Control characters other than line breaks and tabs are removed, and line breaks normalised.
    let shown = message.replace(['\u{85}', '\u{0}'], "").replace('\u{2028}', "\n");
    assert_eq!(client.text("echo", json!({"message": message})), shown);
    let deadline = Instant::now() + Duration::from_millis(1);
    assert_eq!(client.next_before(deadline), None);
}
