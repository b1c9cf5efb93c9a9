//! `wharf approve` and `wharf revoke`: a person's decision on a version.
//!
//! Neither changes grants, which only the configuration sets.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use wharf_report::ShowPath as _;

use super::candidate::Candidate;
use super::changes::{Change, changes};
use super::confirm::{agrees, declined};
use super::fetch::Published;
use super::folder::plugin_folder;
use super::load_file::{self, Refused};
use super::options::Options;
use super::shown::Shown;
use super::summary::summary;
use super::survey::choice_in;
use super::target::{Target, of_unknown, unfound};
use super::wiring::{lock, lock_failure, read_only_guard};
use super::{audit, skills, wrapped};
use crate::audit::{Audit, Event};
use crate::config::{self, Config};
use crate::pins::{ListedVersion, PinFile, PinFileError, Pins, PluginVersion, approve_command};
use crate::plugin::{Digest, Grants, Plugin, PluginId, Sandbox, content_of};
use crate::report::{self, Failure, NAME, Screen};

pub(super) async fn run(
    options: &Options,
    name: &str,
    dir: Option<&Path>,
    yes: bool,
    screen: &Screen,
) -> Result<ExitCode, Failure> {
    let config = options.config()?;
    let Target { id, folder } = Target::of(&config, &format!("{} approve", config.program()), name, dir, &[])?;
    let is_named = folder.is_some();
    let dir = plugin_folder(options, folder)?;
    if id.is_skill() {
        return skills::approve(options, &config, &id, &dir, yes);
    }
    let files = choice_in(&config, &dir)?;
    let path = files.get(&id).ok_or_else(|| {
        let command = (!is_named).then(|| format!("{} approve {id} DIR", config.program()));
        unfound(&id, &dir, &files, command.as_deref())
    })?;
    let sandbox = options.sandbox(&config, std::slice::from_ref(&dir), Audit::default()).await?;
    let again = approve_command(&options.program(), &id, Some(&dir));
    let file = File { id: &id, path, place: path, folder: &dir, published: None, again: &again };
    let reviewer = Reviewer { options, config: &config, sandbox: &sandbox, screen };
    if reviewer.decide(file, yes).await? { Ok(ExitCode::SUCCESS) } else { Err(declined()) }
}

/// The file of a plugin.
pub(super) struct File<'a> {
    pub(super) id: &'a PluginId,
    pub(super) path: &'a Path,
    /// Where a server finds it: its path, or where it will be.
    pub(super) place: &'a Path,
    /// The plugin folder, which may be above that of the file.
    pub(super) folder: &'a Path,
    /// Of one that was fetched: where it is from.
    pub(super) published: Option<&'a Published>,
    /// The command that shows it again.
    pub(super) again: &'a str,
}

impl File<'_> {
    /// The failure of a version that cannot be approved.
    fn refused(&self, (reason, hint): Refused) -> Failure {
        match self.published {
            None => Failure::new(format!("{reason}: {}", self.path.shown())).hint(hint),
            // What its author could do at a file of theirs is no hint for those who fetch it.
            Some(published) => Failure::new(format!("{reason}: {}", published.source)),
        }
    }
}

/// Shows versions, and asks for decisions on them.
pub(super) struct Reviewer<'a> {
    pub(super) options: &'a Options,
    pub(super) config: &'a Config,
    pub(super) sandbox: &'a Arc<Sandbox>,
    pub(super) screen: &'a Screen,
}

/// A version that a person agreed to. Nothing is changed until it is recorded.
pub(super) struct Approval<'a> {
    shown: Shown<'a>,
    version: ListedVersion,
    lock: PinFile,
    pins: Pins,
    config: &'a Config,
}

impl Approval<'_> {
    /// # Errors
    /// If it is not as it was shown any more.
    pub(super) async fn check(&self) -> Result<(), Failure> {
        self.shown.check(&self.lock, &self.pins).await
    }

    /// Writes the pin. Call [`Approval::check`] before. `log` is opened before, so that no decision is made that cannot be
    /// recorded.
    pub(super) fn record(self, log: audit::Log) -> Result<(), Failure> {
        let Self { shown, version, lock, pins, config } = self;
        let written = lock.approve(shown.id, &version, &pins).map_err(lock_failure)?;
        written.map_err(|change| shown.outdated_by(change))?;
        audit::decided(log, config, Event::Approve, shown.id, version.version.content)?;
        report::message(&format!("{NAME}approved{NAME:#} {} blake3:{}", shown.id, version.version.content));
        Ok(())
    }
}

impl<'a> Reviewer<'a> {
    /// Shows a version, asks for a decision on it, and records it; returns whether it is approved.
    pub(super) async fn decide(&self, file: File<'a>, yes: bool) -> Result<bool, Failure> {
        let log = audit::open(self.config)?;
        let Some(approval) = self.review(file, yes).await? else { return Ok(false) };
        approval.check().await?;
        approval.record(log)?;
        Ok(true)
    }

