//! `wharf store migrate`: moves what servers keep.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;

use wharf_report::{ShowPath as _, warning};

use super::place;
use crate::approvals::Approvals;
use crate::cli::options::Options;
use crate::config::{self, Config, StoreConfig};
use crate::migration::{Entries, Machine, MigrationError, Moved, Progress, Shared, migrate};
use crate::pins::PinFile;
use crate::plugin::KeyvalueFile;
use crate::proposals::Proposals;
use crate::report::{self, Failure, NAME, Screen};
use crate::store::{Place, now};

pub(super) async fn run(options: &Options, from: Option<&Path>, screen: &Screen) -> Result<ExitCode, Failure> {
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
    let [old_entries, new_entries] = [entries(&places[0])?, entries(&places[1])?];
    report::message(&format!("copying from {from} to {to}"));
    let progress = Progress::default();
    let moving = migrate(&*old_entries, &*new_entries, &from, now(), &progress);
    let moved = screen.followed(|| progress.to_string(), moving).await;
    let moved = moved.map_err(|error| failure(&error, &from, &to, places[1].is_shared()))?;
    report::print(&shown(&moved, &from, &to))?;
    if moved.left > 0 {
        warning(&format!(
            "what only several nodes have in common stays behind, {} in all: keys of request states, what users spend, published plugins",
            moved.left
        ));
    }
    Ok(ExitCode::SUCCESS)
}

/// What the servers of a configuration keep.
fn entries(place: &Place) -> Result<Box<dyn Entries>, Failure> {
    let store = Shared::new(place.open());
    if place.is_shared() {
        return Ok(Box::new(store));
    }
    let base = config::base().ok_or_else(|| Failure::usage("find what is kept: no home folder"))?;
    Ok(Box::new(Machine {
        pins: PinFile::new(base.state.clone()),
        approvals: Approvals::in_folder(base.state.clone()),
        proposals: Proposals::in_folder(base.state.clone()),
        values: KeyvalueFile::new(base.store),
        tasks: store,
        folder: base.state,
        held: Mutex::default(),
    }))
}

fn failure(error: &MigrationError, from: &str, to: &str, is_shared: bool) -> Failure {
    let again = "then run the command again: it goes on where it was";
    let hint = match error {
        MigrationError::Old(_) | MigrationError::New(_) => format!("mend what the error names, {again}"),
        MigrationError::Used { is_new } => {
            let place = if *is_new { to } else { from };
            format!(
                "stop all servers and other copies that use {place}; a server that was killed counts for six seconds, a copy for a minute"
            )
        }
        MigrationError::Conflicts(..) => format!("nothing was changed; {}", emptied(to, is_shared)),
        MigrationError::Nothing => format!("look at store.url of the old place: {from}"),
        MigrationError::Unfinished(_) => {
            "nothing was changed; finish that copy first, or name the place that it is of".to_owned()
        }
        MigrationError::Begun(_) => format!("nothing was changed; finish that copy, or empty {to}"),
        MigrationError::Changed => format!("stop all servers that use {from}, {again}"),
    };
    Failure::new(error.to_string()).hint(hint)
}

/// What to do where something else is.
fn emptied(to: &str, is_shared: bool) -> String {
    match config::base().filter(|_| !is_shared) {
        None => format!("take an empty database or bucket in place of {to}"),
        Some(base) => {
            let (state, values) = (base.state.shown(), base.store.shown());
            let files = "lock.toml, approvals.json and proposals.json";
            format!("move what this machine has out of the way: {to}, {values}, and in {state} the files {files}")
        }
    }
}

/// A table.
fn shown(moved: &Moved, from: &str, to: &str) -> String {
    let Moved { tasks, values, approvals, pins, proposals, other, left: _ } = moved;
    let document = |count: &u64| if *count > 0 { "copied" } else { "none" }.to_owned();
    let rows = [
        ("tasks", tasks.to_string()),
        ("values of plugins", values.to_string()),
        ("pins, revocations", document(pins)),
        ("decisions, answers", document(approvals)),
        ("proposals", document(proposals)),
        ("other entries", other.to_string()),
    ];
    let rows: String = rows.iter().map(|(name, count)| format!("  {name:<18}  {count}\n")).collect();
    format!("copied to {NAME}{to}{NAME:#}\n{rows}{from} is as it was\n")
}
