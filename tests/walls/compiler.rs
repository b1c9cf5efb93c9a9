//! The wall around the process that compiles.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::{Test, attempt, attempts, say, stands};

pub(super) const TESTS: &[Test] = &[
    ("compiler::opens_no_file", opens_no_file),
    ("compiler::a_socket_a_program_or_a_thread_ends_it", a_socket_a_program_or_a_thread_ends_it),
    ("compiler::runs_no_code_that_it_makes", runs_no_code_that_it_makes),
    ("compiler::has_two_gigabytes", has_two_gigabytes),
    ("compiler::landlock_holds_without_the_filter", landlock_holds_without_the_filter),
    ("compiler::dies_with_its_parent", dies_with_its_parent),
];

fn opens_no_file() {
    for (what, path) in [("read", "/etc/passwd"), ("list", "/"), ("write", "/tmp/wharf-walls"), ("remove", "/tmp/x")] {
        let ended = attempt(&["compiler", what, path]);
        if stands(&ended, "calls") {
            assert!(ended.result.contains("(os error 1)"), "{what} {path}: {}", ended.result);
        }
    }
}

fn a_socket_a_program_or_a_thread_ends_it() {
    for (what, path) in [
        ("connect", ""),
        ("listen", ""),
        ("socket", "/tmp/wharf-walls-socket"),
        ("execute", "/bin/true"),
        ("thread", ""),
    ] {
        let ended = attempt(&["compiler", what, path]);
        if stands(&ended, "calls") {
            assert!(ended.was_killed() && ended.result.is_empty(), "{what}: {} {}", ended.status, ended.result);
        }
    }
}

fn runs_no_code_that_it_makes() {
    let ended = attempt(&["compiler", "code"]);
    if stands(&ended, "calls") {
        assert!(ended.was_killed() || ended.result.starts_with("refused"), "{} {}", ended.status, ended.result);
    }
    let ended = attempt(&["none", "code"]);
    assert_eq!(ended.result, "done", "without the wall it runs");
}

fn has_two_gigabytes() {
    let ended = attempt(&["compiler", "memory"]);
    assert!(ended.result.starts_with("refused"), "{} {}", ended.status, ended.result);
}

fn landlock_holds_without_the_filter() {
    for (what, path) in [("read", "/etc/passwd"), ("list", "/"), ("write", "/tmp/wharf-walls"), ("connect", "")] {
        let ended = attempt(&["files", what, path]);
        if stands(&ended, "files") {
            assert!(ended.result.contains("(os error 13)"), "{what} {path}: {}", ended.result);
        }
    }
}

/// Its input stays open, so that it ends by nothing but its parent's end.
fn dies_with_its_parent() {
    if attempt(&["compiler", "memory"]).standing.contains("calls: Not") {
        return say("  not shown: how far it has come cannot be seen without a filter");
    }
    let mut parent = Command::new(std::env::current_exe().expect("this program"))
        .args([attempts::ATTEMPT, "none", "orphan", env!("CARGO_BIN_EXE_wharf")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let input = parent.stdin.take();
    let output = parent.wait_with_output().expect("it ends");
    let said = String::from_utf8(output.stdout).expect("text");
    let orphan = said.lines().nth(1).and_then(|line| line.parse().ok()).expect("the number of its child");
    let started = Instant::now();
    // Where nobody waits for it, it stays as a zombie.
    while status(orphan, "State").is_some_and(|state| !state.starts_with('Z')) {
        assert!(started.elapsed() < Duration::from_secs(10), "{orphan} lives on");
        std::thread::sleep(Duration::from_millis(5));
    }
    drop(input);
}

/// A line of `/proc/PID/status`; `None` when there is no such process.
pub(super) fn status(process: u32, key: &str) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    status.lines().find_map(|line| Some(line.strip_prefix(key)?.strip_prefix(':')?.trim().to_owned()))
}
