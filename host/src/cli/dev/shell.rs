//! `wharf completions` and `wharf man-pages`: what a shell and `man` know of the commands, for packages.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use clap::Command;
use clap_complete::{Shell, generate};
use clap_mangen::Man;
use wharf_report::ShowPath as _;

use crate::report::{self, Failure};

/// The name of the program, whatever the package is called.
const PROGRAM: &str = "wharf";

pub(super) fn completions(whole: &Command, shell: Shell) -> Result<ExitCode, Failure> {
    // The generators do not leave out what help does not show.
    let shown = whole.get_subcommands().filter(|command| !command.is_hide_set()).cloned();
    let mut shown = Command::new(PROGRAM)
        .version(env!("CARGO_PKG_VERSION"))
        .args(whole.get_arguments().cloned())
        .subcommands(shown);
    let mut script = Vec::new();
    generate(shell, &mut shown, PROGRAM, &mut script);
    report::print(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}

/// Writes one page for each command that help shows.
pub(super) fn man_pages(whole: Command, dir: &Path) -> Result<ExitCode, Failure> {
    fs::create_dir_all(dir).map_err(|error| Failure::new(format!("create {}: {error}", dir.shown())))?;
    let mut command = whole.name(PROGRAM).disable_help_subcommand(true);
    // Gives subcommands their full names.
    command.build();
    pages(command, dir)?;
    Ok(ExitCode::SUCCESS)
}

fn pages(command: Command, dir: &Path) -> Result<(), Failure> {
    for subcommand in command.get_subcommands().filter(|command| !command.is_hide_set()) {
        pages(subcommand.clone(), dir)?;
    }
    let source = format!("Wharf {}", env!("CARGO_PKG_VERSION"));
    // An empty date would not be written at all, and what follows be taken for it. A real one would
    // make the pages of each day different.
    let page = Man::new(command).date(" ").source(source).manual("Wharf");
    let file = dir.join(page.get_filename());
    let mut text = Vec::new();
    page.render(&mut text)
        .and_then(|()| fs::write(&file, text))
        .map_err(|error| Failure::new(format!("write {}: {error}", file.shown())))
}
