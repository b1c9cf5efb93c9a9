//! The effects of hostile plugins: how late they are stopped, how much they delay other plugins,
//! and how much memory they leave behind. Wharf only: the same would end a native server.

pub mod bystander;
pub mod kept;
pub mod kill;

use anyhow::Result;

use crate::Bench;
use crate::bombs;
use crate::home::Home;

/// A home with `echo` and `hostile` hostile plugins, and the number of all their tools.
fn home(bench: &Bench, hostile: usize) -> Result<(Home, usize)> {
    let home = bench.scratch.home()?;
    home.put("echo", &bench.echo)?;
    let bomb = bombs::all();
    for plugin in 0..hostile {
        home.put(&format!("h{plugin}"), &bomb)?;
    }
    Ok((home, 2 + hostile * bombs::TOOLS))
}

/// The public name of a tool of the hostile plugin with that number.
fn tool(plugin: usize, tool: &str) -> String {
    format!("h{plugin}_{tool}")
}
