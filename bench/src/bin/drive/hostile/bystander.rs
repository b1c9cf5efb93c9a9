//! The latency of another plugin's calls, and of requests that need no plugin, beside hostile
//! calls.
//!
//! Requests are sent at a fixed rate, whether or not earlier ones are answered, and measured from
//! their scheduled time (no coordinated omission).

use std::io::{BufRead, Write as _};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::{home, tool};
use crate::Bench;
use crate::calls::percentile;
use crate::client::{Client, call};
use crate::report::{Report, Unit};

const PACE: Duration = Duration::from_millis(5);
/// No hostile call is stopped during the measurement.
const SETTINGS: &str = "[limits]\ntimeout = \"10m\"\ncpu = \"10m\"\n";

/// The load: its name, the tool, and the number of concurrent calls, each of another plugin.
const LOADS: [(&str, &str, usize); 4] = [
    ("without load", "", 0),
    ("beside 8 endless loops", "spin", 8),
    ("beside 2 that keep allocating 64 MiB", "take", 2),
    ("beside 8 that fill 48 MiB in one instruction", "fill", 8),
];
/// Ids of the hostile calls.
const HOSTILE: u64 = 1 << 40;

pub fn run(bench: &Bench, report: &mut Report) -> Result<()> {
    let (warm_up, count) = bench.options.size((50, 1_000), (10, 50));
    for wharf in bench.wharf() {
        let (home, tools) = home(bench, 8)?;
        for round in 0..bench.options.rounds {
            for (load, hostile, calls) in LOADS {
                bench.progress(&format!("bystander {load}, round {}", round + 1));
                let mut client = wharf.start_with(&home, SETTINGS, tools)?;
                let hostile: Vec<String> = (0..calls).map(|plugin| tool(plugin, hostile)).collect();
                for (id, tool) in (HOSTILE..).zip(&hostile) {
                    client.process.write(line(&call(id, tool)).as_bytes())?;
                }
                for (name, request) in [("echo", echo as fn(u64) -> Value), ("ping", ping)] {
                    let mut times = at_fixed_rate(&mut client, request, warm_up + count, &hostile)?.split_off(warm_up);
                    times.sort_unstable();
                    for percent in [50, 99] {
                        let figure = percentile(&times, percent).as_secs_f64() * 1e3;
                        report.add(&format!("{name} {load}: p{percent}"), Unit::Millis, wharf.name(), figure);
                    }
                }
                client.process.kill();
            }
        }
    }
    Ok(())
}

fn echo(id: u64) -> Value {
    let params = json!({ "name": "echo", "arguments": { "message": "the quick brown fox" } });
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
}

fn ping(id: u64) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "ping" })
}

fn line(message: &Value) -> String {
    format!("{message}\n")
}

/// The duration of each request, in the order of sending. A hostile call that ends is repeated.
fn at_fixed_rate(
    client: &mut Client,
    request: fn(u64) -> Value,
    count: usize,
    hostile: &[String],
) -> Result<Vec<Duration>> {
    let first = client.ids(count as u64);
    let lines: Vec<String> = (first..).take(count).map(|id| line(&request(id))).collect();
    let (stdin, stdout) = client.process.pipes()?;
    let (ended, endings) = channel();
    let begin = Instant::now() + PACE;
    let due = |nth: usize| begin + PACE * nth as u32;
    thread::scope(|scope| {
        let reader = scope.spawn(move || read_answers(stdout, first, count, &ended));
        for (nth, line) in lines.iter().enumerate() {
            thread::sleep(due(nth).saturating_duration_since(Instant::now()));
            stdin.write_all(line.as_bytes()).context("write to the server")?;
            for id in endings.try_iter() {
                let again = hostile.get((id - HOSTILE) as usize).context("find the hostile call")?;
                stdin.write_all(self::line(&call(id, again)).as_bytes()).context("write to the server")?;
            }
        }
        let arrivals = reader.join().ok().context("join the reader")??;
        Ok(arrivals.into_iter().enumerate().map(|(nth, arrived)| arrived.saturating_duration_since(due(nth))).collect())
    })
}

/// The arrival times of the answers. Sends the ids of hostile calls that end meanwhile to `ended`.
fn read_answers(stdout: &mut impl BufRead, first: u64, count: usize, ended: &Sender<u64>) -> Result<Vec<Instant>> {
    let mut arrivals = vec![None; count];
    let mut open = count;
    while open > 0 {
        let mut line = String::new();
        ensure!(
            stdout.read_line(&mut line).context("read from the server")? > 0,
            "get all answers: the server has exited"
        );
        let now = Instant::now();
        let message: Value = serde_json::from_str(&line).with_context(|| format!("read {line}"))?;
        let Some(id) = message["id"].as_u64() else { continue };
        ensure!(
            message["result"].is_object() && message["result"]["isError"] != true,
            "get a successful result: {message}"
        );
        if id >= HOSTILE {
            // The receiver is gone once all requests have been sent.
            let _ = ended.send(id);
        } else if let Some(place @ None) = id.checked_sub(first).and_then(|nth| arrivals.get_mut(nth as usize)) {
            *place = Some(now);
            open -= 1;
        }
    }
    Ok(arrivals.into_iter().flatten().collect())
}
