//! `wharf grant` and `wharf ungrant`: edit a plugin's grants in the configuration file.

mod words;

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use wharf_report::{ShowPath as _, shell_text, shell_word, warning};

use super::confirm::{ask, confirm};
use super::diff::diff;
use super::folder::is_file;
use super::options::Options;
use super::shown::replaced;
use super::survey::choice_in;
use super::target::Target;
use super::wiring::{lock, lock_failure, lock_of_state};
use super::{absent, audit};
use crate::audit::Event;
use crate::config::{Config, ConfigError, GrantWord, add_grants, base, remove_grants};
use crate::os::private;
use crate::pins::{Pin, PinFile, Pins};
use crate::plugin::{Digest, PluginId, Provider, read_component};
use crate::report::{self, Failure, NAME};
use crate::text::printable;
use words::{Words, warn_of_name};

#[derive(Args)]
pub(super) struct Arguments {
    /// The plugin's name: its file name without .wasm; or its file
    name: String,
    /// The folder of the plugin, to check its name, and the grants: keyvalue, keyvalue=4MiB,
    /// http=https://api.example.com, read=PATH, write=PATH or read=PATH:/as/seen/by/the/plugin,
    /// env=KEY=VALUE, config=KEY=VALUE, secrets=NAME, elicit, sample, roots, change-lists; for http and fs
    /// also a TOML table, as in the configuration
    #[arg(required = true, value_name = "[FOLDER] GRANT")]
    words: Vec<String>,
    /// Skip the confirmation
    #[arg(long)]
    yes: bool,
}

/// Whether grants are added or removed.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Edit {
    Add,
    Remove,
}

impl Edit {
    fn command(self) -> &'static str {
        match self {
            Self::Add => "grant",
            Self::Remove => "ungrant",
        }
    }
}

/// Lets no other command of this user change a configuration; until the file is dropped.
pub(super) fn lock_configuration() -> Result<Option<File>, Failure> {
    lock_of_state("configuration.lock", "the configuration")
}

pub(super) fn run(options: &Options, arguments: &Arguments, edit: Edit) -> Result<ExitCode, Failure> {
    let command = format!("{} {}", options.program(), edit.command());
    // If it is not valid, that is said where it is changed.
    let named_in = options.config().unwrap_or_default();
    let Words { target: Target { id, folder }, grants } =
        Words::read(&named_in, &command, &arguments.name, &arguments.words)?;
    // Held until the file is written, so that no other change is lost. A person may think for long.
    let _lock = arguments.yes.then(lock_configuration).transpose()?;
    let change = Change::prepare(options, &id, &grants, edit)?;
    if change.new == change.old {
        report::message(&format!("{NAME}{id}{NAME:#} has these grants already, in {}", change.path.shown()));
        return Ok(ExitCode::SUCCESS);
    }
    warn_of_name(&change.before, &id, folder.as_deref());
    change.show();
    if edit == Edit::Add {
        change.warn(options, &id, folder.as_deref());
    }
    change.report_reach(&id);
    let extension = change.extension(&id, edit)?;
    confirm(&format!("Write this change of the grants of {id}?"), arguments.yes)?;
    let _lock = (!arguments.yes).then(lock_configuration).transpose()?;
    change.write(&id, extension)?;
    Ok(ExitCode::SUCCESS)
}

/// Offers the person at the terminal to add grants that a call of a plugin in `folder`, or that file, lacked. Returns
/// whether they were added; `None` if the configuration has them. They are for the version that was denied.
pub(super) async fn offer(
    options: &Options,
    denied: &dyn Provider,
    folder: &Path,
    words: &[String],
) -> Result<Option<bool>, Failure> {
    let id = denied.id();
    let change = Change::prepare(options, id, &parsed(words), Edit::Add)?;
    if change.new == change.old {
        return Ok(None);
    }
    report_missing(id, words);
    change.show();
    change.warn(options, id, Some(folder));
    change.report_reach(id);
    let extension = change.extension(id, Edit::Add)?;
    if !ask(&format!("Grant this to {id}, and call again?"))? {
        return Ok(Some(false));
    }
    let _lock = lock_configuration()?;
    expect_file(&change.before, denied, folder).await?;
    change.write(id, extension)?;
    Ok(Some(true))
}

