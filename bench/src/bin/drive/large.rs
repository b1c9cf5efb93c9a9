//! Long lists and large calls: all servers by turns.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use crate::Bench;
use crate::calls::percentile;
use crate::client::Client;
use crate::contender::{Contender, Kind};
use crate::home::Home;
use crate::line::{Caller, Line, MODERN, message};
use crate::report::{Report, Unit};
use crate::support::guest::Guest;

/// Tools beside `echo` and `add`: of five plugins, since one may have 128.
const TOOLS: usize = 500;
const PLUGINS: usize = 5;
/// Bytes of an argument, and of the result that says it back.
const LARGE: usize = 1 << 20;

pub fn run(bench: &Bench, report: &mut Report) -> Result<()> {
    let homes = bench.contenders().map(|_| bench.scratch.home()).collect::<Result<Vec<_>>>()?;
    for (home, contender) in homes.iter().zip(bench.contenders()) {
        home.put("echo", &bench.echo)?;
        if contender.kind == Kind::Wharf {
            put_tools(home)?;
        }
        // Nothing of this start counts: it fills the cache of compiled components.
        contender.start_wide(home, TOOLS)?;
    }
    let mut turns: Vec<_> = bench.contenders().zip(&homes).collect();
    for round in 0..bench.options.rounds {
        for (contender, home) in &turns {
            bench.note(&format!("large, round {}: {}", round + 1, contender.name()));
            one_server(bench, contender, home, report)?;
        }
        turns.reverse();
    }
    Ok(())
}

fn put_tools(home: &Home) -> Result<()> {
    let each = TOOLS / PLUGINS;
    for plugin in 0..PLUGINS {
        let names = (plugin * each..(plugin + 1) * each).map(|n| format!("tool{n}"));
        let guest = names.fold(Guest::saying("1").tools(&[]), |guest, name| guest.described(&name, "Does something."));
        home.put(&format!("wide{plugin}"), &guest.build())?;
    }
    Ok(())
}

fn one_server(bench: &Bench, contender: &Contender, home: &Home, report: &mut Report) -> Result<()> {
    let (lists, calls) = bench.options.size((500, 50), (50, 10));
    let mut add = |what: &str, times: Vec<Duration>| {
        let median = percentile(&times, 50).as_secs_f64() * 1e6;
        report.add(what, Unit::Micros, contender.name(), median);
    };
    let mut client = contender.start_wide(home, TOOLS)?;
    let list = |client: &mut Client, _| {
        let (took, line) = client.exchange("tools/list", json!({}))?;
        holds_all(&serde_json::from_slice(&line).context("read a list")?)?;
        Ok(took)
    };
    add(&format!("`tools/list` of {TOOLS}, stdio: p50"), sorted(lists, |n| list(&mut client, n))?);
    add("echo of 1 MiB, stdio: p50", sorted(calls, |n| large_call(contender, &mut client, n))?);
    drop(client);

    let (process, address) = contender.start_http(home, TOOLS)?;
    let caller = Caller::new(address, MODERN)?;
    // The first list waits for the plugins.
    let request = caller.request(1, "tools/list", json!({}));
    caller.ask(&request)?;
    let mut line = Line::connect(address)?;
    let list = |_| {
        let started = Instant::now();
        line.send(&request)?;
        let head = line.head()?;
        let body = line.body(&head)?;
        let took = started.elapsed();
        holds_all(&message(&body)?)?;
        Ok(took)
    };
    add(&format!("`tools/list` of {TOOLS}, HTTP {MODERN}: p50"), sorted(lists, list)?);
    process.kill();
    Ok(())
}

fn large_call(contender: &Contender, client: &mut Client, n: usize) -> Result<Duration> {
    let said = format!("{n:08}").repeat(LARGE / 8);
    let params = json!({ "name": contender.echo(), "arguments": { "message": said } });
    let (took, line) = client.exchange("tools/call", params)?;
    let answer: Value = serde_json::from_slice(&line).context("read an answer")?;
    ensure!(answer["result"]["content"][0]["text"] == said, "have said back what was said");
    Ok(took)
}

fn holds_all(answer: &Value) -> Result<()> {
    let found = answer["result"]["tools"].as_array().map_or(0, Vec::len);
    ensure!(found == TOOLS + 2, "have {} tools listed: there are {found}", TOOLS + 2);
    Ok(())
}

fn sorted(count: usize, one: impl FnMut(usize) -> Result<Duration>) -> Result<Vec<Duration>> {
    let mut times = (0..count).map(one).collect::<Result<Vec<_>>>()?;
    times.sort_unstable();
    Ok(times)
}
