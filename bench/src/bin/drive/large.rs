//! Long lists and large calls. All servers, alternating.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::Bench;
use crate::calls::percentile;
use crate::contender::{Contender, Kind};
use crate::home::Home;
use crate::http_client::{self, Connection, MODERN, message};
use crate::report::{Report, Unit};
use crate::support::guest::Guest;

/// Tools besides `echo` and `add`. In five plugins, since one plugin may have 128.
const TOOLS: usize = 500;
const PLUGINS: usize = 5;
/// Bytes of the argument, and of the result that returns it.
const LARGE: usize = 1 << 20;

pub fn run(bench: &Bench, report: &mut Report) -> Result<()> {
    let homes = bench.contenders().map(|_| bench.scratch.home()).collect::<Result<Vec<_>>>()?;
    for (home, contender) in homes.iter().zip(bench.contenders()) {
        home.put("echo", &bench.echo)?;
        if contender.kind == Kind::Wharf {
            put_tools(home)?;
        }
        // Not measured: fills the cache of compiled components.
        contender.start_wide(home, TOOLS)?;
    }
    let mut turns: Vec<_> = bench.contenders().zip(&homes).collect();
    for round in 0..bench.options.rounds {
        for (contender, home) in &turns {
            bench.progress(&format!("large, round {}: {}", round + 1, contender.name()));
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
    let list = |_, buffer| client.exchange("tools/list", json!({}), buffer);
    add(&format!("`tools/list` of {TOOLS}, stdio: p50"), sorted_durations(lists, list, check_list)?);
    let call = |n, buffer| {
        let params = json!({ "name": contender.echo(), "arguments": { "message": argument(n) } });
        client.exchange("tools/call", params, buffer)
    };
    add("echo of 1 MiB, stdio: p50", sorted_durations(calls, call, check_echo)?);
    drop(client);

    let (process, address) = contender.start_http(home, TOOLS, "")?;
    let client = http_client::Client::new(address, MODERN)?;
    // The first list waits until the plugins are loaded.
    let request = client.request(1, "tools/list", json!({}));
    client.send(&request)?;
    let mut connection = Connection::connect(address)?;
    let list = |_, buffer| {
        let started = Instant::now();
        connection.send(&request)?;
        let head = connection.head()?;
        let body = connection.body_into(&head, buffer)?;
        Ok((started.elapsed(), body))
    };
    add(&format!("`tools/list` of {TOOLS}, HTTP {MODERN}: p50"), sorted_durations(lists, list, check_list)?);
    process.kill();
    Ok(())
}

fn argument(n: usize) -> String {
    format!("{n:08}").repeat(LARGE / 8)
}

fn check_echo(n: usize, answer: &Value) -> Result<()> {
    ensure!(answer["result"]["content"][0]["text"] == argument(n), "get the argument back");
    Ok(())
}

fn check_list(_: usize, answer: &Value) -> Result<()> {
    let found = answer["result"]["tools"].as_array().map_or(0, Vec::len);
    ensure!(found == TOOLS + 2, "list {} tools: there are {found}", TOOLS + 2);
    Ok(())
}

/// The sorted durations of `count` exchanges. The answers are checked after the last one: during a
/// pause of the client the server would fall asleep, and wake slowly. They are read into buffers
/// whose pages are already mapped, since page faults of the client are not the server's work.
/// `one` gets the number of its exchange and its buffer.
fn sorted_durations(
    count: usize,
    mut one: impl FnMut(usize, Vec<u8>) -> Result<(Duration, Vec<u8>)>,
    check: impl Fn(usize, &Value) -> Result<()>,
) -> Result<Vec<Duration>> {
    let (_, first) = one(0, Vec::new())?;
    // Filled, so that the pages are mapped; 64 bytes more for a longer id.
    let mut buffers = vec![vec![b' '; first.len() + 64]; count];
    buffers.iter_mut().for_each(Vec::clear);
    let all = (0..).zip(buffers).map(|(n, buffer)| one(n, buffer)).collect::<Result<Vec<_>>>()?;
    for (n, (_, answer)) in all.iter().enumerate() {
        check(n, &message(answer)?)?;
    }
    let mut times: Vec<_> = all.into_iter().map(|(took, _)| took).collect();
    times.sort_unstable();
    Ok(times)
}
