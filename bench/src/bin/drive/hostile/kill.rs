//! The delay after its limit with which an endless call is answered.
//!
//! Each call is of another plugin, so that none waits for a turn: it starts when it is sent, if a
//! thread is free. No plugin fails often enough to be quarantined.

use std::time::Duration;

use anyhow::{Result, ensure};

use super::{home, tool};
use crate::Bench;
use crate::calls::percentile;
use crate::report::{Report, Unit};

const LIMIT: Duration = Duration::from_millis(250);
/// Concurrent calls, and repetitions.
const AT_ONCE: [(usize, usize); 6] = [(1, 24), (2, 16), (4, 12), (8, 8), (16, 6), (32, 5)];
const PLUGINS: usize = 120;
/// Faults per plugin; the fifth within a minute would quarantine it.
const FAULTS: usize = 4;

pub fn run(bench: &Bench, report: &mut Report) -> Result<()> {
    for wharf in bench.wharf() {
        let (home, tools) = home(bench, PLUGINS)?;
        for round in 0..bench.options.rounds {
            bench.progress(&format!("kill, round {}", round + 1));
            let mut plugins = (0..PLUGINS).cycle().take(PLUGINS * FAULTS);
            for limit in ["timeout", "cpu"] {
                let settings = format!("[limits]\n{limit} = \"{}ms\"\n", LIMIT.as_millis());
                let mut client = wharf.start_with(&home, &settings, tools)?;
                // CPU time equals elapsed time only if each call has a core of its own.
                let most = if limit == "cpu" { 1 } else { usize::MAX };
                for (at_once, times) in AT_ONCE.into_iter().filter(|(at_once, _)| *at_once <= most) {
                    let mut late = Vec::new();
                    for _ in 0..bench.options.size(times, 1) {
                        let calls: Vec<String> = plugins.by_ref().take(at_once).map(|h| tool(h, "spin")).collect();
                        for (took, result) in client.call_at_once(&calls)? {
                            let code = &result["_meta"]["wharf/fault"]["code"];
                            ensure!(*code == limit && took >= LIMIT, "stop it at its {limit}: {result}");
                            late.push(took.saturating_sub(LIMIT));
                        }
                    }
                    late.sort_unstable();
                    for percent in [50, 99] {
                        let figure = percentile(&late, percent).as_secs_f64() * 1e3;
                        let row = format!("{at_once} endless, stopped by `{limit}`: delay p{percent}");
                        report.add(&row, Unit::Millis, wharf.name(), figure);
                    }
                }
            }
        }
    }
    Ok(())
}
