//! What a call costs over HTTP, on one connection and on many: all servers by turns, in the
//! oldest and the newest way of asking that both have.

use std::net::SocketAddr;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::json;

use crate::Bench;
use crate::batch::ECHO;
use crate::calls::percentile;
use crate::contender::{Contender, Kind};
use crate::line::{Caller, LEGACY, Line, MODERN, message};
use crate::report::{Report, Unit};

pub const CONNECTIONS: [usize; 4] = [1, 16, 64, 256];
/// Calls that do not count, on each connection.
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
        let most = bare.as_ref().map_or(Ok(Vec::new()), |bare| alone(bench, bare))?;
        for (contender, home) in &turns {
            bench.note(&format!("http, round {}: {}", round + 1, contender.name()));
            let (process, address) = contender.start_http(home, 0)?;
            for revision in [MODERN, LEGACY] {
                for (nth, connections) in CONNECTIONS.into_iter().enumerate() {
                    let row = row(revision, connections);
                    let (took, times) = load(bench, contender, address, revision, connections)?;
                    let rate = rate(took, &times);
                    let mut add = |what: &str, unit, figure| {
                        report.add(&format!("{row}: {what}"), unit, contender.name(), figure);
                    };
                    add("echo", Unit::PerSecond, rate);
                    if let Some(most) = most.get(nth) {
                        add("of what HTTP alone answers", Unit::Times, rate / most);
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

/// Calls a second for each number of connections, where nothing is done but HTTP and JSON.
fn alone(bench: &Bench, bare: &Contender) -> Result<Vec<f64>> {
    bench.note("http: HTTP alone");
    let (process, address) = bare.start_http(&bench.scratch.home()?, 0)?;
    let rates = CONNECTIONS.map(|connections| {
        let (took, times) = load(bench, bare, address, MODERN, connections)?;
        Ok(rate(took, &times))
    });
    process.kill();
    rates.into_iter().collect()
}

/// What the rows of one revision and number of connections begin with.
pub fn row(revision: &str, connections: usize) -> String {
    let name = if connections == 1 { "connection" } else { "connections" };
    format!("HTTP {revision}, {connections} {name}")
}

/// Calls a second.
fn rate(took: Duration, times: &[Duration]) -> f64 {
    times.len() as f64 / took.as_secs_f64()
}

/// How long all calls took together, and each of them, sorted.
fn load(
    bench: &Bench,
    contender: &Contender,
    address: SocketAddr,
    revision: &'static str,
    connections: usize,
) -> Result<(Duration, Vec<Duration>)> {
    let caller = Caller::new(address, revision)?;
    // The first list waits for the plugins.
    caller.ask(&caller.request(2, "tools/list", json!({})))?;
    let each = bench.options.size(20_000_usize, 1_024).div_ceil(connections).max(WARM_UP);
    let start = Barrier::new(connections + 1);
    thread::scope(|scope| {
        let all: Vec<_> = (0..connections)
            .map(|nth| {
                let (caller, start) = (&caller, &start);
                scope.spawn(move || one_connection(caller, contender, address, (nth * 1_000_000) as u64, each, start))
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

/// How long each call took, one after the other, from before it is written to after its answer
/// is read.
fn one_connection(
    caller: &Caller,
    contender: &Contender,
    address: SocketAddr,
    first: u64,
    count: usize,
    start: &Barrier,
) -> Result<Vec<Duration>> {
    let call = |id: u64| {
        let params = json!({ "name": (ECHO.tool)(contender), "arguments": (ECHO.arguments)(id) });
        caller.request(id, "tools/call", params)
    };
    let ids = first..first + (WARM_UP + count) as u64;
    let calls: Vec<_> = ids.clone().map(call).collect();
    let prepared = Line::connect(address).and_then(|mut line| {
        let warm = calls[..WARM_UP].iter().map(|call| one_call(&mut line, call)).collect::<Result<Vec<_>>>()?;
        Ok((line, warm))
    });
    // Also where it has failed, or the others wait for ever.
    start.wait();
    let (mut line, mut bodies) = prepared?;
    let mut times = Vec::with_capacity(count);
    for call in &calls[WARM_UP..] {
        let sent = Instant::now();
        bodies.push(one_call(&mut line, call)?);
        times.push(sent.elapsed());
    }
    for (id, body) in ids.zip(&bodies) {
        let answer = message(body)?;
        let right = answer["id"] == id && (ECHO.right)(id, &answer["result"]);
        ensure!(right, "have the right answer: {answer}");
    }
    Ok(times)
}

fn one_call(line: &mut Line, call: &[u8]) -> Result<Vec<u8>> {
    line.send(call)?;
    let head = line.head()?;
    line.body(&head)
}
