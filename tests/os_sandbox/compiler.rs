//! The OS sandbox of the compiler process.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::{Test, attempt, attempts, is_enforced, say};

pub(super) const TESTS: &[Test] = &[
    ("compiler::opens_no_file", opens_no_file),
    ("compiler::is_killed_by_a_socket_a_program_or_a_thread", is_killed_by_a_socket_a_program_or_a_thread),
    ("compiler::cannot_run_generated_code", cannot_run_generated_code),
    ("compiler::has_two_gigabytes", has_two_gigabytes),
    ("compiler::landlock_holds_without_the_filter", landlock_holds_without_the_filter),
    ("compiler::dies_with_its_parent", dies_with_its_parent),
];

fn opens_no_file() {
    for (what, path) in
        [("read", "/etc/passwd"), ("list", "/"), ("write", "/tmp/wharf-os-sandbox"), ("remove", "/tmp/x")]
    {
        let ended = attempt(&["compiler", what, path]);
        if is_enforced(&ended, "calls") {
            assert!(ended.result.contains("(os error 1)"), "{what} {path}: {}", ended.result);
        }
    }
}

fn is_killed_by_a_socket_a_program_or_a_thread() {
    for (what, path) in [
        ("connect", ""),
        ("listen", ""),
        ("socket", "/tmp/wharf-os-sandbox-socket"),
        ("execute", "/bin/true"),
        ("thread", ""),
    ] {
        let ended = attempt(&["compiler", what, path]);
        if is_enforced(&ended, "calls") {
            assert!(ended.was_killed() && ended.result.is_empty(), "{what}: {} {}", ended.status, ended.result);
        }
    }
}

fn cannot_run_generated_code() {
    let ended = attempt(&["compiler", "code"]);
    if is_enforced(&ended, "calls") {
        assert!(ended.was_killed() || ended.result.starts_with("refused"), "{} {}", ended.status, ended.result);
    }
    let ended = attempt(&["none", "code"]);
    assert_eq!(ended.result, "done", "it runs without the OS sandbox");
}

fn has_two_gigabytes() {
    let ended = attempt(&["compiler", "memory"]);
    assert!(ended.result.starts_with("refused"), "{} {}", ended.status, ended.result);
}

fn landlock_holds_without_the_filter() {
    for (what, path) in [("read", "/etc/passwd"), ("list", "/"), ("write", "/tmp/wharf-os-sandbox"), ("connect", "")] {
        let ended = attempt(&["files", what, path]);
        if is_enforced(&ended, "files") {
            assert!(ended.result.contains("(os error 13)"), "{what} {path}: {}", ended.result);
        }
    }
}

/// Its stdin stays open, so only the end of its parent can end it.
fn dies_with_its_parent() {
    if attempt(&["compiler", "memory"]).enforcement.contains("calls: None") {
        return say("  skipped: without a filter it cannot be seen whether it is ready");
    }
    let mut parent = Command::new(std::env::current_exe().expect("this program"))
        .args([attempts::ATTEMPT, "none", "orphan", env!("CARGO_BIN_EXE_wharf")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let input = parent.stdin.take();
    let output = parent.wait_with_output().expect("it ends");
    let text = String::from_utf8(output.stdout).expect("text");
    let orphan = text.lines().nth(1).and_then(|line| line.parse().ok()).expect("the id of its child");
    let started = Instant::now();
    // It stays a zombie where no process reaps it.
    while status(orphan, "State").is_some_and(|state| !state.starts_with('Z')) {
        assert!(started.elapsed() < Duration::from_secs(10), "{orphan} still runs");
        std::thread::sleep(Duration::from_millis(5));
    }
    drop(input);
}

/// A line of `/proc/PID/status`; `None` when there is no such process.
pub(super) fn status(process: u32, key: &str) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    status.lines().find_map(|line| Some(line.strip_prefix(key)?.strip_prefix(':')?.trim().to_owned()))
}
