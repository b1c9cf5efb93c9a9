//! How the duration of a call scales with the number of plugins, the payload, and the server's
//! cores. `plot` draws it.

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use crate::Bench;
use crate::batch::{Batch, ECHO};
use crate::calls::{percentile, pipelined};
use crate::contender::Contender;
use crate::home::Home;
use crate::report::{Report, Unit, median};
use crate::support::guest::Guest;
use crate::turns;

/// Plugins in service, including the called one; each of the others has [`TOOLS`] tools.
pub const PLUGINS: [usize; 4] = [1, 50, 100, 200];
const TOOLS: usize = 5;
/// Bytes of the argument, and of the result that returns it.
pub const PAYLOADS: [usize; 5] = [64, 1 << 10, 16 << 10, 128 << 10, 1 << 20];
pub const CORES: [usize; 2] = [1, 2];

pub fn run(bench: &Bench, report: &mut Report) -> Result<()> {
    for round in 0..bench.options.rounds {
        bench.progress(&format!("scale, round {}", round + 1));
        for wharf in bench.wharf() {
            plugins(bench, wharf, report)?;
        }
        for contender in bench.contenders() {
            let home = bench.scratch.home()?;
            home.put("echo", &bench.echo)?;
            payloads(bench, contender, &home, report)?;
            cores(bench, contender, &home, report)?;
        }
    }
    Ok(())
}

/// The name of the row for one point of an axis; `plot` looks it up.
pub fn row(what: &str, at: usize) -> String {
    format!("{what} {at}")
}

pub const PLUGIN_COUNT: &str = "echo, plugins:";
pub const PAYLOAD: &str = "echo, p50, payload bytes:";
pub const CORE_COUNT: &str = "echo, 64 in flight, cores:";

/// Servers with different numbers of plugins, called alternately.
fn plugins(bench: &Bench, wharf: &Contender, report: &mut Report) -> Result<()> {
    let counts = bench.options.size(&PLUGINS[..], &PLUGINS[..2]);
    let homes = counts.iter().map(|count| home_with_plugins(bench, *count)).collect::<Result<Vec<_>>>()?;
    let mut servers = Vec::new();
    for (count, home) in counts.iter().zip(&homes) {
        let mut client = wharf.start(home)?;
        client.tools_until(2 + TOOLS * (count - 1))?;
        servers.push((client, ECHO));
    }
    let medians = turns::medians(wharf, &mut servers, bench.options.size(40, 4))?;
    let mut baseline = None;
    for (count, medians) in counts.iter().zip(&medians) {
        let median = median(medians);
        report.add(&row(PLUGIN_COUNT, *count), Unit::Micros, wharf.name(), median);
        let single = *baseline.get_or_insert(median);
        if *count > 1 {
            let what = format!("echo, {count} plugins ({} tools) ÷ one plugin", 2 + TOOLS * (count - 1));
            report.add(&what, Unit::Times, wharf.name(), median / single);
        }
    }
    Ok(())
}

/// A home with `count` plugins, one of them `echo`.
fn home_with_plugins(bench: &Bench, count: usize) -> Result<Home> {
    let home = bench.scratch.home()?;
    home.put("echo", &bench.echo)?;
    let tools = |plugin: usize| (0..TOOLS).map(move |n| format!("tool{plugin}-{n}"));
    for plugin in 1..count {
        let guest = tools(plugin)
            .fold(Guest::returning("1").tools(&[]), |guest, name| guest.described(&name, "Does something."));
        home.put(&format!("idle{plugin}"), &guest.build())?;
    }
    Ok(home)
}

fn payloads(bench: &Bench, contender: &Contender, home: &Home, report: &mut Report) -> Result<()> {
    let mut client = contender.start(home)?;
    client.tools_until(2)?;
    for bytes in PAYLOADS {
        let message = "x".repeat(bytes);
        let mut times = Vec::new();
        for call in 0..bench.options.size(200, 20) {
            let params = json!({ "name": contender.echo(), "arguments": { "message": message } });
            let (took, line) = client.exchange("tools/call", params, Vec::new())?;
            let answer: Value = serde_json::from_slice(&line).context("read an answer")?;
            ensure!(answer["result"]["content"][0]["text"] == message, "get the argument back");
            // The first ten are a warm-up.
            times.extend((call >= 10).then_some(took));
        }
        times.sort_unstable();
        let median = percentile(&times, 50).as_secs_f64() * 1e6;
        report.add(&row(PAYLOAD, bytes), Unit::Micros, contender.name(), median);
    }
    Ok(())
}

fn cores(bench: &Bench, contender: &Contender, home: &Home, report: &mut Report) -> Result<()> {
    let available = std::thread::available_parallelism().map_or(1, usize::from);
    for cores in CORES.into_iter().filter(|cores| *cores <= available) {
        let mut client = contender.start_on(home, cores)?;
        client.tools_until(2)?;
        let (warm_up, calls) = bench.options.size((2_000, 20_000), (200, 2_000));
        let mut batch = |count| Batch::new(ECHO, contender, client.ids(count as u64), count);
        let (warm, many) = (batch(warm_up), batch(calls));
        pipelined(&mut client, &warm)?;
        let took = pipelined(&mut client, &many)?;
        let rate = many.count() as f64 / took.as_secs_f64();
        report.add(&row(CORE_COUNT, cores), Unit::PerSecond, contender.name(), rate);
    }
    Ok(())
}
