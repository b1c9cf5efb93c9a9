//! The latency and rate of calls over HTTP, on one connection and on many. All servers,
//! alternating, with and without sessions.

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::json;

use crate::Bench;
use crate::batch::ECHO;
use crate::calls::percentile;
use crate::contender::{Contender, Kind};
use crate::http_client::{Client, Connection, LEGACY, MODERN, message};
use crate::report::{Report, Unit};

pub const CONNECTIONS: [usize; 4] = [1, 16, 64, 256];
/// Unmeasured calls on each connection.
const WARM_UP: usize = 10;

pub fn run(bench: &Bench, report: &mut Report) -> Result<()> {
    let homes = bench.contenders().map(|_| bench.scratch.home()).collect::<Result<Vec<_>>>()?;
    for home in &homes {
        home.put("echo", &bench.echo)?;
    }
    let mut turns: Vec<_> = bench.contenders().zip(&homes).collect();
    let native = bench.contenders().find(|contender| contender.kind == Kind::Native);
    let bare = native.map(|native| Contender { kind: Kind::Bare, program: native.program.clone() });
    for round in 0..bench.options.rounds {
        let ceilings = bare.as_ref().map_or(Ok(Vec::new()), |bare| http_only(bench, bare))?;
        for (contender, home) in &turns {
            bench.progress(&format!("http, round {}: {}", round + 1, contender.name()));
            let (process, address) = contender.start_http(home, 0, "")?;
            for revision in [MODERN, LEGACY] {
                for (nth, connections) in CONNECTIONS.into_iter().enumerate() {
                    let row = row(revision, connections);
                    let client = Client::new(address, revision)?;
                    let (took, times) = load(bench, contender, &client, connections)?;
                    let rate = rate(took, &times);
                    let mut add = |what: &str, unit, figure| {
                        report.add(&format!("{row}: {what}"), unit, contender.name(), figure);
                    };
                    add("echo", Unit::PerSecond, rate);
                    if let Some(ceiling) = ceilings.get(nth) {
                        add("share of HTTP only", Unit::Times, rate / ceiling);
                    }
                    add("p50", Unit::Micros, percentile(&times, 50).as_secs_f64() * 1e6);
                    add("p99", Unit::Micros, percentile(&times, 99).as_secs_f64() * 1e6);
                }
            }
            process.kill();
        }
        turns.reverse();
    }
    Ok(())
}

/// Calls per second of the HTTP-only server, for each number of connections.
fn http_only(bench: &Bench, bare: &Contender) -> Result<Vec<f64>> {
    bench.progress("http: HTTP only");
    let (process, address) = bare.start_http(&bench.scratch.home()?, 0, "")?;
    let rates = CONNECTIONS.map(|connections| {
        let (took, times) = load(bench, bare, &Client::new(address, MODERN)?, connections)?;
        Ok(rate(took, &times))
    });
    process.kill();
    rates.into_iter().collect()
}

/// The prefix of the rows of one revision and number of connections.
pub fn row(revision: &str, connections: usize) -> String {
    let name = if connections == 1 { "connection" } else { "connections" };
    format!("HTTP {revision}, {connections} {name}")
}

/// Calls per second.
pub fn rate(took: Duration, times: &[Duration]) -> f64 {
    times.len() as f64 / took.as_secs_f64()
}

/// The duration of all calls together, and the sorted durations of each.
pub fn load(
    bench: &Bench,
    contender: &Contender,
    client: &Client,
    connections: usize,
) -> Result<(Duration, Vec<Duration>)> {
    // The first list waits until the plugins are loaded.
    client.send(&client.request(2, "tools/list", json!({})))?;
    let each = bench.options.size(20_000_usize, 1_024).div_ceil(connections).max(WARM_UP);
    let start = Barrier::new(connections + 1);
    thread::scope(|scope| {
        let all: Vec<_> = (0..connections)
            .map(|nth| {
                let start = &start;
                scope.spawn(move || one_connection(client, contender, (nth * 1_000_000) as u64, each, start))
            })
            .collect();
        start.wait();
        let started = Instant::now();
        let mut times = Vec::with_capacity(connections * each);
        for one in all {
            times.extend(one.join().ok().context("measure without a panic")??);
        }
        let took = started.elapsed();
        times.sort_unstable();
        Ok((took, times))
    })
}

/// The duration of each call, one after the other, from before it is written to after its answer
/// is read.
fn one_connection(
    client: &Client,
    contender: &Contender,
    first: u64,
    count: usize,
    start: &Barrier,
) -> Result<Vec<Duration>> {
    let call = |id: u64| {
        let params = json!({ "name": (ECHO.tool)(contender), "arguments": (ECHO.arguments)(id) });
        client.request(id, "tools/call", params)
    };
    let ids = first..first + (WARM_UP + count) as u64;
    let calls: Vec<_> = ids.clone().map(call).collect();
    let prepared = client.connect().and_then(|mut connection| {
        let warm = calls[..WARM_UP].iter().map(|call| one_call(&mut connection, call)).collect::<Result<Vec<_>>>()?;
        Ok((connection, warm))
    });
    // Also after a failure: otherwise the other threads would block here.
    start.wait();
    let (mut connection, mut bodies) = prepared?;
    let mut times = Vec::with_capacity(count);
    for call in &calls[WARM_UP..] {
        let sent = Instant::now();
        bodies.push(one_call(&mut connection, call)?);
        times.push(sent.elapsed());
    }
    for (id, body) in ids.zip(&bodies) {
        let answer = message(body)?;
        let expected = answer["id"] == id && (ECHO.is_expected)(id, &answer["result"]);
        ensure!(expected, "get the expected answer: {answer}");
    }
    Ok(times)
}

fn one_call(connection: &mut Connection, call: &[u8]) -> Result<Vec<u8>> {
    connection.send(call)?;
    let head = connection.head()?;
    connection.body(&head)
}