    /// Shows a version and asks for a decision on it. None: the answer was no.
    pub(super) async fn review(&self, file: File<'a>, yes: bool) -> Result<Option<Approval<'a>>, Failure> {
        let Self { options, config, sandbox, screen } = *self;
        let File { id, path, place, folder, published, again } = file;
        let mut candidate = Candidate::read(config, path, id).await.map_err(|error| file.refused(error))?;
        check_configured_pin(config, id, &candidate)?;
        let lock = lock(config)?.for_plugins(folder);
        let pins = lock.read().map_err(lock_failure)?;
        let pin = pins.get(id);
        let (grants, may_change) = (config.grants(id), config.may_change_lists(id));
        let shown = Shown { options, id, path, again, version: candidate.seen.clone(), may_change };
        let loading = format!("loading {id}");
        let mut loaded = screen.timed(&loading, candidate.load(config, sandbox, id, grants.none())).await;
        let mut with_grants = candidate.seen.grants.is_empty();
        if let Err(error) = &loaded
            && error.is_of_listing()
            && !with_grants
        {
            report::message(&format!("{id} cannot list what it offers without its grants: failed to {error}"));
            if !agrees(&format!("Allow this version of {id} to use its grants for that?"), yes)? {
                return Ok(None);
            }
            shown.check(&lock, &pins).await?;
            loaded = screen.timed(&loading, candidate.load(config, sandbox, id, grants.clone())).await;
            with_grants = true;
        }
        let (plugin, version) = loaded.map_err(|error| file.refused(load_file::refused(error, path)))?;

        if pins.is_revoked(candidate.seen.content) {
            report::message("this version was revoked; to approve it takes that back");
        }
        let pinned = pin.and_then(|pin| lock.surface(pin.surface));
        if pin.is_some() && pinned.is_none() {
            report::message(
                "the tool descriptions of the pinned version are not stored on this machine; all of this version's are shown",
            );
        }
        let summary = |old, plugin: &Plugin, new: &ListedVersion| {
            summary(place, published.map(|published| &*published.about), old, plugin, new, config)
        };
        show(&summary(pinned.as_deref(), &plugin, &version), pinned.as_deref(), &version);
        if let Some(pin) = pin.filter(|pin| pin.content != candidate.seen.content && pin.approved) {
            report::message(&format!(
                "a pin is per name, not per folder: this takes the place of the approved blake3:{}…, also where another \
             folder has that version as {id}; for both at the same time, give the files different names",
                pin.content.short()
            ));
        }
        if !agrees(&format!("Approve this version of {id}?"), yes)? {
            return Ok(None);
        }
        // The surface without grants was reviewed. From here on it may use its grants; if its surface
        // differs with them, that is reviewed too.
        let mut approved = version.clone();
        if !with_grants {
            shown.check(&lock, &pins).await?;
            let granted = plugin.granted(config.limits(id), grants).await;
            let granted = granted.map_err(|error| file.refused(load_file::refused(error, path)))?;
            approved = candidate.record_surface(&granted);
            if approved.surface_text != version.surface_text {
                report::message("with its grants, its tool descriptions are different:");
                let old = Some(version.surface_text.as_str());
                show(&summary(old, &granted, &approved), old, &approved);
                if !agrees("Approve it with these tool descriptions?", yes)? {
                    return Ok(None);
                }
            }
        }
        approved.path = place.to_owned();
        Ok(Some(Approval { shown, version: approved, lock, pins, config }))
    }
}

/// Lines of changes after which the summary is repeated, beside the question.
const ONE_SCREEN: usize = 20;

/// Shows what the decision depends on: the summary, then all changes.
pub(super) fn show(summary: &str, old: Option<&str>, new: &ListedVersion) {
    let mut text = summary.to_owned();
    let changes = changes(old, &new.surface_text);
    text += match (changes.is_empty(), old) {
        (true, _) => "  no changes",
        (false, Some(_)) => "  changes\n",
        (false, None) => "  offers\n",
    };
    let listed = changes.iter().map(Change::to_text).collect::<String>();
    text += listed.trim_end();
    if listed.lines().count() > ONE_SCREEN {
        text += &format!("\n{}", summary.trim_end());
    }
    report::message(&wrapped::for_stderr(&text));
}

pub(super) async fn revoke(options: &Options, name: &str, dir: Option<&Path>) -> Result<ExitCode, Failure> {
    let config = Arc::new(options.config()?);
    let Target { id, folder } = Target::of(&config, &format!("{} revoke", config.program()), name, dir, &[])?;
    let dir = folder.as_deref();
    if let Some(dir) = dir.filter(|dir| !dir.is_dir()) {
        return Err(Failure::usage(format!("find the folder {}; nothing was revoked", dir.shown())).hint(format!(
            "to revoke its pinned version, in whatever folder that is: {} revoke {id}",
            config.program()
        )));
    }
    let lock = lock(&config)?;
    let pins = lock.read().map_err(not_revoked)?;
    let pinned = pins.get(&id);
    let contents = contents_to_revoke(&config, &id, dir, &pins).await;
    if contents.is_empty() {
        let files = dir.and_then(|dir| choice_in(&config, dir).ok()).unwrap_or_default();
        // Anything may be in the pin file.
        let pinned = pins.all().map(|(name, _)| name).filter(|name| PluginId::parse(name).is_ok());
        let known: BTreeSet<&str> = pinned.chain(files.names()).collect();
        let command = format!("{} revoke {id} DIR", config.program());
        return Err(never_run(&id, of_unknown(&id, known.iter().copied(), dir.is_none().then_some(&*command))));
    }
    let pinned_folder = pinned.and_then(|pin| pin.folder.as_deref()).map(Path::new);
    for content in contents {
        let log = audit::open(&config)?;
        lock.update(|pins| pins.revoke(&id, content)).map_err(not_revoked)?;
        audit::decided(log, &config, Event::Revoke, &id, content)?;
        let undo = undo_hint(&config, &id, content, [dir, pinned_folder]);
        let done = if pins.is_revoked(content) { "revoked already:" } else { "revoked" };
        report::message(&format!("{NAME}{done}{NAME:#} {id} blake3:{content}; {undo}"));
    }
    Ok(ExitCode::SUCCESS)
}

/// Whoever revokes wants that the version does not run: a server goes on with it.
pub(super) fn not_revoked(error: PinFileError) -> Failure {
    let advice = "take it that nothing was revoked, and servers go on with what they serve: run the command again until it \
                  succeeds, or stop the servers";
    let mend = error.hint.as_ref().filter(|_| !error.temporary).map(|hint| format!("; {hint}"));
    Failure::new(error.to_string()).hint(format!("{advice}{}", mend.unwrap_or_default()))
}

/// The pinned version of a plugin, and that in its folder if it would run.
pub(super) async fn contents_to_revoke(
    config: &Arc<Config>,
    id: &PluginId,
    dir: Option<&Path>,
    pins: &Pins,
) -> Vec<Digest> {
    let pinned = pins.get(id).map(|pin| pin.content);
    let in_folder = version_in(config, id, dir, pins).await.filter(|content| pinned != Some(*content));
    pinned.into_iter().chain(in_folder).collect()
}

fn never_run(id: &PluginId, hint: String) -> Failure {
    Failure::usage(format!("revoke a plugin that has never run: {id}")).hint(hint)
}

/// The version in the folder, or else in the user's default folder, if a server would put it into service: it may be
/// listed already while its code is compiled, and is pinned only after that. Also one that is revoked already, and that
/// of a named folder if no other is meant, so that nobody approves it by mistake.
async fn version_in(config: &Arc<Config>, id: &PluginId, dir: Option<&Path>, pins: &Pins) -> Option<Digest> {
    let is_meant = dir.is_some() && pins.get(id).is_none();
    let dir = dir.map(PathBuf::from).or_else(|| Some(config::base()?.plugins))?;
    let seen = if id.is_skill() {
        PluginVersion::unlisted(skills::content_in(&dir, id)?, None, &Grants::default())
    } else {
        let files = choice_in(config, &dir).ok()?;
        Candidate::read(config, files.get(id)?, id).await.ok()?.seen
    };
    let may_run = || read_only_guard(config).is_ok_and(|guard| guard.may_run(id, &seen).is_ok());
    let concerns = is_meant || pins.is_revoked(seen.content) || may_run();
    concerns.then_some(seen.content)
}

/// The command that undoes a revocation, for the folder whose file has that content. `folders`: the one that the person
/// named, and the one that the pin was for.
fn undo_hint(config: &Config, id: &PluginId, content: Digest, folders: [Option<&Path>; 2]) -> String {
    let program = &config.program();
    for dir in folders.into_iter().flatten() {
        if has(config, dir, id, content) {
            return format!("to undo: {}", approve_command(program, id, Some(dir)));
        }
    }
    if let Some(base) = config::base()
        && has(config, &base.plugins, id, content)
    {
        return format!("to undo: {}", approve_command(program, id, None));
    }
    match folders.into_iter().flatten().next() {
        // The command alone would approve another version, or none.
        Some(dir) => {
            let command = approve_command(program, id, Some(dir));
            format!("its file is not in {}: to undo, put that back there, then run: {command}", dir.shown())
        }
        None => {
            let command = approve_command(program, id, Some(Path::new("DIR")));
            format!("to undo: {command}, where DIR is the folder of its file")
        }
    }
}

/// Whether the plugin's file in a folder has that content.
fn has(config: &Config, dir: &Path, id: &PluginId, content: Digest) -> bool {
    if id.is_skill() {
        return skills::content_in(dir, id) == Some(content);
    }
    choice_in(config, dir).is_ok_and(|files| files.get(id).and_then(content_of) == Some(content))
}

/// A pin in the configuration takes precedence over approvals.
pub(super) fn check_configured_pin(config: &Config, id: &PluginId, candidate: &Candidate) -> Result<(), Failure> {
    let Some(pin) = config.plugins.get(id.as_ref()).and_then(|own| own.pin.as_deref()) else { return Ok(()) };
    if pin.trim_start_matches("blake3:") == candidate.seen.content.to_string() {
        return Ok(());
    }
    let hint = format!("change or remove `pin` under [plugins.{id}]; the file is blake3:{}", candidate.seen.content);
    Err(Failure::new(format!("approve a version other than the one pinned in the configuration: {id}")).hint(hint))
}