/// Fails if the file of a plugin, in a folder or itself, no longer has its content.
async fn expect_file(config: &Config, denied: &dyn Provider, path: &Path) -> Result<(), Failure> {
    let id = denied.id();
    let failed = |what: String| {
        Failure::new(format!("grant {id} what it was denied: since the question, {what}; nothing was granted"))
            .hint("make the call again to look at it".to_owned())
    };
    let in_folder = || Some(choice_in(config, path).ok()?.get(id)?.to_owned());
    let file = if is_file(path) { Some(path.to_owned()) } else { in_folder() };
    let file = file.ok_or_else(|| failed("its file was removed".to_owned()))?;
    let component = read_component(&file).await.map_err(|error| failed(format!("its file cannot be read: {error}")))?;
    let now = Digest::of(&component);
    if now == *denied.digest() { Ok(()) } else { Err(failed(replaced(now))) }
}

/// Reports once which grants a call lacked, or could not use: `is_in_result` if the result has it. Returns what to do.
pub(super) fn explain(
    options: &Options,
    id: &PluginId,
    path: &Path,
    (missing, unusable): (&[String], &[String]),
    is_in_result: bool,
) -> Option<String> {
    if !missing.is_empty() {
        if !is_in_result {
            report_missing(id, missing);
        }
        return Some(advice(options, id, path, missing));
    }
    let unusable = (!unusable.is_empty()).then(|| unusable.join("; "))?;
    if is_in_result {
        return Some(unusable);
    }
    warning(&format!("access of {id} denied: {unusable}"));
    None
}

/// The same for a request whose failure is an error of the protocol, which says that access was denied.
pub(super) fn explain_failure(options: &Options, provider: &dyn Provider, path: &Path, failure: Failure) -> Failure {
    let (missing, unusable) = (provider.missing_grants(), provider.unusable_grants());
    match explain(options, provider.id(), path, (&missing, &unusable), true) {
        Some(advice) => failure.hint(advice),
        None => failure,
    }
}

/// Logs which grants a call lacked.
fn report_missing(id: &PluginId, words: &[String]) {
    let names: BTreeSet<&str> = words.iter().filter_map(|word| word.split('=').next()).collect();
    warning(&format!("access of {id} denied: missing grant {}", names.into_iter().collect::<Vec<_>>().join(", ")));
}

/// How to add grants that a call lacked: what to write, and the command that does. `path` is what the call loaded: with
/// the folder in it, the command checks the name.
pub(super) fn advice(options: &Options, id: &PluginId, path: &Path, words: &[String]) -> String {
    let folder = shell_word(super::folder::folder_at(path));
    let own: Vec<String> = words.iter().map(|word| shell_text(word)).collect();
    let run = format!("run: {} grant {id} {folder} {}", options.program(), own.join(" "));
    let Ok(change) = Change::prepare(options, id, &parsed(words), Edit::Add) else { return run };
    // Another plugin may have the same line.
    let count = |text: &str, line: &str| text.lines().filter(|other| *other == line).count();
    let is_new =
        |line: &&str| !line.is_empty() && !line.starts_with('[') && count(&change.new, line) > count(&change.old, line);
    let lines: BTreeSet<&str> = change.new.lines().filter(is_new).collect();
    let lines: Vec<String> = lines.into_iter().map(|line| format!("`{}`", line.trim())).collect();
    if lines.is_empty() {
        run
    } else {
        format!("put {} {}, or {run}", lines.join(" and "), change.after.grants(id).place)
    }
}

fn parsed(words: &[String]) -> Vec<GrantWord> {
    words.iter().filter_map(|word| GrantWord::parse(word).ok()).collect()
}

/// A change of the configuration file.
struct Change {
    path: PathBuf,
    old: String,
    new: String,
    before: Config,
    after: Config,
}

impl Change {
    fn prepare(options: &Options, id: &PluginId, words: &[GrantWord], edit: Edit) -> Result<Self, Failure> {
        let path = configuration_file(options)?;
        let old = Config::text(&path).map_err(invalid)?;
        let before = Config::with_text(&path, old.clone()).map_err(invalid)?;
        let edited = match edit {
            Edit::Add => add_grants(&old, id, words),
            Edit::Remove => remove_grants(&old, id, words),
        };
        let new = edited.map_err(|error| {
            Failure::usage(format!("change the grants: {}", error.reason())).hint(error.hint_with(&path))
        })?;
        let after = Config::with_text(&path, new.clone()).map_err(invalid)?;
        Ok(Self { path, old, new, before, after })
    }

    fn show(&self) {
        report::message(&format!("in {}:\n{}", self.path.shown(), diff(&self.old, &self.new)));
    }

