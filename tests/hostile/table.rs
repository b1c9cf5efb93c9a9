//! The output of the suite, for people and the test runner.

use std::process::ExitCode;

use crate::arena::Outcome;
use crate::host::Transport;
use crate::{Row, Run};

#[allow(clippy::print_stdout, reason = "a command that people and the test runner read")]
fn say(line: &str) {
    println!("{line}");
}

/// Prints the runs that have ended since the last call.
pub(crate) fn print_ended(runs: &mut [Run]) {
    ended(runs, false);
}

fn ended(runs: &mut [Run], wait: bool) {
    for run in runs {
        if run.end(wait) {
            let word = if run.outcome().is_some() { "ok" } else { "FAILED" };
            let (name, transport, took) = (run.row.name(), run.transport.name(), run.took.as_secs_f32());
            say(&format!("test {name} over {transport} ... {word} ({took:.1} s)"));
        }
    }
}

/// Waits for the remaining runs, and prints the table.
pub(crate) fn conclude(mut runs: Vec<Run>, rows: &[Row], all: usize, transports: usize) -> ExitCode {
    ended(&mut runs, true);
    say(&format!(
        "\n{:<40} {:<7} {:<7} {:<7} {:>8} {:>9} {:>7} {:>6} {:>8}",
        "attack", "stdio", "http", "process", "overrun", "bystander", "memory", "files", "threads"
    ));
    let mut whole = 0;
    for row in rows {
        let of_row: Vec<&Run> = runs.iter().filter(|run| run.row.function == row.function).collect();
        say(&line(row, &of_row));
        whole += usize::from(of_row.len() == Transport::ALL.len() && of_row.iter().all(|run| run.outcome().is_some()));
    }
    let passed = runs.iter().filter(|run| run.outcome().is_some()).count();
    let failed = runs.len() - passed;
    if transports == Transport::ALL.len() && rows.len() == all || failed > 0 {
        say(&format!("{whole} of {all}"));
    }
    say(&format!("tests: {passed} passed, {failed} failed"));
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A line of the table, with the worst values of all transports.
fn line(row: &Row, runs: &[&Run]) -> String {
    let word = |name: &str| match runs.iter().find(|run| run.transport.name() == name) {
        None => "-",
        Some(run) if run.outcome().is_some() => "ok",
        Some(_) => "FAILED",
    };
    let outcomes: Vec<&Outcome> = runs.iter().filter_map(|run| run.outcome()).collect();
    let most = |of: &dyn Fn(&Outcome) -> i64| outcomes.iter().map(|outcome| of(outcome)).max().unwrap_or_default();
    let over = outcomes.iter().filter_map(|outcome| outcome.over).max();
    let latest = outcomes.iter().map(|outcome| outcome.latest).max().unwrap_or_default();
    let more = |after: usize, before: usize| after as i64 - before as i64;
    format!(
        "{:<40} {:<7} {:<7} {:<7} {:>8} {:>9} {:>7} {:>6} {:>8}",
        row.name(),
        word("stdio"),
        word("http"),
        word("process"),
        over.map_or(String::new(), |over| format!("{} ms", over.as_millis())),
        format!("{} ms", latest.as_millis()),
        format!("{:+} MiB", most(&|o| (o.after.resident as i64 - o.before.resident as i64) >> 20)),
        format!("{:+}", most(&|o| more(o.after.files, o.before.files))),
        format!("{:+}", most(&|o| more(o.after.threads, o.before.threads))),
    )
}
