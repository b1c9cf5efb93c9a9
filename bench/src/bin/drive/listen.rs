//! Thousands of clients that only listen: what each weighs, and how soon all have heard.

use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use serde_json::json;

use crate::Bench;
use crate::line::{Caller, Line, MODERN};
use crate::memory::settled;
use crate::report::{Report, Unit};

pub fn run(bench: &Bench, report: &mut Report) -> Result<()> {
    let streams = bench.options.size(5_000, 200);
    for contender in bench.wharf() {
        for round in 0..bench.options.rounds {
            bench.note(&format!("listen, round {}: {}", round + 1, contender.name()));
            let home = bench.scratch.home()?;
            home.put("echo", &bench.v1)?;
            let (process, address) = contender.start_http(&home, 0)?;
            let caller = Caller::new(address, MODERN)?;
            caller.ask(&caller.request(1, "tools/list", json!({})))?;
            let before = settled(process.id())?;
            let wanted = json!({ "notifications": { "toolsListChanged": true } });
            let listen = caller.request(2, "subscriptions/listen", wanted);
            let mut lines = Vec::with_capacity(streams);
            for _ in 0..streams {
                let mut line = Line::connect(address)?;
                line.send(&listen)?;
                line.head()?;
                hear(&mut line, "notifications/subscriptions/acknowledged")?;
                lines.push(line);
            }
            let after = settled(process.id())?;
            let each = (after.resident - before.resident) * 1024.0 / streams as f64;
            report.add(&format!("{streams} listen streams: each, RSS"), Unit::KiB, contender.name(), each);

            // Its tools are fewer: nothing has to be compiled to know that they are gone.
            let gone = home.plugins().join("echo.wasm");
            let changed = Instant::now();
            std::fs::remove_file(&gone).with_context(|| format!("remove {}", gone.display()))?;
            for line in &mut lines {
                hear(line, "notifications/tools/list_changed")?;
            }
            let took = changed.elapsed().as_secs_f64() * 1e3;
            let row = format!("{streams} listen streams: file removed to all have heard");
            report.add(&row, Unit::Millis, contender.name(), took);
            process.kill();
        }
    }
    Ok(())
}

/// Reads a stream to the notification of that method.
fn hear(line: &mut Line, method: &str) -> Result<()> {
    while let Some(chunk) = line.chunk()? {
        if String::from_utf8_lossy(&chunk).contains(method) {
            return Ok(());
        }
    }
    bail!("hear {method}: the stream has ended");
}
