//! `wharf grant` and `wharf ungrant`: edit a plugin's grants in the configuration file.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use wharf_report::{ShowPath as _, shell_word, warning};

use super::approve::plugin;
use super::confirm::{ask, confirm};
use super::diff::diff;
use super::folder::is_file;
use super::options::Options;
use super::shown::replaced;
use super::survey::choice_in;
use super::wiring::{is_component, lock, lock_failure};
use super::{absent, audit};
use crate::audit::Event;
use crate::config::{Config, ConfigError, GrantWord, add_grants, base, remove_grants};
use crate::os::lock::lock as file_lock;
use crate::os::private::{self, OpenMode};
use crate::pins::{Pin, PinFile, Pins};
use crate::plugin::{Digest, PluginId, Provider, read_component};
use crate::protocol::nearest::did_you_mean;
use crate::report::{self, Failure, NAME};

#[derive(Args)]
pub(super) struct Arguments {
    /// The plugin's name: its file name without .wasm
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

/// How long a command waits for others that change a configuration.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// Lets no other command of this user change a configuration; until the file is dropped.
fn lock_configuration() -> Result<Option<File>, Failure> {
    let Some(base) = base() else { return Ok(None) };
    let path = base.state.join("configuration.lock");
    let failed = |error: io::Error| Failure::new(format!("lock the configuration: {error}: {}", path.shown()));
    match private::create_folder(&base.state) {
        // Without a home, as in an image, nobody else is there either.
        Err(error) if matches!(error.kind(), io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied) => {
            return Ok(None);
        }
        created => created.map_err(failed)?,
    }
    let (file, _) = private::open(&path, OpenMode::Lock).map_err(|error| failed(error.into()))?;
    file_lock(&file, LOCK_TIMEOUT).map_err(failed)?;
    Ok(Some(file))
}

/// The words of a command that begins with a path instead of the plugin's name, in their order.
fn in_order(arguments: &Arguments) -> Option<Vec<String>> {
    let path = Path::new(&arguments.name);
    let words = &arguments.words;
    let rest = |id: PluginId, folder: &Path, grants: &[String]| {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let first = [id.to_string(), folder.to_string_lossy().into_owned()];
        first.into_iter().chain(grants.iter().cloned()).collect()
    };
    if path.components().count() > 1 && is_component(path) {
        let id = plugin(path.file_stem()?.to_str()?).ok()?;
        return Some(rest(id, path.parent()?, words));
    }
    let [first, grants @ ..] = words.as_slice() else { return None };
    let is_name = !grants.is_empty() && !GrantWord::is_meant(first) && !Path::new(first).is_dir();
    if !path.is_dir() || !is_name {
        return None;
    }
    Some(rest(plugin(first).ok()?, path, grants))
}

pub(super) fn run(options: &Options, arguments: &Arguments, edit: Edit) -> Result<ExitCode, Failure> {
    if let Some(words) = in_order(arguments) {
        let words: Vec<String> = words.iter().map(|word| shell_word(word.as_ref())).collect();
        let command = format!("{} {} {}", options.program(), edit.command(), words.join(" "));
        return Err(Failure::usage(format!("read the plugin's name: {:?} is a path", arguments.name))
            .hint(format!("write the name first, then the folder: {command}")));
    }
    let id = plugin(&arguments.name)?;
    let (folder, words) = split(&arguments.words)?;
    // Held until the file is written, so that no other change is lost. A person may think for long.
    let _lock = arguments.yes.then(lock_configuration).transpose()?;
    let change = Change::prepare(options, &id, &words, edit)?;
    if change.new == change.old {
        report::message(&format!("{NAME}{id}{NAME:#} has these grants already, in {}", change.path.shown()));
        return Ok(ExitCode::SUCCESS);
    }
    warn_of_name(&change.before, &id, folder);
    change.show();
    if edit == Edit::Add {
        change.warn(options, &id, folder);
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
    let own: Vec<String> = words.iter().map(|word| shell_word(word.as_ref())).collect();
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
        let path = match &options.config {
            Some(path) => path.clone(),
            None => base().map(|base| base.default_file()).ok_or_else(|| {
                Failure::usage("find the configuration file: no home folder").hint("add --config FILE".to_owned())
            })?,
        };
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

    /// Reports which new entries allow access to addresses that are not public.
    fn report_reach(&self, id: &PluginId) {
        let before = self.before.grants(id).http;
        for entry in self.after.grants(id).http.iter().filter(|entry| !before.contains(entry)) {
            if let Some(reach) = entry.reach() {
                report::message(&format!("{NAME}{entry}{NAME:#} allows access to {reach}"));
            }
        }
    }

    /// Warns of grants that have no effect. `folder` has the plugin, if it is known.
    fn warn(&self, options: &Options, id: &PluginId, folder: Option<&Path>) {
        let plugins: Vec<PathBuf> = folder.map(PathBuf::from).into_iter().collect();
        let protected = options.protected(&self.after, &plugins, base().as_ref());
        absent::grants(id, &self.after.grants(id), &protected).iter().for_each(|text| warning(text));
    }

    /// The approval that holds and that the change extends: the person is shown it with the grants.
    fn extension(&self, id: &PluginId, edit: Edit) -> Result<Option<Extension>, Failure> {
        let (before, grants) = (self.before.grants(id).texts(), self.after.grants(id).texts());
        let Some(lock) = (edit == Edit::Add).then(|| lock().ok()).flatten() else { return Ok(None) };
        let holds = |approved: &BTreeSet<String>| before.is_subset(approved) && !grants.is_subset(approved);
        let seen = lock.read().map_err(lock_failure)?;
        let is_extended = |pin: &&Pin| !seen.is_revoked(pin.content) && pin.approved_grants.as_ref().is_some_and(holds);
        let Some(content) = seen.get(id).filter(is_extended).map(|pin| pin.content) else { return Ok(None) };
        report::message(&format!("the approval of {id} blake3:{}… is extended by this", content.short()));
        Ok(Some(Extension { lock, seen, content, grants }))
    }

    fn write(&self, id: &PluginId, extension: Option<Extension>) -> Result<(), Failure> {
        let Self { path, old, new, after, .. } = self;
        if Config::text(path).map_err(invalid)? != *old {
            return Err(Failure::new(format!("change the configuration, which changed meanwhile: {}", path.shown()))
                .hint("run the command again".to_owned()));
        }
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

fn invalid(error: ConfigError) -> Failure {
    Failure::usage(error.to_string()).hint(error.hint)
}

/// The folder, if the first word is one, and the grants.
fn split(words: &[String]) -> Result<(Option<&Path>, Vec<GrantWord>), Failure> {
    let (folder, grants) = match words {
        [first, rest @ ..] if !GrantWord::is_meant(first) && (!rest.is_empty() || Path::new(first).is_dir()) => {
            (Some(Path::new(first)), rest)
        }
        all => (None, all),
    };
    let invalid = |why: String| {
        Failure::usage(format!("read the grant: {why}")).hint(
            "grants are keyvalue, http=URL, read=PATH, write=PATH, env=KEY=VALUE, config=KEY=VALUE, secrets=NAME, \
             elicit, sample, roots and change-lists"
                .to_owned(),
        )
    };
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        let word = folder.to_string_lossy();
        let near = GrantWord::meant(&word).map_or_else(String::new, |near| format!("; did you mean {near}?"));
        return Err(invalid(format!("there is no grant or folder {word:?}{near}")));
    }
    if grants.is_empty() {
        return Err(invalid("none is given".to_owned()));
    }
    let grants = grants.iter().map(|word| GrantWord::parse(word)).collect::<Result<_, _>>().map_err(invalid)?;
    Ok((folder, grants))
}

/// Warns if the folder has no plugin of that name. Without a folder, only a similar name in the user's own one
/// is worth a warning: the plugin may be in any.
fn warn_of_name(config: &Config, id: &PluginId, folder: Option<&Path>) {
    let own = || base().map(|base| base.plugins);
    let Some(searched) = folder.map(PathBuf::from).or_else(own) else { return };
    // The own folder need not be there yet.
    let files = match choice_in(config, &searched) {
        Err(_) if folder.is_some() => return,
        found => found.unwrap_or_default(),
    };
    if files.get(id).is_some() {
        return;
    }
    let near = did_you_mean(id.as_ref(), files.names());
    if folder.is_some() || near.is_some() {
        let near = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
        warning(&format!("no plugin in {} is called {id}{near}", searched.shown()));
        return;
    }
    let has_run = lock().ok().and_then(|lock| lock.read().ok()).is_some_and(|pins| pins.get(id).is_some());
    if !has_run && !config.plugins.contains_key(id.as_ref()) {
        let command = format!("{} grant {id} DIR …", config.program());
        report::message(&format!(
            "no plugin called {id} is known yet; to check the name, add the folder of its file: {command}"
        ));
    }
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