    /// Reports which new entries allow access to addresses that are not public, or changes of the system.
    fn report_reach(&self, id: &PluginId) {
        let (before, after) = (self.before.grants(id), self.after.grants(id));
        for entry in after.http.iter().filter(|entry| !before.http.contains(entry)) {
            if let Some(reach) = entry.reach() {
                report::message(&format!("{NAME}{entry}{NAME:#} allows access to {reach}"));
            }
        }
        for folder in after.folders.iter().filter(|folder| !before.folders.contains(folder)) {
            if let Some(reach) = folder.reach() {
                report::message(&format!("{NAME}{folder}{NAME:#} allows changes of {reach}"));
            }
        }
    }

    /// Warns of grants that have no effect. `folder` has the plugin, if it is known.
    fn warn(&self, options: &Options, id: &PluginId, folder: Option<&Path>) {
        let plugins: Vec<PathBuf> = folder.map(PathBuf::from).into_iter().collect();
        let protected = options.protected(&self.after, &plugins, base().as_ref());
        let grants = self.after.grants(id);
        absent::grants(id, &grants, &protected).iter().for_each(|text| warning(text));
        let extras: Vec<String> =
            grants.extras.all().iter().map(|extra| format!("'{}'", printable(&extra.name))).collect();
        if !extras.is_empty() {
            let extras = extras.join(", ");
            report::message(&format!("this is for all callers; {extras} of [[plugins.{id}.extra]] stay as they are"));
        }
    }

    /// The approval that holds and that the change extends: the person is shown it with the grants.
    fn extension(&self, id: &PluginId, edit: Edit) -> Result<Option<Extension>, Failure> {
        let (before, grants) = (self.before.grants(id).texts(), self.after.grants(id).texts());
        let Some(lock) = (edit == Edit::Add).then(|| lock(&self.after).ok()).flatten() else { return Ok(None) };
        let holds = |approved: &BTreeSet<String>| before.is_subset(approved) && !grants.is_subset(approved);
        let seen = lock.read().map_err(lock_failure)?;
        let is_extended = |pin: &&Pin| !seen.is_revoked(pin.content) && pin.approved_grants.as_ref().is_some_and(holds);
        let Some(content) = seen.get(id).filter(is_extended).map(|pin| pin.content) else { return Ok(None) };
        report::message(&format!("the approval of {id} blake3:{}… is extended by this", content.short()));
        Ok(Some(Extension { lock, seen, content, grants }))
    }

    fn write(&self, id: &PluginId, extension: Option<Extension>) -> Result<(), Failure> {
        let Self { path, old, new, after, .. } = self;
        check_unchanged(path, old)?;
        if let Some(extension) = extension {
            extension.write(after, id)?;
        }
        private::replace_text(path, new)
            .map_err(|error| Failure::new(format!("write the configuration: {error}: {}", path.shown())))?;
        report::message(&format!(
            "changed the grants of {NAME}{id}{NAME:#}; a running server with this configuration applies them within a second"
        ));
        Ok(())
    }
}

/// The configuration file, whether or not it exists.
pub(super) fn configuration_file(options: &Options) -> Result<PathBuf, Failure> {
    match &options.config {
        Some(path) => Ok(path.clone()),
        None => base().map(|base| base.default_file()).ok_or_else(|| {
            Failure::usage("find the configuration file: no home folder").hint("add --config FILE".to_owned())
        }),
    }
}

/// Whether the file is as a person was shown it; under its lock.
///
/// # Errors
/// If it is not, or cannot be read.
pub(super) fn check_unchanged(path: &Path, shown: &str) -> Result<(), Failure> {
    if Config::text(path).map_err(invalid)? == shown {
        return Ok(());
    }
    Err(Failure::new(format!("change the configuration, which changed meanwhile: {}", path.shown()))
        .hint("run the command again".to_owned()))
}

pub(super) fn invalid(error: ConfigError) -> Failure {
    Failure::usage(error.to_string()).hint(error.hint)
}

/// An approval that a change of grants extends.
struct Extension {
    lock: PinFile,
    /// The pins at the time of the question.
    seen: Pins,
    content: Digest,
    grants: BTreeSet<String>,
}

impl Extension {
    fn write(self, config: &Config, id: &PluginId) -> Result<(), Failure> {
        let Self { lock, seen, content, grants } = self;
        let log = audit::open(config)?;
        let written = lock.extend_approval(id, content, &grants, &seen).map_err(lock_failure)?;
        written.map_err(|change| {
            let what = format!("extend the approval of {id}: since the question, {change}; nothing was granted");
            Failure::new(what).hint("run the command again to look at it".to_owned())
        })?;
        audit::decided(log, config, Event::Approve, id, content)
    }
}
