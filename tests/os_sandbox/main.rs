//! What the OS sandbox prevents: each test starts this program again, which restricts itself and then
//! attempts one thing.
//!
//! A kernel that does not support a restriction is reported and is not a failure.

mod attempts;
mod compiler;
mod host;
mod plugin;

use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitCode, ExitStatus, Stdio};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [first, rest @ ..] = arguments.as_slice()
        && first == attempts::ATTEMPT
    {
        attempts::run(rest);
        return ExitCode::SUCCESS;
    }
    let (mut passed, mut failed) = (0, 0);
    for (name, test) in [compiler::TESTS, host::TESTS, plugin::TESTS].concat() {
        let result = std::panic::catch_unwind(test);
        say(&format!("test {name} ... {}", if result.is_ok() { "ok" } else { "FAILED" }));
        *if result.is_ok() { &mut passed } else { &mut failed } += 1;
    }
    say(&format!("\ntest result: {}. {passed} passed; {failed} failed", if failed == 0 { "ok" } else { "FAILED" }));
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

type Test = (&'static str, fn());

#[allow(clippy::print_stdout, reason = "there is no harness to print it")]
fn say(line: &str) {
    println!("{line}");
}

/// How an attempt ended.
struct Ended {
    status: ExitStatus,
    /// Its report of what is enforced.
    enforcement: String,
    /// Its report of the attempt.
    result: String,
}

impl Ended {
    fn was_killed(&self) -> bool {
        self.status.signal() == Some(rustix::process::Signal::SYS.as_raw())
    }
}

/// Attempts one thing in a separate process.
fn attempt(arguments: &[&str]) -> Ended {
    let program = std::env::current_exe().expect("this program");
    let output = Command::new(program)
        .arg(attempts::ATTEMPT)
        .args(arguments)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .expect("it starts");
    let text = String::from_utf8(output.stdout).expect("text");
    let mut lines = text.lines().map(str::to_owned);
    let enforcement = lines.next().expect("a report of what is enforced");
    Ended { status: output.status, enforcement, result: lines.next().unwrap_or_default() }
}

/// Whether this kernel enforces the restriction fully; otherwise the test shows nothing.
fn is_enforced(ended: &Ended, restriction: &str) -> bool {
    let is_enforced = ended.enforcement.contains(&format!("{restriction}: Full"));
    if !is_enforced {
        say(&format!("  skipped: this kernel enforces only: {}", ended.enforcement));
    }
    is_enforced
}
