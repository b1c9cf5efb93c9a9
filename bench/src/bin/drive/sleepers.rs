//! A hundred calls of one plugin that sleep, and calls of another meanwhile. Wharf only.

use std::ops::Range;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use crate::Bench;
use crate::batch::{Batch, ECHO};
use crate::calls::percentile;
use crate::client::Client;
use crate::contender::Contender;
use crate::report::{Report, Unit};

const SLEEPERS: u64 = 100;
const SLEEP: &str = "sleeper_sleep";

pub fn run(bench: &Bench, report: &mut Report) -> Result<()> {
    for round in 0..bench.options.rounds {
        bench.progress(&format!("sleepers, round {}", round + 1));
        for wharf in bench.wharf() {
            one_server(bench, wharf, report)?;
        }
    }
    Ok(())
}

fn one_server(bench: &Bench, wharf: &Contender, report: &mut Report) -> Result<()> {
    let home = bench.scratch.home()?;
    home.put("echo", &bench.echo)?;
    home.put("sleeper", &bench.component("hostile")?)?;
    let settings = "[plugins.sleeper.limits]\nconcurrency = 100\nqueue = 0\n";
    let mut client = wharf.start_for(&home, settings, SLEEP)?;
    let ids = client.ids(SLEEPERS)..client.ids(0);
    let lines: String = ids.clone().map(|id| format!("{}\n", sleep(id))).collect();
    let started = Instant::now();
    client.process.write(lines.as_bytes())?;
    let mut echoes = Vec::new();
    let mut left = SLEEPERS;
    while left > 0 {
        let (took, some_woke) = echo_meanwhile(&mut client, wharf, &ids, &mut left)?;
        if !some_woke {
            echoes.push(took);
        }
    }
    let all = started.elapsed();
    echoes.sort_unstable();
    report.add("100 calls that sleep 1 s: all answered", Unit::Millis, wharf.name(), all.as_secs_f64() * 1e3);
    let p99 = percentile(&echoes, 99).as_secs_f64() * 1e6;
    report.add("echo of another plugin while they sleep: p99", Unit::Micros, wharf.name(), p99);
    Ok(())
}

fn sleep(id: u64) -> Value {
    let params = json!({ "name": SLEEP, "arguments": { "seconds": 1 } });
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
}

/// One `echo`, and whether sleepers were answered before it; subtracts those from `left`.
fn echo_meanwhile(
    client: &mut Client,
    wharf: &Contender,
    ids: &Range<u64>,
    left: &mut u64,
) -> Result<(Duration, bool)> {
    let batch = Batch::new(ECHO, wharf, client.ids(1), 1);
    let before = *left;
    let sent = Instant::now();
    client.process.write(batch.lines(0..1))?;
    loop {
        let mut line = Vec::new();
        client.process.read_line(&mut line)?;
        let took = sent.elapsed();
        let answer: Value = serde_json::from_slice(&line).context("read an answer")?;
        if answer["id"].as_u64().is_some_and(|id| ids.contains(&id)) {
            ensure!(answer["result"]["content"][0]["text"] == "awake", "get the result of a sleeper: {answer}");
            *left -= 1;
        } else if answer.get("id").is_some() {
            batch.check(&line)?;
            return Ok((took, *left < before));
        }
    }
}
