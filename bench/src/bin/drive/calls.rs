//! What a call costs, and what a server weighs with one plugin: all servers by turns.

use std::time::{Duration, Instant};

use anyhow::Result;

use crate::Bench;
use crate::batch::{ADD, Batch, ECHO};
use crate::client::Client;
use crate::contender::Contender;
use crate::memory::{self, settled};
use crate::report::{Report, Unit};

/// Calls under way at once.
const WINDOW: usize = 64;

pub fn run(bench: &Bench, report: &mut Report) -> Result<()> {
    let homes = bench.everybody().iter().map(|_| bench.scratch.home()).collect::<Result<Vec<_>>>()?;
    for (home, contender) in homes.iter().zip(bench.everybody()) {
        home.put("echo", &bench.echo)?;
        // Nothing of this start counts: it fills the cache of compiled components.
        contender.start(home)?.tools_until(2)?;
    }
    let mut turns: Vec<_> = bench.everybody().iter().zip(&homes).collect();
    for round in 0..bench.options.rounds {
        for (contender, home) in &turns {
            bench.note(&format!("calls, round {}: {}", round + 1, contender.name()));
            let mut client = contender.start(home)?;
            client.tools_until(2)?;
            one_server(bench, contender, &mut client, report)?;
        }
        // Who goes first is who came last: drift hits both alike.
        turns.reverse();
    }
    Ok(())
}

fn one_server(bench: &Bench, contender: &Contender, client: &mut Client, report: &mut Report) -> Result<()> {
    let mut add = |what: &str, unit, figure| report.add(what, unit, contender.name(), figure);
    let idle = settled(client.process.id())?;
    add("one plugin, after handshake and first list: RSS", Unit::MiB, idle.resident);
    add("one plugin, after handshake and first list: PSS", Unit::MiB, idle.proportional);

    let (warm_up, singles, piped) = bench.options.size((2_000, 20_000, 100_000), (200, 1_000, 5_000));
    let mut batch = |workload, count| Batch::new(workload, contender, client.ids(count as u64), count);
    let (warm, echo, sum) = (batch(ECHO, warm_up), batch(ECHO, singles), batch(ADD, singles));
    let (warm_pipe, many) = (batch(ECHO, warm_up), batch(ECHO, piped));

    one_at_a_time(client, &warm)?;
    for batch in [&echo, &sum] {
        let mut times = one_at_a_time(client, batch)?;
        times.sort_unstable();
        let name = batch.name();
        add(&format!("{name}, one at a time: p50"), Unit::Micros, percentile(&times, 50).as_secs_f64() * 1e6);
        add(&format!("{name}, one at a time: p99"), Unit::Micros, percentile(&times, 99).as_secs_f64() * 1e6);
    }

    pipelined(client, &warm_pipe)?;
    let took = pipelined(client, &many)?;
    add(&format!("echo, {WINDOW} in flight"), Unit::PerSecond, many.count() as f64 / took.as_secs_f64());

    let busy = memory::now(client.process.id())?;
    add("one plugin, after all these calls: RSS", Unit::MiB, busy.resident);
    Ok(())
}

/// How long each call took, from before it is written to after its answer is read.
pub fn one_at_a_time(client: &mut Client, batch: &Batch) -> Result<Vec<Duration>> {
    client.drain()?;
    let mut times = Vec::with_capacity(batch.count());
    let mut answers = Vec::with_capacity(2 * batch.lines(0..batch.count()).len());
    for call in 0..batch.count() {
        let sent = Instant::now();
        client.process.write(batch.lines(call..call + 1))?;
        client.process.read_line(&mut answers)?;
        times.push(sent.elapsed());
    }
    batch.check(&answers)?;
    Ok(times)
}

/// How long all calls took together, with a new one sent for each that is answered.
pub fn pipelined(client: &mut Client, batch: &Batch) -> Result<Duration> {
    client.drain()?;
    let mut answers = Vec::with_capacity(2 * batch.lines(0..batch.count()).len());
    let (mut sent, mut answered) = (WINDOW.min(batch.count()), 0);
    let started = Instant::now();
    client.process.write(batch.lines(0..sent))?;
    while answered < batch.count() {
        answered += client.process.read_some(&mut answers)?;
        let next = (answered + WINDOW).min(batch.count());
        client.process.write(batch.lines(sent..next))?;
        sent = next;
    }
    let took = started.elapsed();
    batch.check(&answers)?;
    Ok(took)
}

/// Of sorted times, by nearest rank.
pub fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or_default()
}
