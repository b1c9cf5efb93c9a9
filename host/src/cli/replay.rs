//! `wharf replay`: a recorded call again, with the recorded version of its plugin or another one.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::options::Options;
use super::recordings::{Components, Within, differences, read, summary, to_json};
use crate::report::{self, Failure, Screen};
use crate::text::escape_hidden_in_json;

#[derive(Args)]
pub(super) struct ReplayOptions {
    /// The recording
    file: PathBuf,
    /// The component to run [default: the recorded version, from the plugin folder]
    #[arg(long, value_name = "WASM")]
    with: Option<PathBuf>,
    /// The plugin folder in which the recorded version is [default: as for serve]
    #[arg(long, value_name = "DIR", conflicts_with = "with")]
    dir: Option<PathBuf>,
    #[command(flatten)]
    within: Within,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(options: &Options, how: ReplayOptions, screen: &Screen) -> Result<ExitCode, Failure> {
    let calls = read(&how.file)?;
    let mut components = Components::new(options, how.with, None, how.dir).await?.within(&how.within);
    let (mut is_same, mut shown) = (true, Vec::new());
    for recorded in &calls {
        let replaying = components.replay(recorded);
        let replayed = screen.timed(&format!("replaying {}", recorded.input.plugin), replaying).await?;
        is_same &= replayed.is_same();
        if how.json {
            shown.push(to_json(recorded, &replayed));
        } else {
            let lines = std::iter::once(summary(recorded, &replayed)).chain(differences(&replayed));
            report::print(&lines.collect::<Vec<_>>().join("\n"))?;
        }
    }
    if how.json {
        report::print(&escape_hidden_in_json(&json!({"same": is_same, "calls": shown}).to_string()))?;
    }
    Ok(if is_same { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
