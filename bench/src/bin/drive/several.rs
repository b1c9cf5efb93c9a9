//! Calls of one plugin, of two by turns, and of twenty in random order: what it costs that a call is of another plugin
//! than the one before. Wharf only.

use anyhow::Result;

use crate::Bench;
use crate::batch::{Batch, ECHO};
use crate::calls::{one_at_a_time, percentile, pipelined};
use crate::component::with_new_digest;
use crate::contender::Contender;
use crate::report::{Report, Unit};

/// How many plugins there are, and how a row names them.
const COUNTS: [(u64, &str); 3] = [(1, "one plugin"), (2, "two plugins by turns"), (20, "20 plugins at random")];

pub fn run(bench: &Bench, report: &mut Report) -> Result<()> {
    let mut counts = COUNTS;
    for round in 0..bench.options.rounds {
        for (count, name) in counts {
            bench.progress(&format!("several plugins, round {}: {name}", round + 1));
            for wharf in bench.wharf() {
                one_server(bench, wharf, count, name, report)?;
            }
        }
        // Reversed each round, so that drift affects all equally.
        counts.reverse();
    }
    Ok(())
}

fn one_server(bench: &Bench, wharf: &Contender, count: u64, name: &str, report: &mut Report) -> Result<()> {
    let home = bench.scratch.home()?;
    for plugin in 0..count {
        home.put(&format!("p{plugin}"), &with_new_digest(&bench.echo)?)?;
    }
    let mut client = wharf.start_with(&home, "", 2 * count as usize)?;
    let singles = bench.options.calls;
    let mut batch =
        |calls: usize| Batch::of(ECHO, client.ids(calls as u64), calls, |id| format!("p{}_echo", chosen(id, count)));
    let (warm, singly, piped) = (batch(singles / 10), batch(singles), batch(5 * singles));

    one_at_a_time(&mut client, &warm)?;
    let mut times = one_at_a_time(&mut client, &singly)?;
    times.sort_unstable();
    let p50 = percentile(&times, 50).as_secs_f64() * 1e6;
    report.add(&format!("echo of {name}, one at a time: p50"), Unit::Micros, wharf.name(), p50);
    let rate = piped.count() as f64 / pipelined(&mut client, &piped)?.as_secs_f64();
    report.add(&format!("echo of {name}, 64 in flight"), Unit::PerSecond, wharf.name(), rate);
    Ok(())
}

/// Which of the plugins a call is of: two by turns, more in an order that is the same in each run (splitmix64).
fn chosen(id: u64, count: u64) -> u64 {
    if count <= 2 {
        return id % count;
    }
    let mixed = (id.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (id >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed >> 33) % count
}
