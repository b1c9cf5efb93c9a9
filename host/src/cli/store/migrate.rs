//! `wharf store migrate`: moves what servers keep.

use std::path::Path;
use std::process::ExitCode;

use wharf_report::warning;

use super::place;
use crate::cli::options::Options;
use crate::cli::shared;
use crate::config::{self, Config, StoreConfig};
use crate::migration::{Entries, Machine, MigrationError, Moved, migrate};
use crate::plugin::KeyvalueFile;
use crate::report::{self, Failure, NAME};
use crate::store::{Place, now};

pub(super) async fn run(options: &Options, from: Option<&Path>) -> Result<ExitCode, Failure> {
    let new = options.config()?;
    let old = match from {
        Some(file) => Config::read(file).map_err(|error| Failure::usage(error.to_string()).hint(error.hint))?,
        None => Config { store: StoreConfig::default(), ..new.clone() },
    };
    let places = [place(&old)?, place(&new)?];
    let [from, to] = places.each_ref().map(ToString::to_string);
    if from == to {
        let hint = "set store.url in the configuration to the new place, or name the configuration of the old one: --from FILE";
        return Err(Failure::usage(format!("move what is kept to where it is: {from}")).hint(hint.to_owned()));
    }
    let [old_entries, new_entries] = [entries(&old, &places[0])?, entries(&new, &places[1])?];
    let moved = migrate(&*old_entries, &*new_entries, &from, now()).await;
    let moved = moved.map_err(|error| failure(&error, &from, &to))?;
    report::print(&shown(&moved, &from, &to))?;
    if moved.left > 0 {
        warning(&format!(
            "{} entries stay behind, which only several nodes have in common: keys of request states, what users spend, and published plugins",
            moved.left
        ));
    }
    Ok(ExitCode::SUCCESS)
}

/// What the servers of a configuration keep.
fn entries(config: &Config, place: &Place) -> Result<Box<dyn Entries>, Failure> {
    let store = place.open();
    if place.is_shared() {
        return Ok(Box::new(store));
    }
    let no_home = || Failure::usage("find what is kept: no home folder");
    Ok(Box::new(Machine {
        pins: shared::pins(config)?.ok_or_else(no_home)?,
        approvals: shared::approvals(config)?,
        proposals: shared::proposals(config)?.ok_or_else(no_home)?,
        values: KeyvalueFile::new(config::base().ok_or_else(no_home)?.store),
        tasks: store,
    }))
}

fn failure(error: &MigrationError, from: &str, to: &str) -> Failure {
    let again = "then run the command again: it goes on where it was";
    let hint = match error {
        MigrationError::Old(_) => format!("repair {from}, {again}"),
        MigrationError::New(_) => format!("repair {to}, {again}"),
        MigrationError::Used { is_new } => {
            let place = if *is_new { to } else { from };
            format!("stop all servers that use {place}; one that was killed counts as running for six seconds more")
        }
        MigrationError::Conflicts(..) => format!("nothing was changed; take an empty store in place of {to}"),
        MigrationError::Begun(_) => format!("nothing was changed; finish that copy, or empty {to}"),
        MigrationError::Changed => format!("stop all servers that use {from}, {again}"),
    };
    Failure::new(error.to_string()).hint(hint)
}

/// A table.
fn shown(moved: &Moved, from: &str, to: &str) -> String {
    let Moved { tasks, values, approvals, pins, proposals, other, left: _ } = moved;
    let rows = [
        ("tasks", tasks),
        ("values of plugins", values),
        ("pins", pins),
        ("approvals", approvals),
        ("proposals", proposals),
        ("other", other),
    ];
    let rows: String = rows.iter().map(|(name, count)| format!("  {name:<17}  {count}\n")).collect();
    format!("copied to {NAME}{to}{NAME:#}\n{rows}{from} is as it was\n")
}
