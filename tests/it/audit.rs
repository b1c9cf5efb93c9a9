//! The audit log of the real binary: one record per call, and its state after a kill, a full
//! disk or manual edits.

mod access;
mod interference;
mod show;
mod trace;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::Instant;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::TIMEOUT;
use crate::support::client::Client;
use crate::support::guest::{Guest, bodies};
use crate::support::home::Home;
use crate::support::http::{HttpConnection, listening_address};
use crate::support::process::{Process, command, run};
use crate::support::streamable::{Endpoint, stateless};

fn log(home: &Home) -> PathBuf {
    home.path("state/wharf/audit.jsonl")
}

/// All complete records so far.
fn records(home: &Home) -> Vec<Value> {
    let text = fs::read_to_string(log(home)).unwrap_or_default();
    text.split_inclusive('\n')
        .filter(|line| line.ends_with('\n'))
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

/// Waits until the predicate accepts the records.
fn records_until(home: &Home, wanted: impl Fn(&[Value]) -> bool) -> Vec<Value> {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let records = records(home);
        if wanted(&records) {
            return records;
        }
        assert!(Instant::now() < deadline, "{records:?}");
        std::thread::yield_now();
    }
}

fn calls(records: &[Value]) -> Vec<&Value> {
    records.iter().filter(|record| record.get("method").is_some()).collect()
}

/// Whether `wharf audit verify` succeeds, and its output.
fn verify(home: &Home) -> (bool, String) {
    let output = run(home, ["audit", "verify"]);
    let reported = String::from_utf8(output.stdout).expect("UTF-8") + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code().is_some_and(|code| code < 2), "{reported}");
    (output.status.success(), reported)
}

/// `echo`, a plugin that crashes and spins, and one without grants.
fn home() -> Home {
    let home = Home::with(&["echo"]);
    let guest = Guest::returning("1").does("crash", bodies::TRAP).does("spin", bodies::SPIN);
    home.put_bytes(&guest.build(), "hostile");
    home.put("everything", "stranger");
    home.configure("[limits]\ncpu = \"300ms\"\n");
    home
}

#[test]
fn each_call_leaves_one_record_with_its_code() {
    let home = home();
    let mut client = Client::start_modern(&home);
    client.tools();
    let called = [
        ("echo", json!({"message": "x"}), "call", "ok"),
        ("echo_add", json!({"a": "no number"}), "call", "bad-input"),
        ("nothing", json!({}), "call", "not-found"),
        ("hostile_crash", json!({}), "fault", "trap"),
        ("hostile_spin", json!({}), "fault", "cpu"),
        ("stranger_test_error_handling", json!({}), "call", "error"),
        ("stranger_test_error_result", json!({}), "call", "error"),
        ("stranger_test_roots", json!({}), "deny", "denied"),
    ];
    for (tool, arguments, ..) in &called {
        let id = client.post("tools/call", json!({"name": tool, "arguments": arguments}));
        client.answer(id);
    }
    client.error("resources/read", json!({"uri": "no:such"}));
    client.error("prompts/get", json!({"name": "none"}));
    client.finish();

    let records = records(&home);
    let loaded: Vec<&str> = records
        .iter()
        .filter(|record| record["event"] == "load")
        .map(|record| record["plugin"].as_str().unwrap())
        .collect();
    assert_eq!(loaded.len(), 3, "{loaded:?}");
    let calls = calls(&records);
    assert_eq!(calls.len(), called.len() + 2, "{calls:?}");
    for (record, (tool, arguments, event, code)) in calls.iter().zip(&called) {
        assert_eq!((&record["tool"], &record["event"], &record["code"]), (&json!(tool), &json!(event), &json!(code)));
        assert_eq!(record["principal"], "local", "{record}");
        assert_eq!(record["in_bytes"], arguments.to_string().len(), "{record}");
        assert_eq!(record["in_hash"], blake3::hash(arguments.to_string().as_bytes()).to_hex()[..32], "{record}");
        assert!(record.get("in").is_none() && record["dur_us"].is_u64(), "{record}");
        assert_eq!(record.get("out_hash").is_some(), *code != "not-found", "{record}");
    }
    assert_eq!(calls[0]["plugin"], "echo");
    let loaded_echo = records.iter().find(|record| record["event"] == "load" && record["plugin"] == "echo");
    assert_eq!(loaded_echo.expect("it was loaded")["content"], calls[0]["content"]);
    assert_eq!(calls[7]["access"], "roots");
    assert_eq!((&calls[8]["method"], &calls[8]["code"]), (&json!("resources/read"), &json!("not-found")));
    let (holds, reported) = verify(&home);
    assert!(holds && reported.contains(&format!("{} records", records.len())), "{reported}");
}

