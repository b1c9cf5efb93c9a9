//! How soon a host with many plugins is there, and what it weighs then: Wharf only.

use anyhow::Result;

use crate::Bench;
use crate::component::renewed;
use crate::contender::Contender;
use crate::home::Home;
use crate::memory::settled;
use crate::report::{Report, Unit};

const MANY: usize = 100;
const TOOLS_OF_EACH: usize = 2;

/// What is in the folder.
#[derive(Clone, Copy)]
enum Fleet {
    /// One file under many names: its code is compiled once.
    Copies,
    /// As many digests as files: what strangers' plugins are.
    Distinct,
}

impl Fleet {
    fn name(self) -> &'static str {
        match self {
            Self::Copies => "copies of one",
            Self::Distinct => "different ones",
        }
    }

    fn fill(self, home: &Home, component: &[u8]) -> Result<()> {
        for number in 0..MANY {
            let name = format!("p{number:03}");
            match self {
                Self::Copies => home.put(&name, component)?,
                Self::Distinct => home.put(&name, &renewed(component)?)?,
            }
        }
        Ok(())
    }
}

pub fn run(bench: &Bench, report: &mut Report) -> Result<()> {
    for wharf in bench.wharf() {
        for fleet in [Fleet::Copies, Fleet::Distinct] {
            // Each is many compilations.
            for round in 0..bench.options.size(bench.options.rounds, 1) {
                bench.note(&format!("start, {MANY} {}, round {}", fleet.name(), round + 1));
                let home = bench.scratch.home()?;
                fleet.fill(&home, &bench.echo)?;
                once(wharf, &home, fleet, "empty", report)?;
                once(wharf, &home, fleet, "warm", report)?;
            }
        }
    }
    Ok(())
}

fn once(wharf: &Contender, home: &Home, fleet: Fleet, cache: &str, report: &mut Report) -> Result<()> {
    let mut add = |what: &str, unit, figure| {
        report.add(&format!("{MANY} plugins, {}, {cache} cache: {what}", fleet.name()), unit, wharf.name(), figure);
    };
    let mut client = wharf.start(home)?;
    client.tools_until(MANY * TOOLS_OF_EACH)?;
    let listed = client.started.elapsed();
    add("start to `initialize` answered", Unit::Millis, client.answered.as_secs_f64() * 1e3);
    add("start to all tools listed", Unit::Millis, listed.as_secs_f64() * 1e3);
    let memory = settled(client.process.id())?;
    add("RSS", Unit::MiB, memory.resident);
    add("PSS", Unit::MiB, memory.proportional);
    Ok(())
}
