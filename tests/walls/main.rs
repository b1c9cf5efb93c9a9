//! What the walls keep a process from: each test starts this program again, which puts itself
//! behind a wall and then tries one thing.
//!
//! A kernel that has no such wall is told of, and is no failure.

mod attempts;
mod compiler;
mod host;

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
    for (name, test) in [compiler::TESTS, host::TESTS].concat() {
        let result = std::panic::catch_unwind(test);
        say(&format!("test {name} ... {}", if result.is_ok() { "ok" } else { "FAILED" }));
        *if result.is_ok() { &mut passed } else { &mut failed } += 1;
    }
    say(&format!("\ntest result: {}. {passed} passed; {failed} failed", if failed == 0 { "ok" } else { "FAILED" }));
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

type Test = (&'static str, fn());

/// What this program is to cargo: its output is a test's.
#[allow(clippy::print_stdout, reason = "there is no harness to print it")]
fn say(line: &str) {
    println!("{line}");
}

/// How an attempt ended.
struct Ended {
    status: ExitStatus,
    /// What it said of the wall.
    standing: String,
    /// What it said of the thing that it tried.
    result: String,
}

impl Ended {
    fn was_killed(&self) -> bool {
        self.status.signal() == Some(rustix::process::Signal::SYS.as_raw())
    }
}

/// Tries one thing in a process of its own.
fn attempt(arguments: &[&str]) -> Ended {
    let program = std::env::current_exe().expect("this program");
    let output = Command::new(program)
        .arg(attempts::ATTEMPT)
        .args(arguments)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .expect("it starts");
    let said = String::from_utf8(output.stdout).expect("it says text");
    let mut lines = said.lines().map(str::to_owned);
    let standing = lines.next().expect("it says how the wall stands");
    Ended { status: output.status, standing, result: lines.next().unwrap_or_default() }
}

/// Whether the test can show anything here.
fn stands(ended: &Ended, wall: &str) -> bool {
    let stands = ended.standing.contains(&format!("{wall}: Whole"));
    if !stands {
        say(&format!("  not shown: on this kernel the wall stands like this: {}", ended.standing));
    }
    stands
}
