//! What hostile plugins cost: how late they are stopped, what their neighbours notice, and what
//! stays behind: Wharf only, since nothing of this can be done to the tools of a native server
//! without ending it.

pub mod bystander;
pub mod kept;
pub mod kill;

use anyhow::Result;

use crate::Bench;
use crate::bombs;
use crate::home::Home;

/// A home with `echo` and so many hostile plugins, and how many tools all have.
fn home(bench: &Bench, hostile: usize) -> Result<(Home, usize)> {
    let home = bench.scratch.home()?;
    home.put("echo", &bench.echo)?;
    let bomb = bombs::all();
    for plugin in 0..hostile {
        home.put(&format!("h{plugin}"), &bomb)?;
    }
    Ok((home, 2 + hostile * bombs::TOOLS))
}

/// What clients call a tool of one of them.
fn tool(plugin: usize, tool: &str) -> String {
    format!("h{plugin}_{tool}")
}
