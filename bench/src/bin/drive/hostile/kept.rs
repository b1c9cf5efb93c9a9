//! What the server still has after each kind of bomb, over what it had before.

use anyhow::{Result, ensure};

use super::{home, tool};
use crate::Bench;
use crate::bombs;
use crate::client::Client;
use crate::memory::settled;
use crate::report::{Report, Unit};

/// Another plugin each, so that none fails often enough to be left alone.
const PLUGINS: usize = 5;
const TIMES: usize = 4;

/// The tool, what of it is told, and the fault that it must end with, if any.
const BOMBS: [(&str, &str, &str); 6] = [
    ("version", "harmless calls", ""),
    ("take-and-crash", "calls that take 64 MiB, write to it and crash", "memory"),
    ("output", "results of 8 MiB", "output-too-large"),
    ("log", "calls that log 20 MiB", ""),
    ("table", "tables grown until it is too much", "trap"),
    ("handles", "calls that keep every handle", "trap"),
];

pub fn run(bench: &Bench, report: &mut Report) -> Result<()> {
    let for_the_compiler = bombs::for_the_compiler()?;
    for wharf in bench.wharf() {
        let (home, tools) = home(bench, PLUGINS)?;
        for round in 0..bench.options.rounds {
            let mut add = |what: &str, kept| {
                report.add(&format!("kept after {what}: RSS"), Unit::MiB, wharf.name(), kept);
            };
            for (bomb, what, fault) in BOMBS {
                bench.note(&format!("kept after {what}, round {}", round + 1));
                let mut client = wharf.start_with(&home, "", tools)?;
                let before = ready(&mut client)?;
                for _ in 0..TIMES {
                    for (_, result) in client.call_at_once(&of_each(bomb))? {
                        let code = result["_meta"]["wharf/fault"]["code"].as_str().unwrap_or_default();
                        ensure!(code == fault, "have {bomb} end with {fault:?}: {result}");
                    }
                }
                let kept = settled(client.process.id())?.resident - before;
                add(&format!("{} {what}", PLUGINS * TIMES), kept);
            }
            if bench.options.quick {
                // It may take the compiler all the minute that it has.
                continue;
            }
            bench.note(&format!("kept after what the compiler cannot do, round {}", round + 1));
            let mut client = wharf.start_with(&home, "", tools)?;
            let before = ready(&mut client)?;
            home.put("bomb", &for_the_compiler)?;
            client.process.logged("failed to compile the component within")?;
            add("a file that the compiler gives up", settled(client.process.id())?.resident - before);
            std::fs::remove_file(home.plugins().join("bomb.wasm"))?;
        }
    }
    Ok(())
}

fn of_each(bomb: &str) -> Vec<String> {
    (0..PLUGINS).map(|plugin| tool(plugin, bomb)).collect()
}

/// What it has once everybody was called: what a first call takes is no bomb's.
fn ready(client: &mut Client) -> Result<f64> {
    for _ in 0..TIMES {
        client.call_at_once(&of_each("version"))?;
    }
    Ok(settled(client.process.id())?.resident)
}
