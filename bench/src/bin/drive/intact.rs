//! Whether what is measured is a sandbox still: a binary that has given that up would be fast for
//! nothing.

use std::time::Duration;

use anyhow::{Result, ensure};

use crate::Bench;
use crate::support::guest::{Guest, bodies};

const LIMIT: Duration = Duration::from_millis(250);
/// After which a call that never ends has not been stopped.
const LATE: Duration = Duration::from_secs(2);
/// Calls one after the other, and as many at once.
const CALLS: usize = 64;

/// Leaves a mark in its memory, and fails where it finds one.
const MARK: &str = "(if (i32.load8_u (i32.const 3072)) (then unreachable))
    (i32.store8 (i32.const 3072) (i32.const 1))";

/// # Errors
/// If a call finds what another has left, or one that never ends is not stopped.
pub fn check(bench: &Bench) -> Result<()> {
    for wharf in bench.wharf() {
        bench.note("whether calls are apart, and end");
        let home = bench.scratch.home()?;
        home.put("guest", &Guest::returning("1").does("mark", MARK).does("spin", bodies::SPIN).build())?;
        let settings = format!("[limits]\ntimeout = \"{}ms\"\n", LIMIT.as_millis());
        let mut client = wharf.start_with(&home, &settings, 3)?;
        let mark = vec!["guest_mark".to_owned(); CALLS];
        for calls in mark.chunks(1).chain([&mark[..]]) {
            for (_, result) in client.call_at_once(calls)? {
                ensure!(result["isError"] != true, "have each call begin with the same memory: {result}");
            }
        }
        for (took, result) in client.call_at_once(&["guest_spin".to_owned()])? {
            let stopped = result["_meta"]["wharf/fault"]["code"] == "timeout";
            ensure!(stopped && took >= LIMIT && took < LATE, "have a call stopped at its limit: {took:?}: {result}");
        }
    }
    Ok(())
}
