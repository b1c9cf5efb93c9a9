//! How soon a replaced file is served. Wharf only.
//!
//! For `list_changed` the file alternates between one with the tool `version` and one without, so
//! that the list really changes; for answers the list stays the same, and only the result changes.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use crate::Bench;
use crate::client::Client;
use crate::component::with_new_digest;
use crate::home::Home;
use crate::report::{Report, Unit};

const PLUGIN: &str = "echo";
const VERSION: &str = "echo_version";

pub fn run(bench: &Bench, report: &mut Report) -> Result<()> {
    let (known, new) = bench.options.size((10, 4), (1, 1));
    for wharf in bench.wharf() {
        let mut add = |what: &str, took: Duration| {
            report.add(&format!("file replaced to {what}"), Unit::Millis, wharf.name(), took.as_secs_f64() * 1e3);
        };
        let home = bench.scratch.home()?;
        // Not measured: fills the cache of compiled components.
        for component in [&bench.echo, &bench.v1, &bench.v2] {
            home.put(PLUGIN, component)?;
            wharf.start(&home)?.tools_until(if component == &bench.echo { 2 } else { 3 })?;
        }
        let mut pauses = Pauses(0);
        for round in 0..bench.options.rounds {
            bench.progress(&format!("reload, round {}", round + 1));
            home.put(PLUGIN, &bench.echo)?;
            let mut client = wharf.start(&home)?;
            client.tools_until(2)?;
            for _ in 0..known {
                add("`list_changed`, compiled before", announced(&home, &mut client, &bench.v1, true, &mut pauses)?);
                add("`list_changed`, compiled before", announced(&home, &mut client, &bench.echo, false, &mut pauses)?);
            }
            for _ in 0..new {
                let (with, without) = (with_new_digest(&bench.v1)?, with_new_digest(&bench.echo)?);
                add("`list_changed`, new content", announced(&home, &mut client, &with, true, &mut pauses)?);
                add("`list_changed`, new content", announced(&home, &mut client, &without, false, &mut pauses)?);
            }
            announced(&home, &mut client, &bench.v1, true, &mut pauses)?;
            for _ in 0..known {
                add("first answer of it, compiled before", served(&home, &mut client, &bench.v2, "2", &mut pauses)?);
                add("first answer of it, compiled before", served(&home, &mut client, &bench.v1, "1", &mut pauses)?);
            }
        }
    }
    Ok(())
}

/// Time from the rename to the notification. The list must then be the new one.
fn announced(home: &Home, client: &mut Client, component: &[u8], has: bool, pauses: &mut Pauses) -> Result<Duration> {
    let staged = home.stage(component)?;
    pauses.next();
    client.drain()?;
    let replaced = Instant::now();
    staged.replace(PLUGIN)?;
    let took = client.list_changed()?.duration_since(replaced);
    let tools = client.tools()?;
    ensure!(tools.iter().any(|tool| tool == VERSION) == has, "get the new list after its announcement: {tools:?}");
    Ok(took)
}

/// Time from the rename to the first answer of the new version.
fn served(home: &Home, client: &mut Client, component: &[u8], version: &str, pauses: &mut Pauses) -> Result<Duration> {
    let staged = home.stage(component)?;
    pauses.next();
    ensure!(client.text(VERSION)? != version, "get the old version before the replacement");
    let replaced = Instant::now();
    staged.replace(PLUGIN)?;
    while client.text(VERSION)? != version {}
    Ok(replaced.elapsed())
}

/// Pauses between replacements, so that these are not merged. Their length varies, so that a host
/// that polls is not always in the same phase.
struct Pauses(u64);

impl Pauses {
    fn next(&mut self) {
        self.0 += 1;
        thread::sleep(Duration::from_millis(150 + self.0 * 37 % 100));
    }
}
