//! `wharf store`: what servers keep together, and the plugins that they get from there.

mod migrate;
mod publish;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Subcommand;

use super::options::Options;
use super::shared;
use crate::config::Config;
use crate::report::{Failure, Screen};
use crate::store::Place;

#[derive(Subcommand)]
pub(super) enum StoreCommand {
    /// Copy what servers keep to the store of this configuration: tasks, pins and revocations, decisions and used answers,
    /// proposals, values of plugins. All servers of both places must be stopped
    Migrate {
        /// The configuration with the store that it is in [default: the files of this machine]
        #[arg(long, value_name = "FILE")]
        from: Option<PathBuf>,
    },
    /// Put the plugins and skills of a folder into the store, in place of those that are there: asks about versions
    /// that are not approved, and shows what is different
    Publish {
        /// Folder of .wasm files [default: as for serve]
        dir: Option<PathBuf>,
        /// Skip both questions
        #[arg(long)]
        yes: bool,
    },
    /// Make a folder equal to what is published in the store
    Pull {
        /// The folder, which is empty at first [default: as for serve]
        dir: Option<PathBuf>,
        /// Go on: each time a set is published
        #[arg(long)]
        follow: bool,
    },
}

pub(super) async fn run(options: &Options, command: StoreCommand, screen: &Screen) -> Result<ExitCode, Failure> {
    match command {
        StoreCommand::Migrate { from } => migrate::run(options, from.as_deref(), screen).await,
        StoreCommand::Publish { dir, yes } => publish::publish(options, dir, yes, screen).await,
        StoreCommand::Pull { dir, follow } => publish::pull(options, dir, follow).await,
    }
}

fn place(config: &Config) -> Result<Place, Failure> {
    shared::place(config)?.ok_or_else(|| Failure::usage("find what is kept: no home folder"))
}
