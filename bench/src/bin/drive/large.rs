//! Long lists and large calls: all servers by turns.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::Bench;
use crate::calls::percentile;
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
        let guest =
            names.fold(Guest::returning("1").tools(&[]), |guest, name| guest.described(&name, "Does something."));
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
    let list = |_, room| client.exchange("tools/list", json!({}), room);
    add(&format!("`tools/list` of {TOOLS}, stdio: p50"), sorted(lists, list, holds_all)?);
    let call = |n, room| {
        let params = json!({ "name": contender.echo(), "arguments": { "message": said(n) } });
        client.exchange("tools/call", params, room)
    };
    add("echo of 1 MiB, stdio: p50", sorted(calls, call, says_back)?);
    drop(client);

    let (process, address) = contender.start_http(home, TOOLS)?;
    let caller = Caller::new(address, MODERN)?;
    // The first list waits for the plugins.
    let request = caller.request(1, "tools/list", json!({}));
    caller.ask(&request)?;
    let mut line = Line::connect(address)?;
    let list = |_, room| {
        let started = Instant::now();
        line.send(&request)?;
        let head = line.head()?;
        let body = line.body_into(&head, room)?;
        Ok((started.elapsed(), body))
    };
    add(&format!("`tools/list` of {TOOLS}, HTTP {MODERN}: p50"), sorted(lists, list, holds_all)?);
    process.kill();
    Ok(())
}

fn said(n: usize) -> String {
    format!("{n:08}").repeat(LARGE / 8)
}

fn says_back(n: usize, answer: &Value) -> Result<()> {
    ensure!(answer["result"]["content"][0]["text"] == said(n), "have said back what was said");
    Ok(())
}

fn holds_all(_: usize, answer: &Value) -> Result<()> {
    let found = answer["result"]["tools"].as_array().map_or(0, Vec::len);
    ensure!(found == TOOLS + 2, "have {} tools listed: there are {found}", TOOLS + 2);
    Ok(())
}

/// How long each took, sorted. The answers are looked at when all are there: a server that waits
/// for its client meanwhile falls asleep, and is slow to wake. They are read into memory that is
/// there already: to take it from the system is no work of a server's. `one` is given the number
/// of its exchange, and that room.
fn sorted(
    count: usize,
    mut one: impl FnMut(usize, Vec<u8>) -> Result<(Duration, Vec<u8>)>,
    right: impl Fn(usize, &Value) -> Result<()>,
) -> Result<Vec<Duration>> {
    let (_, first) = one(0, Vec::new())?;
    // Filled, so that it is there, and with room for an id that is longer.
    let mut rooms = vec![vec![b' '; first.len() + 64]; count];
    rooms.iter_mut().for_each(Vec::clear);
    let all = (0..).zip(rooms).map(|(n, room)| one(n, room)).collect::<Result<Vec<_>>>()?;
    for (n, (_, answer)) in all.iter().enumerate() {
        right(n, &message(answer)?)?;
    }
    let mut times: Vec<_> = all.into_iter().map(|(took, _)| took).collect();
    times.sort_unstable();
    Ok(times)
}
