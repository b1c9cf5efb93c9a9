//! The memory that the server retains after each kind of hostile call.

use anyhow::{Result, ensure};

use super::{home, tool};
use crate::Bench;
use crate::bombs;
use crate::client::Client;
use crate::memory::settled;
use crate::report::{Report, Unit};

/// Calls are spread over several plugins, so that none fails often enough to be quarantined.
const PLUGINS: usize = 5;
const TIMES: usize = 4;

/// The tool, its description in the report, and the fault code that it must end with, if any.
const BOMBS: [(&str, &str, &str); 6] = [
    ("version", "harmless calls", ""),
    ("take-and-crash", "calls that allocate 64 MiB, write to it and crash", "memory"),
    ("output", "results of 8 MiB", "output-too-large"),
    ("log", "calls that log 20 MiB", ""),
    ("table", "tables grown beyond the limit", "trap"),
    ("handles", "calls that leak handles", "trap"),
];

pub fn run(bench: &Bench, report: &mut Report) -> Result<()> {
    let for_the_compiler = bombs::for_the_compiler()?;
    for wharf in bench.wharf() {
        let (home, tools) = home(bench, PLUGINS)?;
        for round in 0..bench.options.rounds {
            let mut add = |what: &str, kept| {
                report.add(&format!("retained after {what}: RSS"), Unit::MiB, wharf.name(), kept);
            };
            for (bomb, what, fault) in BOMBS {
                bench.progress(&format!("kept after {what}, round {}", round + 1));
                let mut client = wharf.start_with(&home, "", tools)?;
                let before = warmed_up(&mut client)?;
                for _ in 0..TIMES {
                    for (_, result) in client.call_at_once(&tool_of_each(bomb))? {
                        let code = result["_meta"]["wharf/fault"]["code"].as_str().unwrap_or_default();
                        ensure!(code == fault, "end {bomb} with {fault:?}: {result}");
                    }
                }
                let kept = settled(client.process.id())?.resident - before;
                add(&format!("{} {what}", PLUGINS * TIMES), kept);
            }
            if bench.options.quick {
                // It may take the compiler's whole minute.
                continue;
            }
            bench.progress(&format!("kept after a file that the compiler cannot finish, round {}", round + 1));
            let mut client = wharf.start_with(&home, "", tools)?;
            let before = warmed_up(&mut client)?;
            home.put("bomb", &for_the_compiler)?;
            client.process.wait_for_log("failed to compile the component within")?;
            add("a file that the compiler cannot finish", settled(client.process.id())?.resident - before);
            std::fs::remove_file(home.plugins().join("bomb.wasm"))?;
        }
    }
    Ok(())
}

fn tool_of_each(bomb: &str) -> Vec<String> {
    (0..PLUGINS).map(|plugin| tool(plugin, bomb)).collect()
}

/// The RSS after every plugin was called, so that the memory of first calls is not counted.
fn warmed_up(client: &mut Client) -> Result<f64> {
    for _ in 0..TIMES {
        client.call_at_once(&tool_of_each("version"))?;
    }
    Ok(settled(client.process.id())?.resident)
}
