//! Opens the audit log for a server; `wharf audit verify` and `show`.

mod filter;
mod lines;
mod show;
mod table;

use std::io::{self, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Subcommand;
use wharf_report::{ShowPath as _, shell_word};

use super::options::Options;
use crate::audit::{self, Audit, AuditWriter, Event, Record, Verified};
use crate::catalog::{FolderEvent, plugin_of};
use crate::config::Config;
use crate::os::files::{self, Links};
use crate::plugin::{Digest, PluginId};
use crate::report::{self, Failure};
use crate::text::quote;

/// Time limit for writing the last records.
pub(super) const CLOSING: Duration = Duration::from_secs(1);

#[derive(Subcommand)]
pub(super) enum AuditCommand {
    /// Verify the hash chain: no record changed, removed, added or moved
    Verify {
        /// Log files, each verified separately [default: the configured log and its rotated files]
        #[arg(value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// Show its records: who did what, by which rule, and who was refused
    Show(Box<show::ShowOptions>),
}

/// An open log; without a writer, nothing is recorded.
pub(super) type Log = (Audit, Option<AuditWriter>);

/// Opens the configured log.
pub(super) fn open(config: &Config) -> Result<Log, Failure> {
    if config.audit.enabled == Some(false) {
        return Ok((Audit::default(), None));
    }
    let mut repair = String::new();
    let opened = match config.audit() {
        Some(settings) => Audit::open(settings).map_err(|error| {
            if let Some((command, path)) = error.repair() {
                repair = format!("run: {command} {}; or ", shell_word(path));
            }
            error.to_string()
        }),
        None => Err("open the audit log: no home folder".to_owned()),
    };
    match opened {
        Ok((audit, writer)) => Ok((audit, Some(writer))),
        Err(why) if config.audit.enabled.is_some() => {
            Err(Failure::new(why).hint(format!("{repair}to run without it, put `enabled = false` under [audit]")))
        }
        Err(why) => {
            let hint =
                "fix that, or put `enabled = false` under [audit]; with `enabled = true` the server would not start";
            tracing::warn!(hint, "calls are not audited: failed to {why}");
            Ok((Audit::default(), None))
        }
    }
}

/// The record of an event in the plugin folder.
pub(super) fn folder_record(event: &FolderEvent) -> Option<Record> {
    let of = |event, id: &PluginId| Record { plugin: Some(id.to_string()), ..Record::new(event) };
    Some(match event {
        FolderEvent::Loaded { id, digest, swapped, .. } => {
            Record { content: Some(*digest.as_bytes()), ..of(if *swapped { Event::Swap } else { Event::Load }, id) }
        }
        FolderEvent::Held(held) => Record {
            content: Some(*held.decision.content.as_bytes()),
            reason: Some(Record::capped(&held.decision.refusal())),
            ..of(Event::Hold, &held.decision.plugin)
        },
        FolderEvent::Reconfigured(id) => of(Event::Reconfigure, id),
        FolderEvent::Removed(id) => of(Event::Remove, id),
        FolderEvent::Refused(refusal) => Record {
            plugin: plugin_of(&refusal.path).and_then(Result::ok).map(|id| id.to_string()),
            reason: Some(Record::capped(&format!("{}: {}", refusal.reason, refusal.path.shown()))),
            ..Record::new(Event::Reject)
        },
        FolderEvent::Found(_)
        | FolderEvent::Loading(_)
        | FolderEvent::FirstScanDone
        | FolderEvent::Admitted(_)
        | FolderEvent::Unchanged(_)
        | FolderEvent::Warned(_) => return None,
    })
}

/// Records a decision on a version. The log is opened before the decision, with space reserved if it is
/// required, so that no decision is made that cannot be recorded.
///
/// # Errors
/// If it is not recorded although it must be.
pub(super) fn decided(log: Log, config: &Config, event: Event, id: &PluginId, content: Digest) -> Result<(), Failure> {
    let content = Some(*content.as_bytes());
    let record = Record { plugin: Some(id.to_string()), content, ..Record::new(event) };
    recorded(log, config, &record, id.as_ref())
}

/// Records a decision on what is named so.
///
/// # Errors
/// If it is not recorded although it must be.
pub(super) fn recorded((audit, writer): Log, config: &Config, record: &Record, name: &str) -> Result<(), Failure> {
    audit.record(record);
    let recorded = writer.is_none_or(|writer| writer.close(CLOSING));
    if recorded || config.audit.enabled != Some(true) {
        return Ok(());
    }
    let hint = format!("the decision is in effect, but the log has no '{}' record of it", record.event.name());
    Err(Failure::new(format!("write to the audit log: {name}")).hint(hint))
}

pub(super) fn run(options: &Options, command: AuditCommand) -> Result<ExitCode, Failure> {
    let files = match command {
        AuditCommand::Verify { files } => files,
        AuditCommand::Show(show) => return show::run(options, *show),
    };
    let separately = !files.is_empty();
    let files = if separately { files } else { configured_files(options)? };
    let mut intact = true;
    let mut after = None;
    for path in files {
        if separately {
            after = None;
        }
        let found = verify(&path, &mut after)
            .map_err(|error| Failure::usage(format!("read the audit log: {error}: {}", path.shown())))?;
        report::print(&describe(&path, &found))?;
        intact &= found.altered.is_empty();
        if found.broken.is_some() {
            intact = false;
            // The next file does not continue this chain.
            after = None;
        }
    }
    Ok(if intact { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn configured_files(options: &Options) -> Result<Vec<PathBuf>, Failure> {
    let config = options.config()?;
    let settings = config
        .audit()
        .ok_or_else(|| Failure::usage("find the audit log: no home folder").hint("name a file".to_owned()))?;
    let files = audit::generations(&settings.path, settings.files);
    if files.is_empty() {
        let hint = match config.audit.enabled {
            Some(false) => "it is off: `enabled = false` under [audit]",
            _ => "a server creates it when it starts; if another user runs it, name its file",
        };
        let failure = Failure::usage(format!("find the audit log: no such file: {}", settings.path.shown()));
        return Err(failure.hint(hint.to_owned()));
    }
    Ok(files)
}

/// Reads up to the length at the start: the file may grow meanwhile.
fn verify(path: &Path, after: &mut Option<(u64, String)>) -> io::Result<Verified> {
    let (file, found) = files::open(path, Links::Followed)?;
    audit::verify(BufReader::new(file.take(found.len())), after)
}

fn describe(path: &Path, found: &Verified) -> String {
    let plural = if found.records == 1 { "" } else { "s" };
    let mut text = format!("{}: {} record{plural}", path.shown(), found.records);
    match (&found.broken, &found.last) {
        (Some(broken), _) => text += &format!(", broken at line {}: {}", broken.line, broken.why),
        (None, Some((seq, hash))) => text += &format!(", the last is {seq} {hash}"),
        (None, None) => {}
    }
    for (line, how) in &found.altered {
        text += &format!("; altered before line {line}, as a server recorded: {}", quote(how, 200));
    }
    if found.cut > 0 {
        text += &format!("; {} bytes of an incomplete record", found.cut);
    }
    text
}
