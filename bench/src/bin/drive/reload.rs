//! How soon a replaced file is a changed tool: Wharf only.
//!
//! The file alternates between one that has the tool `version` and one that has not, so that
//! the list does change. Whether a change that leaves the list as it was is announced is the
//! host's affair; that it is taken up is measured by calling.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use crate::Bench;
use crate::client::Client;
use crate::component::renewed;
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
        // Nothing of this counts: it fills the cache of compiled components.
        for component in [&bench.echo, &bench.v1, &bench.v2] {
            home.put(PLUGIN, component)?;
            wharf.start(&home)?.tools_until(if component == &bench.echo { 2 } else { 3 })?;
        }
        let mut pauses = Pauses(0);
        for round in 0..bench.options.rounds {
            bench.note(&format!("reload, round {}", round + 1));
            home.put(PLUGIN, &bench.echo)?;
            let mut client = wharf.start(&home)?;
            client.tools_until(2)?;
            for _ in 0..known {
                add("`list_changed`, compiled before", announced(&home, &mut client, &bench.v1, true, &mut pauses)?);
                add("`list_changed`, compiled before", announced(&home, &mut client, &bench.echo, false, &mut pauses)?);
            }
            for _ in 0..new {
                let (with, without) = (renewed(&bench.v1)?, renewed(&bench.echo)?);
                add("`list_changed`, new content", announced(&home, &mut client, &with, true, &mut pauses)?);
                add("`list_changed`, new content", announced(&home, &mut client, &without, false, &mut pauses)?);
            }
            announced(&home, &mut client, &bench.v1, true, &mut pauses)?;
            for _ in 0..known {
                add("a call answered by it, compiled before", served(&home, &mut client, &bench.v2, "2", &mut pauses)?);
                add("a call answered by it, compiled before", served(&home, &mut client, &bench.v1, "1", &mut pauses)?);
            }
        }
    }
    Ok(())
}

/// From the rename to the notification. Then the list must be the new one's.
fn announced(home: &Home, client: &mut Client, component: &[u8], has: bool, pauses: &mut Pauses) -> Result<Duration> {
    let ready = home.ready(component)?;
    pauses.next();
    client.drain()?;
    let replaced = Instant::now();
    ready.replace(PLUGIN)?;
    let took = client.list_changed()?.duration_since(replaced);
    let tools = client.tools()?;
    ensure!(tools.iter().any(|tool| tool == VERSION) == has, "have the new list after its announcement: {tools:?}");
    Ok(took)
}

/// From the rename to the answer of the first call that the new version answers.
fn served(home: &Home, client: &mut Client, component: &[u8], version: &str, pauses: &mut Pauses) -> Result<Duration> {
    let ready = home.ready(component)?;
    pauses.next();
    ensure!(client.text(VERSION)? != version, "have the old version before the new one comes");
    let replaced = Instant::now();
    ready.replace(PLUGIN)?;
    while client.text(VERSION)? != version {}
    Ok(replaced.elapsed())
}

/// Between two replacements, so that each is one by itself. Of changing length, or a host
/// that looks at regular times would always be met at the same point.
struct Pauses(u64);

impl Pauses {
    fn next(&mut self) {
        self.0 += 1;
        thread::sleep(Duration::from_millis(150 + self.0 * 37 % 100));
    }
}
