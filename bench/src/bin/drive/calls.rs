//! The latency and rate of calls, and the memory of a server with one plugin. All servers, alternating.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use crate::Bench;
use crate::batch::{ADD, Batch, ECHO};
use crate::client::Client;
use crate::contender::Contender;
use crate::memory::{self, settled};
use crate::report::{Report, Unit};

/// Concurrent calls.
const WINDOW: usize = 64;

pub fn run(bench: &Bench, report: &mut Report) -> Result<()> {
    let echo = match &bench.options.echo {
        Some(file) => &fs::read(file).with_context(|| format!("read the component {}", file.display()))?,
        None => &bench.echo,
    };
    let homes = bench.all_contenders().iter().map(|_| bench.scratch.home()).collect::<Result<Vec<_>>>()?;
    for (home, contender) in homes.iter().zip(bench.all_contenders()) {
        home.put("echo", echo)?;
        // Not measured: fills the cache of compiled components.
        let mut client = contender.start(home)?;
        client.tools_until(2)?;
        compiled(&mut client, contender)?;
    }
    let mut turns: Vec<_> = bench.all_contenders().iter().zip(&homes).collect();
    for round in 0..bench.options.rounds {
        for (contender, home) in &turns {
            bench.progress(&format!("calls, round {}: {}", round + 1, contender.name()));
            let mut client = contender.start(home)?;
            client.tools_until(2)?;
            one_server(bench, contender, &mut client, report)?;
        }
        // Reversed each round, so that drift affects all servers equally.
        turns.reverse();
    }
    Ok(())
}

/// Waits until a call is not refused because the plugin is being compiled: a component that `wharf build` has made is
/// listed before that.
fn compiled(client: &mut Client, contender: &Contender) -> Result<()> {
    let call = [contender.echo().to_owned()];
    while client.call_at_once(&call)?.iter().any(|(_, result)| result["_meta"]["wharf/fault"]["code"] == "compiling") {
        thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

fn one_server(bench: &Bench, contender: &Contender, client: &mut Client, report: &mut Report) -> Result<()> {
    let mut add = |what: &str, unit, figure| report.add(what, unit, contender.name(), figure);
    let idle = settled(client.process.id())?;
    add("one plugin, after handshake and first list: RSS", Unit::MiB, idle.resident);
    add("one plugin, after handshake and first list: PSS", Unit::MiB, idle.proportional);

    let singles = bench.options.calls;
    let (warm_up, piped) = (singles / 10, 5 * singles);
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

/// The duration of each call, from before it is written to after its answer is read.
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

/// The duration of all calls, with [`WINDOW`] in flight: one is sent for each answer.
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

/// The percentile of sorted times, by nearest rank.
pub fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or_default()
}
