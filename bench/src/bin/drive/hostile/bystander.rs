//! What calls of another plugin, and those that need no plugin, take beside hostile ones.
//!
//! They are sent at a steady pace, whether or not those before are answered, and counted from
//! when each was to be sent: what a client would have waited is in the figure.

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
/// None of them is to be stopped while it is measured.
const SETTINGS: &str = "[limits]\ntimeout = \"10m\"\ncpu = \"10m\"\n";

/// What goes on beside: its name, the tool, and how many calls of it, each another plugin's.
const BESIDE: [(&str, &str, usize); 4] = [
    ("in quiet", "", 0),
    ("beside 8 that spin", "spin", 8),
    ("beside 2 that take 64 MiB again and again", "take", 2),
    ("beside 8 that fill 48 MiB in one instruction", "fill", 8),
];
/// Ids of the hostile calls.
const HOSTILE: u64 = 1 << 40;

pub fn run(bench: &Bench, report: &mut Report) -> Result<()> {
    // The first ones do not count.
    let (warm_up, count) = bench.options.size((50, 1_000), (10, 50));
    for wharf in bench.wharf() {
        let (home, tools) = home(bench, 8)?;
        for round in 0..bench.options.rounds {
            for (beside, hostile, calls) in BESIDE {
                bench.note(&format!("bystander {beside}, round {}", round + 1));
                let mut client = wharf.start_with(&home, SETTINGS, tools)?;
                let hostile: Vec<String> = (0..calls).map(|plugin| tool(plugin, hostile)).collect();
                for (id, tool) in (HOSTILE..).zip(&hostile) {
                    client.process.write(line(&call(id, tool)).as_bytes())?;
                }
                for (name, request) in [("echo", echo as fn(u64) -> Value), ("ping", ping)] {
                    let mut times = steadily(&mut client, request, warm_up + count, &hostile)?.split_off(warm_up);
                    times.sort_unstable();
                    for percent in [50, 99] {
                        let figure = percentile(&times, percent).as_secs_f64() * 1e3;
                        report.add(&format!("{name} {beside}: p{percent}"), Unit::Millis, wharf.name(), figure);
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

/// How long each took, in the order of sending. A hostile call that ends is made again.
fn steadily(client: &mut Client, request: fn(u64) -> Value, count: usize, hostile: &[String]) -> Result<Vec<Duration>> {
    let first = client.ids(count as u64);
    let lines: Vec<String> = (first..).take(count).map(|id| line(&request(id))).collect();
    let (stdin, stdout) = client.process.pipes()?;
    let (ended, over) = channel();
    let begin = Instant::now() + PACE;
    let due = |nth: usize| begin + PACE * nth as u32;
    thread::scope(|scope| {
        let reader = scope.spawn(move || answers(stdout, first, count, &ended));
        for (nth, line) in lines.iter().enumerate() {
            thread::sleep(due(nth).saturating_duration_since(Instant::now()));
            stdin.write_all(line.as_bytes()).context("write to the server")?;
            for id in over.try_iter() {
                let again = hostile.get((id - HOSTILE) as usize).context("know the hostile calls")?;
                stdin.write_all(self::line(&call(id, again)).as_bytes()).context("write to the server")?;
            }
        }
        let came = reader.join().ok().context("read to the end")??;
        Ok(came.into_iter().enumerate().map(|(nth, came)| came.saturating_duration_since(due(nth))).collect())
    })
}

/// When each answer came. Tells of the hostile calls that end meanwhile.
fn answers(stdout: &mut impl BufRead, first: u64, count: usize, ended: &Sender<u64>) -> Result<Vec<Instant>> {
    let mut came = vec![None; count];
    let mut open = count;
    while open > 0 {
        let mut line = String::new();
        ensure!(stdout.read_line(&mut line).context("read from the server")? > 0, "hear all: it has ended");
        let now = Instant::now();
        let message: Value = serde_json::from_str(&line).with_context(|| format!("read {line}"))?;
        let Some(id) = message["id"].as_u64() else { continue };
        ensure!(message["result"].is_object() && message["result"]["isError"] != true, "be served: {message}");
        if id >= HOSTILE {
            // Nobody hears it once all has been sent.
            let _ = ended.send(id);
        } else if let Some(place @ None) = id.checked_sub(first).and_then(|nth| came.get_mut(nth as usize)) {
            *place = Some(now);
            open -= 1;
        }
    }
    Ok(came.into_iter().flatten().collect())
}
