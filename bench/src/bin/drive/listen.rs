//! Thousands of listening clients: the memory of each, and how soon all are notified.

use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use serde_json::json;

use crate::Bench;
use crate::http_client::{self, Connection, MODERN};
use crate::memory::settled;
use crate::report::{Report, Unit};

pub fn run(bench: &Bench, report: &mut Report) -> Result<()> {
    let streams = bench.options.size(5_000, 200);
    for contender in bench.wharf() {
        for round in 0..bench.options.rounds {
            bench.progress(&format!("listen, round {}: {}", round + 1, contender.name()));
            let home = bench.scratch.home()?;
            home.put("echo", &bench.v1)?;
            let (process, address) = contender.start_http(&home, 0, "")?;
            let client = http_client::Client::new(address, MODERN)?;
            client.send(&client.request(1, "tools/list", json!({})))?;
            let before = settled(process.id())?;
            let wanted = json!({ "notifications": { "toolsListChanged": true } });
            let listen = client.request(2, "subscriptions/listen", wanted);
            let mut connections = Vec::with_capacity(streams);
            for _ in 0..streams {
                let mut connection = Connection::connect(address)?;
                connection.send(&listen)?;
                connection.head()?;
                wait_for(&mut connection, "notifications/subscriptions/acknowledged")?;
                connections.push(connection);
            }
            let after = settled(process.id())?;
            let each = (after.resident - before.resident) * 1024.0 / streams as f64;
            report.add(&format!("{streams} listen streams: RSS per stream"), Unit::KiB, contender.name(), each);

            // Removed, not replaced: the list changes without a compilation.
            let gone = home.plugins().join("echo.wasm");
            let changed = Instant::now();
            std::fs::remove_file(&gone).with_context(|| format!("remove {}", gone.display()))?;
            for connection in &mut connections {
                wait_for(connection, "notifications/tools/list_changed")?;
            }
            let took = changed.elapsed().as_secs_f64() * 1e3;
            let row = format!("{streams} listen streams: file removed to last notification");
            report.add(&row, Unit::Millis, contender.name(), took);
            process.kill();
        }
    }
    Ok(())
}

/// Reads a stream up to the notification of that method.
fn wait_for(connection: &mut Connection, method: &str) -> Result<()> {
    while let Some(chunk) = connection.chunk()? {
        if String::from_utf8_lossy(&chunk).contains(method) {
            return Ok(());
        }
    }
    bail!("receive {method}: the stream has ended");
}