#[test]
fn events_of_the_plugin_folder_are_recorded() {
    let home = Home::with(&["echo"]);
    let mut client = Client::start(&home);
    client.tools();
    home.put_bytes(&Guest::returning("1").does("crash", bodies::TRAP).build(), "hostile");
    client.tools_until(|tools| tools.contains(&"hostile_crash".to_owned()));
    for _ in 0..5 {
        client.call("hostile_crash", json!({}));
    }
    home.put_bytes(&Guest::returning("2").build(), "hostile");
    client.tools_until(|tools| !tools.contains(&"hostile_crash".to_owned()));
    home.configure("[plugins.hostile.limits]\ncpu = \"1s\"\n");
    records_until(&home, |records| records.iter().any(|record| record["event"] == "reconfigure"));
    home.put_bytes(b"no component", "hostile");
    client.process().log_with("refused");
    home.remove("hostile");
    client.tools_until(|tools| tools.len() == 2);
    client.finish();
    let records = records(&home);
    let of_hostile = records.iter().filter(|record| record["plugin"] == "hostile");
    let events: Vec<&str> = of_hostile.map(|record| record["event"].as_str().unwrap()).collect();
    assert_eq!(
        events,
        ["load", "fault", "fault", "fault", "fault", "quarantine", "fault", "swap", "reconfigure", "reject", "remove"]
    );
    let rejected = records.iter().find(|record| record["event"] == "reject").expect("just seen");
    assert!(rejected["reason"].as_str().is_some_and(|why| why.contains("text file")), "{rejected}");
}

#[test]
fn the_principal_is_recorded_over_http() {
    let home = Home::with(&["echo"]);
    let secrets = ["0123456789abcdef", "fedcba9876543210"];
    home.configure(
        "[server.http]\ntokens = [{ name = 'ci', env = 'WHARF_TEST_CI' }, { name = 'me', env = 'WHARF_TEST_ME' }]\n",
    );
    let mut command = command(&home, ["serve".as_ref(), home.plugins().as_os_str()]);
    command.args(["--http", "127.0.0.1:0"]).envs(["WHARF_TEST_CI", "WHARF_TEST_ME"].into_iter().zip(secrets));
    let mut process = Process::start(command);
    let endpoint = Endpoint::new(listening_address(&process));
    // Alternating on one connection, since the server caches state per connection.
    let mut connection = HttpConnection::connect(endpoint.address);
    for (id, secret) in (1..).zip(secrets.into_iter().cycle().take(40)) {
        let message = stateless(id, "tools/call", json!({"name": "echo", "arguments": {"message": "x"}}));
        let request = endpoint.post(&message).with("Authorization", &format!("Bearer {secret}"));
        let response = connection.exchange(&request);
        assert_eq!(response.status, 200, "{response:?}");
    }
    process.signal(Signal::TERM);
    assert!(process.wait().success());
    let records = records(&home);
    let principals: Vec<&Value> = calls(&records).into_iter().map(|record| &record["principal"]).collect();
    assert_eq!(principals, ["ci", "me"].repeat(20));
    let text = fs::read_to_string(log(&home)).expect("the log");
    assert!(secrets.iter().all(|secret| !text.contains(secret)));
}

#[test]
fn a_changed_removed_or_moved_record_is_found() {
    let home = Home::with(&["echo"]);
    let mut client = Client::start(&home);
    for message in ["one", "two", "three", "four"] {
        client.text("echo", json!({"message": message}));
    }
    client.finish();
    assert!(verify(&home).0);
    let text = fs::read_to_string(log(&home)).expect("the log");
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let whole = [0, 1, 2, 3, 4].map(|n| lines[n].to_owned());
    assert_eq!(lines.len(), whole.len());
    // The first call may end before the load of its plugin is recorded.
    let call = lines.iter().position(|line| line.contains("\"code\":\"ok\"")).expect("a call");
    let mut changed = whole.clone();
    changed[call] = changed[call].replace("\"code\":\"ok\"", "\"code\":\"no\"");
    let mut removed = whole.to_vec();
    removed.remove(2);
    let mut moved = whole.clone();
    moved.swap(1, 2);
    let cases = [("changed", changed.to_vec(), call + 2), ("removed", removed, 3), ("moved", moved.to_vec(), 2)];
    for (what, lines, line) in cases {
        fs::write(log(&home), lines.concat()).expect("the log");
        let (holds, reported) = verify(&home);
        assert!(!holds && reported.contains(&format!("broken at line {line}:")), "{what}: {reported}");
    }
}

