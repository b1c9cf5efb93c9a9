//! How long after its limit a call that never ends is answered.
//!
//! Each call is another plugin's, so that none waits for its turn: it begins to run when it is
//! sent, as far as the host has time for it. No plugin fails often enough to be left alone.

use std::time::Duration;

use anyhow::{Result, ensure};

use super::{home, tool};
use crate::Bench;
use crate::calls::percentile;
use crate::report::{Report, Unit};

const LIMIT: Duration = Duration::from_millis(250);
/// Calls at once, and how often.
const AT_ONCE: [(usize, usize); 6] = [(1, 24), (2, 16), (4, 12), (8, 8), (16, 6), (32, 5)];
const PLUGINS: usize = 120;
/// Faults within a minute, of which the fifth makes the host leave a plugin alone.
const FAULTS: usize = 4;

pub fn run(bench: &Bench, report: &mut Report) -> Result<()> {
    for wharf in bench.wharf() {
        let (home, tools) = home(bench, PLUGINS)?;
        for round in 0..bench.options.rounds {
            bench.note(&format!("kill, round {}", round + 1));
            let mut plugins = (0..PLUGINS).cycle().take(PLUGINS * FAULTS);
            for limit in ["timeout", "cpu"] {
                let settings = format!("[limits]\n{limit} = \"{}ms\"\n", LIMIT.as_millis());
                let mut client = wharf.start_with(&home, &settings, tools)?;
                // Computing time is also the clock's only where each has a core of its own.
                let most = if limit == "cpu" { 1 } else { usize::MAX };
                for (at_once, times) in AT_ONCE.into_iter().filter(|(at_once, _)| *at_once <= most) {
                    let mut late = Vec::new();
                    for _ in 0..bench.options.size(times, 1) {
                        let calls: Vec<String> = plugins.by_ref().take(at_once).map(|h| tool(h, "spin")).collect();
                        for (took, result) in client.call_at_once(&calls)? {
                            let code = &result["_meta"]["wharf/fault"]["code"];
                            ensure!(*code == limit && took >= LIMIT, "have it stopped at its {limit}: {result}");
                            late.push(took.saturating_sub(LIMIT));
                        }
                    }
                    late.sort_unstable();
                    for percent in [50, 99] {
                        let figure = percentile(&late, percent).as_secs_f64() * 1e3;
                        let row = format!("{at_once} spinning, stopped by `{limit}`: late by, p{percent}");
                        report.add(&row, Unit::Millis, wharf.name(), figure);
                    }
                }
            }
        }
    }
    Ok(())
}
