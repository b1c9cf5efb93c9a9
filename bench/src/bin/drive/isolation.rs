//! Checks before the measurement that calls are isolated and stopped: a binary without that would
//! be fast for the wrong reason.

use std::time::Duration;

use anyhow::{Result, ensure};

use crate::Bench;
use crate::support::guest::{Guest, bodies};

const LIMIT: Duration = Duration::from_millis(250);
/// An endless call that is answered later counts as not stopped.
const LATE: Duration = Duration::from_secs(2);
/// Number of sequential calls, and of concurrent calls.
const CALLS: usize = 64;

/// Writes a mark to its memory, and traps if there is one.
const MARK: &str = "(if (i32.load8_u (i32.const 3072)) (then unreachable))
    (i32.store8 (i32.const 3072) (i32.const 1))";

/// # Errors
/// If a call finds the mark of another, or an endless one is not stopped.
pub fn check(bench: &Bench) -> Result<()> {
    for wharf in bench.wharf() {
        bench.progress("isolation check");
        let home = bench.scratch.home()?;
        home.put("guest", &Guest::returning("1").does("mark", MARK).does("spin", bodies::SPIN).build())?;
        let settings = format!("[limits]\ntimeout = \"{}ms\"\n", LIMIT.as_millis());
        let mut client = wharf.start_with(&home, &settings, 3)?;
        let mark = vec!["guest_mark".to_owned(); CALLS];
        for calls in mark.chunks(1).chain([&mark[..]]) {
            for (_, result) in client.call_at_once(calls)? {
                ensure!(result["isError"] != true, "start each call with fresh memory: {result}");
            }
        }
        for (took, result) in client.call_at_once(&["guest_spin".to_owned()])? {
            let stopped = result["_meta"]["wharf/fault"]["code"] == "timeout";
            ensure!(stopped && took >= LIMIT && took < LATE, "stop a call at its limit: {took:?}: {result}");
        }
    }
    Ok(())
}