#[test]
fn a_kill_under_load_leaves_a_valid_chain() {
    let home = Home::with(&["echo"]);
    for _ in 0..3 {
        let mut client = Client::start(&home);
        client.tools();
        let before = records(&home).len();
        for n in 0..400 {
            client.post("tools/call", json!({"name": "echo", "arguments": {"message": n.to_string()}}));
        }
        records_until(&home, |records| records.len() > before + 20);
        client.process().signal(Signal::KILL);
        client.process().wait();
        let (holds, reported) = verify(&home);
        assert!(holds, "{reported}");
    }
}

/// A file size limit simulates a full disk: writes fail in the same way.
#[test]
fn a_full_disk_costs_records_and_no_call() {
    let home = Home::with(&["echo"]);
    // Warms the caches, so that only the log is written from here on.
    Client::start(&home).tools();
    let mut client = Client::initialized(Process::serve_after(&home, "trap '' XFSZ; ulimit -f 64"), "2025-11-25");
    let mut sent = 0;
    while !client.process().log().contains("calls continue without audit") {
        assert_eq!(client.text("echo", json!({"message": "x"})), "x");
        sent += 1;
        assert!(sent < 10_000, "64 KiB are full after fewer calls");
    }
    let (holds, reported) = verify(&home);
    assert!(holds, "{reported}");
    // Moving the file away makes room.
    let aside = home.path("aside.jsonl");
    fs::rename(log(&home), &aside).expect("the log");
    assert_eq!(client.text("echo", json!({"message": "x"})), "x");
    sent += 1;
    client.finish();
    // The `lost` record is shorter than the records that did not fit, so it may have been written
    // before the file was moved.
    let before = fs::read_to_string(aside).expect("the moved log");
    let mut all: Vec<Value> = before.lines().map(|line| serde_json::from_str(line).expect("a record")).collect();
    all.extend(records(&home));
    let lost: u64 =
        all.iter().filter(|record| record["event"] == "lost").filter_map(|record| record["count"].as_u64()).sum();
    assert!(lost > 0, "{all:?}");
    assert_eq!(calls(&all).len() as u64 + lost, sent);
}

/// With mandatory auditing, the record is in the file before the answer is sent; a call that
/// cannot be recorded is refused, and calls resume when there is room.
#[test]
fn a_grant_to_a_revoked_version_is_no_approval() {
    let home = Home::with(&["echo"]);
    let folder = home.plugins();
    home.configure("[audit]\nenabled = true\n");
    let approve = ["approve".as_ref(), "--yes".as_ref(), "echo".as_ref(), folder.as_os_str()];
    assert!(run(&home, approve).status.success());
    assert!(run(&home, ["revoke", "echo"]).status.success());
    assert!(run(&home, ["grant", "echo", "elicit", "--yes"]).status.success());
    assert!(run(&home, approve).status.success());
    let events: Vec<Value> = records(&home).iter().map(|record| record["event"].clone()).collect();
    assert_eq!(events, ["approve", "revoke", "approve"]);
}

