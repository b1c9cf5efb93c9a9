//! The start time and memory of a host with many plugins. Wharf only.

use anyhow::Result;

use crate::Bench;
use crate::component::with_new_digest;
use crate::contender::Contender;
use crate::home::Home;
use crate::memory::settled;
use crate::report::{Report, Unit};

const TOOLS_OF_EACH: usize = 2;

/// The content of the plugin folder.
#[derive(Clone, Copy)]
enum Fleet {
    /// One file under many names: compiled once.
    Copies,
    /// As many digests as files.
    Distinct,
}

impl Fleet {
    fn name(self) -> &'static str {
        match self {
            Self::Copies => "identical",
            Self::Distinct => "distinct",
        }
    }

    fn fill(self, home: &Home, component: &[u8], many: usize) -> Result<()> {
        for number in 0..many {
            let name = format!("p{number:03}");
            match self {
                Self::Copies => home.put(&name, component)?,
                Self::Distinct => home.put(&name, &with_new_digest(component)?)?,
            }
        }
        Ok(())
    }
}

pub fn run(bench: &Bench, report: &mut Report) -> Result<()> {
    let many = bench.options.size(100, 10);
    for wharf in bench.wharf() {
        for fleet in [Fleet::Copies, Fleet::Distinct] {
            // One round with --quick: each compiles many components.
            for round in 0..bench.options.size(bench.options.rounds, 1) {
                bench.progress(&format!("start, {many} {}, round {}", fleet.name(), round + 1));
                let home = bench.scratch.home()?;
                fleet.fill(&home, &bench.echo, many)?;
                for cache in ["empty", "warm"] {
                    let row = format!("{many} plugins, {}, {cache} cache", fleet.name());
                    once(wharf, &home, many, &row, report)?;
                }
            }
        }
    }
    Ok(())
}

fn once(wharf: &Contender, home: &Home, many: usize, row: &str, report: &mut Report) -> Result<()> {
    let mut add = |what: &str, unit, figure| {
        report.add(&format!("{row}: {what}"), unit, wharf.name(), figure);
    };
    let mut client = wharf.start(home)?;
    client.tools_until(many * TOOLS_OF_EACH)?;
    let listed = client.started.elapsed();
    add("start to `initialize` answered", Unit::Millis, client.answered.as_secs_f64() * 1e3);
    add("start to all tools listed", Unit::Millis, listed.as_secs_f64() * 1e3);
    let memory = settled(client.process.id())?;
    add("RSS", Unit::MiB, memory.resident);
    add("PSS", Unit::MiB, memory.proportional);
    Ok(())
}
