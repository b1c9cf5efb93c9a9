//! What other processes of the user do to the log while it is in use: hold its lock, write to it, open
//! its folder to others.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use rustix::fs::{FlockOperation, flock};

use super::*;

const REQUIRED: &str = "[audit]\nenabled = true\n[limits]\ntimeout = \"3s\"\n";

/// Holds the lock until it is dropped.
fn held_lock(home: &Home) -> File {
    let folder = home.path("state/wharf");
    fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join("audit.jsonl.lock");
    let lock = File::options().create(true).truncate(false).write(true).open(&path).expect("a file");
    fs::set_permissions(path, Permissions::from_mode(0o600)).expect("my file");
    flock(&lock, FlockOperation::LockExclusive).expect("a lock");
    lock
}

fn echo(client: &mut Client) -> Value {
    let id = client.post("tools/call", json!({"name": "echo", "arguments": {"message": "x"}}));
    client.answer(id)
}

/// Calls until one is recorded again.
fn until_recorded(client: &mut Client) {
    let deadline = Instant::now() + TIMEOUT;
    while echo(client).get("error").is_some() {
        assert!(Instant::now() < deadline, "still refused:\n{}", client.process().log());
    }
}

#[test]
fn a_lock_that_is_not_released_refuses_calls() {
    let home = Home::with(&["echo"]);
    home.configure(REQUIRED);
    let mut client = Client::start(&home);
    assert_eq!(client.text("echo", json!({"message": "x"})), "x");
    let lock = held_lock(&home);
    for _ in 0..3 {
        let answer = echo(&mut client);
        assert_eq!(answer["error"]["data"]["reason"], "not_recorded", "{answer}");
    }
    client.process().log_with("another process does not release the lock");
    drop(lock);
    until_recorded(&mut client);
    client.finish();
    let (holds, reported) = verify(&home);
    assert!(holds, "{reported}");
}

#[test]
fn a_lock_that_is_not_released_ends_a_start_and_an_approval() {
    let home = Home::with(&["echo"]);
    home.configure(REQUIRED);
    let _lock = held_lock(&home);
    let folder = home.plugins();
    let approve = ["approve".as_ref(), "--yes".as_ref(), "echo".as_ref(), folder.as_os_str()];
    for arguments in [&["serve".as_ref(), folder.as_os_str()][..], &approve] {
        let output = run(&home, arguments);
        let reported = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.code() == Some(1)
                && reported.contains("failed to lock the audit log: another process does not release the lock: /"),
            "{reported}"
        );
    }
}

#[test]
fn sigterm_ends_a_start_that_waits_for_the_lock() {
    let home = Home::with(&["echo"]);
    home.configure(REQUIRED);
    let _lock = held_lock(&home);
    let mut process = Process::serve(&home);
    let open = format!("/proc/{}/fd", process.id());
    let has_opened_lock = || {
        let files = fs::read_dir(&open).expect("a process").filter_map(|file| fs::read_link(file.ok()?.path()).ok());
        files.into_iter().any(|file| file.ends_with("audit.jsonl.lock"))
    };
    let deadline = Instant::now() + TIMEOUT;
    while !has_opened_lock() {
        assert!(Instant::now() < deadline && process.ended().is_none(), "{}", process.log());
    }
    process.signal(Signal::TERM);
    // Otherwise it ends with 1, once the lock's deadline is over.
    assert_eq!(process.wait().code(), Some(0), "{}", process.log());
}

/// A file that ends in 2 GiB without a line break is neither read nor changed.
#[test]
fn a_line_longer_than_any_record_is_reported() {
    const SIZE: u64 = 2 << 30;
    for required in ["", REQUIRED] {
        let home = Home::with(&["echo"]);
        home.configure(required);
        let mut client = Client::start(&home);
        client.text("echo", json!({"message": "x"}));
        client.finish();
        let before = records(&home).len();
        File::options().append(true).open(log(&home)).and_then(|file| file.set_len(SIZE)).expect("the log");
        let (holds, reported) = verify(&home);
        assert!(!holds && reported.contains("it is longer than any record"), "{reported}");

        let mut client = Client::start(&home);
        assert_eq!(client.text("echo", json!({"message": "x"})), "x");
        client.finish();
        let after = records(&home);
        assert_eq!(
            (&after[0]["event"], &after[0]["reason"]),
            (&json!("altered"), &json!("its last line is longer than any record")),
            "{after:?}"
        );
        assert_eq!(calls(&after).len(), 1);
        let aside = log(&home).with_extension("jsonl.1");
        assert_eq!(fs::metadata(aside).expect("the log, rotated").len(), SIZE);
        let (holds, reported) = verify(&home);
        assert!(!holds && reported.contains(&format!("broken at line {}: it is longer", before + 1)), "{reported}");
    }
}

#[test]
fn a_folder_that_is_opened_to_others_is_noticed() {
    let home = Home::with(&["echo"]);
    let set = |mode| fs::set_permissions(home.path("state/wharf"), Permissions::from_mode(mode)).expect("my folder");
    home.configure(REQUIRED);
    let mut client = Client::start(&home);
    client.text("echo", json!({"message": "x"}));
    set(0o777);
    client.process().log_with("other users can write to its folder");
    assert_eq!(echo(&mut client)["error"]["data"]["reason"], "not_recorded");
    set(0o700);
    until_recorded(&mut client);
    client.finish();

    home.configure("");
    let mut client = Client::start(&home);
    client.text("echo", json!({"message": "x"}));
    set(0o777);
    client.text("echo", json!({"message": "x"}));
    client
        .process()
        .log_with("calls continue without audit: failed to open the audit log: other users can write to its folder");
    set(0o700);
    client.finish();
}