#[test]
fn mandatory_auditing_refuses_calls_that_cannot_be_recorded() {
    let home = Home::with(&["echo"]);
    home.configure("[audit]\nenabled = true\n");
    // Warms the caches, so that only the log is written from here on.
    Client::start(&home).tools();
    // 512 KiB or 1 MiB, depending on the shell's unit; 256 KiB are reserved for running calls.
    let mut client = Client::initialized(Process::serve_after(&home, "ulimit -f 1024"), "2025-11-25");
    let mut answered = calls(&records(&home)).len();
    let message = "x".repeat(200);
    let refused = loop {
        let id = client.post("tools/call", json!({"name": "echo", "arguments": {"message": message}}));
        let answer = client.answer(id);
        if let Some(error) = answer.get("error") {
            break error.clone();
        }
        answered += 1;
        assert_eq!(calls(&records(&home)).len(), answered, "an answer without its record");
        assert!(answered < 5000, "1 MiB is full after fewer calls");
    };
    assert_eq!((&refused["data"]["reason"], &refused["data"]["done"]), (&json!("not_recorded"), &json!(false)));
    client.process().log_with("calls are refused until they can be audited");
    // No plugin is put into service meanwhile either.
    home.put("everything", "another");
    for _ in 0..20 {
        assert!(client.tools().iter().all(|tool| !tool.starts_with("another")));
    }
    assert_eq!(run(&home, ["audit", "verify"]).status.code(), Some(0));
    fs::rename(log(&home), home.path("aside.jsonl")).expect("the log");
    client.tools_until(|tools| tools.iter().any(|tool| tool.starts_with("another")));
    assert_eq!(client.text("echo", json!({"message": "x"})), "x");
    client.finish();
    let after = records(&home);
    let of = |event: &str| after.iter().find(|record| record["event"] == event).unwrap_or_else(|| panic!("{after:?}"));
    assert_eq!(of("altered")["reason"], "it was removed, moved or replaced");
    assert_eq!((&of("lost")["count"], &of("lost")["refused"]), (&json!(0), &json!(1)));
    assert_eq!(of("load")["plugin"], "another");
    let (holds, reported) = verify(&home);
    assert!(
        !holds && reported.contains("altered before line 1, as a server recorded: it was removed, moved or replaced"),
        "{reported}"
    );
}

#[test]
fn several_processes_write_one_chain() {
    let home = Home::with(&["echo"]);
    let mut clients = [Client::start(&home), Client::start(&home)];
    for _ in 0..20 {
        for client in &mut clients {
            client.text("echo", json!({"message": "x"}));
        }
    }
    for client in clients {
        client.finish();
    }
    assert_eq!(calls(&records(&home)).len(), 40);
    assert!(verify(&home).0);
}

#[test]
fn the_audit_log_follows_the_configuration() {
    let home = Home::with(&["echo"]);
    home.configure("[audit]\nenabled = false\n");
    Client::start(&home).text("echo", json!({"message": "x"}));
    assert!(!log(&home).exists());

    home.configure("[audit]\npath = \"here.jsonl\"\nbodies = true\n");
    let mut client = Client::start(&home);
    client.text("echo", json!({"message": "seen"}));
    client.finish();
    let text = fs::read_to_string(home.path("config/wharf/here.jsonl")).expect("a log beside the configuration");
    assert!(text.contains(r#""in":"{\"message\":\"seen\"}""#), "{text}");

    // A log that other users can write is not trusted.
    fs::create_dir_all(home.path("state/wharf")).expect("a folder");
    fs::write(log(&home), "").expect("a file");
    fs::set_permissions(log(&home), fs::Permissions::from_mode(0o666)).expect("my file");
    home.configure("");
    let mut client = Client::start(&home);
    assert_eq!(client.text("echo", json!({"message": "x"})), "x");
    client.process().log_with("calls are not audited: failed to open the audit log: other users can write it");
    home.configure("[audit]\nenabled = true\n");
    let output = run(&home, ["serve".as_ref(), home.plugins().as_os_str()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("other users can write it"));
}

#[test]
fn mandatory_auditing_refuses_approvals_that_cannot_be_recorded() {
    let home = Home::with(&["echo"]);
    let folder = home.plugins();
    home.configure("[audit]\nenabled = true\n");
    let approve = || run(&home, ["approve".as_ref(), "--yes".as_ref(), "echo".as_ref(), folder.as_os_str()]);
    let revoke = || run(&home, ["revoke", "echo"]);
    fs::create_dir_all(home.path("state/wharf")).expect("a folder");
    fs::write(log(&home), "").expect("a file");
    let set = |mode| fs::set_permissions(log(&home), fs::Permissions::from_mode(mode)).expect("my file");
    let pins = || fs::read_to_string(home.path("state/wharf/lock.toml")).ok();
    set(0o666);
    let output = approve();
    let reported = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && reported.contains("other users can write it"), "{reported}");
    assert_eq!(pins(), None);
    set(0o600);
    assert!(approve().status.success());
    let approved = pins();
    set(0o666);
    assert_eq!(revoke().status.code(), Some(1));
    assert_eq!(pins(), approved);
    set(0o600);
    assert!(revoke().status.success());
    let events: Vec<Value> = records(&home).iter().map(|record| record["event"].clone()).collect();
    assert_eq!(events, ["approve", "revoke"]);
}
