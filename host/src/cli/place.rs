//! Changes of a plugin folder that a person agreed to: all of them, or none.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use wharf_report::{ShowPath as _, shell_text, shell_word, warning};

use super::approve::{Approval, File, Reviewer};
use super::audit;
use super::confirm::{confirm, declined};
use super::fetch::Fetched;
use super::options::Options;
use super::origins::{Origin, OriginFile};
use super::survey::choice_in;
use super::wiring::is_reserved;
use crate::audit::Audit;
use crate::catalog::{Choice, Ignored};
use crate::config::{Config, add_grants};
use crate::os::files::{self, Replacement};
use crate::plugin::{MAX_COMPONENT, PluginId, signature_file};
use crate::registry::Sha256;
use crate::report::{self, Failure, NAME, Screen};

/// A folder that plugins are put into.
pub(super) struct Place<'a> {
    pub(super) options: &'a Options,
    pub(super) config: &'a Config,
    pub(super) screen: &'a Screen,
    pub(super) dir: &'a Path,
    /// The files in it when the command began.
    pub(super) files: Choice,
}

/// What is to be done with a plugin of the folder.
pub(super) enum Step {
    /// Its version is put there, once it is approved.
    Put(Box<Fetched>),
    /// The version that is there is approved.
    Approve,
    /// Only what is recorded of it changes.
    Record,
    Remove,
}

pub(super) struct Change {
    pub(super) id: PluginId,
    pub(super) step: Step,
    /// Its file, which may be missing.
    pub(super) file: PathBuf,
    /// What `wharf.lock` says of it from then on; of a plugin that is removed, nothing.
    pub(super) origin: Option<Origin>,
    /// What a person should see before the question.
    pub(super) notes: Vec<String>,
    /// What is asked besides the approval.
    pub(super) question: Option<String>,
    /// The command that shows it again.
    pub(super) again: String,
    /// What was done, before its name: "added".
    pub(super) done: &'static str,
}

impl Change {
    /// Whether a version is approved by it.
    fn is_decision(&self) -> bool {
        matches!(self.step, Step::Put(_) | Step::Approve)
    }

    /// The removal of a plugin, with its file if it has one.
    pub(super) fn removal(id: PluginId, file: PathBuf, again: String) -> Self {
        let question = fs::symlink_metadata(&file).is_ok().then(|| format!("Remove {}?", file.shown()));
        Self { id, step: Step::Remove, file, origin: None, notes: Vec::new(), question, again, done: "removed" }
    }
}

impl<'a> Place<'a> {
    /// # Errors
    /// If the folder cannot be read.
    pub(super) fn open(
        options: &'a Options,
        config: &'a Config,
        screen: &'a Screen,
        dir: &'a Path,
    ) -> Result<Self, Failure> {
        Ok(Self { options, config, screen, dir, files: choice_in(config, dir)? })
    }

    /// The file of a plugin: where it is, or else where it will be.
    pub(super) fn file_of(&self, id: &PluginId) -> PathBuf {
        self.files.get(id).map_or_else(|| self.dir.join(format!("{id}.wasm")), Path::to_owned)
    }

    /// The same for a version that is to be put there.
    ///
    /// # Errors
    /// If the name is one of the server's own.
    pub(super) fn file_for(&self, id: &PluginId) -> Result<PathBuf, Failure> {
        if is_reserved(self.config, id) {
            let reserved = Ignored::NameReserved(id.clone());
            return Err(Failure::usage(reserved.to_string()).hint("give it another name: --name NAME".to_owned()));
        }
        Ok(self.file_of(id))
    }

    /// Shows all, asks, and on yes does all of it. Nothing is changed before the last answer, nor unless every new file is
    /// written in full.
    pub(super) async fn apply(&self, changes: &[Change], yes: bool) -> Result<(), Failure> {
        let Self { options, config, screen, dir, .. } = *self;
        let sandbox = options.sandbox(config, &[dir.to_owned()], Audit::default()).await?;
        let reviewer = Reviewer { options, config, sandbox: &sandbox, screen };
        // Before the first question, so that no decision is made that cannot be recorded.
        let mut log = changes.iter().any(Change::is_decision).then(|| audit::open(config)).transpose()?;
        let (mut approvals, mut seen) = (Vec::new(), Vec::new());
        for change in changes {
            seen.push(seen_at(&change.file));
            approvals.extend(self.ask(change, &reviewer, yes).await?);
        }
        for approval in &approvals {
            approval.check().await?;
        }
        for (change, seen) in changes.iter().zip(seen) {
            if seen_at(&change.file) != seen {
                let (id, file) = (&change.id, change.file.shown());
                return Err(Failure::new(format!(
                    "change {id}: since the question, {file} or its signature became another one"
                ))
                .hint(format!("nothing was changed; look at the file, then again: {}", change.again)));
            }
        }
        let written: Result<Vec<Written>, Failure> = changes.iter().filter_map(Written::of).collect();
        let written = written?;
        let recorded = OriginFile::of(dir).edit(|plugins| {
            for change in changes {
                match &change.origin {
                    Some(origin) => plugins.insert(change.id.to_string(), origin.clone()),
                    None => plugins.remove(change.id.as_ref()),
                };
            }
        })?;
        for approval in approvals {
            // One at a time: each open log has a thread.
            approval.record(log.take().map_or_else(|| audit::open(config), Ok)?)?;
        }
        let failed = |change: &Change, error: io::Error| {
            Failure::new(format!("write {}: {error}; its version is approved", change.file.shown()))
                .hint(format!("look at the folder, then again: {}", change.again))
        };
        for written in written {
            let change = written.change;
            written.commit().map_err(|error| failed(change, error))?;
        }
        for change in changes.iter().filter(|change| matches!(change.step, Step::Remove)) {
            remove_file(&change.file)?;
        }
        recorded.commit()?;
        for Change { id, done, step, .. } in changes {
            report::message(&format!("{NAME}{done}{NAME:#} {id}"));
            if let Step::Put(fetched) = step
                && let Some(command) = self.command_of_wishes(id, fetched)
            {
                report::message(&format!("to grant it what it can use: {command}"));
            }
        }
        Ok(())
    }

    /// Shows one change, and asks. A version that is to run is approved by that.
    async fn ask<'c>(
        &'c self,
        change: &'c Change,
        reviewer: &Reviewer<'c>,
        yes: bool,
    ) -> Result<Option<Approval<'c>>, Failure> {
        for note in &change.notes {
            warning(note);
        }
        let Change { id, file: place, again, .. } = change;
        let (path, published) = match &change.step {
            Step::Put(fetched) => (fetched.path(), Some(&fetched.published)),
            _ => (&**place, None),
        };
        let mut approval = None;
        if change.is_decision() {
            let shown = File { id, path, place, folder: self.dir, published, again };
            approval = Some(reviewer.review(shown, yes).await?.ok_or_else(declined)?);
        }
        if let Some(question) = &change.question {
            confirm(question, yes)?;
        }
        Ok(approval)
    }

    /// The command that grants a plugin what it wishes, unless all is granted already.
    fn command_of_wishes(&self, id: &PluginId, fetched: &Fetched) -> Option<String> {
        if fetched.wishes.is_empty() || self.grants_all(id, fetched) {
            return None;
        }
        let words: Vec<String> = fetched.wishes.iter().map(|wish| shell_text(wish.text())).collect();
        Some(format!("{} grant {id} {} {}", self.config.program(), shell_word(self.dir), words.join(" ")))
    }

    fn grants_all(&self, id: &PluginId, fetched: &Fetched) -> bool {
        let text = self.config.file.as_ref().and_then(|file| fs::read_to_string(file).ok());
        let with = |text: &String| add_grants(text, id, &fetched.wishes).and_then(|text| Config::parse(&text)).ok();
        text.and_then(|text| Some(Config::parse(&text).ok()?.grants(id) == with(&text)?.grants(id))).unwrap_or(false)
    }
}

/// A version that was written beside its place.
struct Written<'a> {
    change: &'a Change,
    component: Replacement,
    signature: Option<Replacement>,
}

impl<'a> Written<'a> {
    /// The version that a change puts into the folder, if it does.
    fn of(change: &'a Change) -> Option<Result<Self, Failure>> {
        let failed = |path: &Path, error: io::Error| {
            Failure::new(format!("write {}: {error}; nothing was changed", path.shown()))
                .hint(format!("look at the file and its folder, then again: {}", change.again))
        };
        // Whatever is to be replaced or removed is a file.
        let beside = signature_file(&change.file);
        if let Some(folder) = [&change.file, &beside].into_iter().find(|path| path.is_dir()) {
            return Some(Err(failed(folder, io::ErrorKind::IsADirectory.into())));
        }
        let Step::Put(fetched) = &change.step else { return None };
        Some(Self::write(change, fetched).map_err(|error| failed(&change.file, error)))
    }

    /// With the permissions of new files, and not of private ones.
    fn write(change: &'a Change, fetched: &Fetched) -> io::Result<Self> {
        let bytes = fs::read(fetched.path())?;
        if Sha256::of(&bytes) != fetched.component {
            return Err(io::Error::other("its download was changed meanwhile"));
        }
        let signature = match fs::read(signature_file(fetched.path())) {
            Ok(signature) => Some(Replacement::write(&signature_file(&change.file), &signature)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        Ok(Self { change, component: Replacement::write(&change.file, &bytes)?, signature })
    }

    /// Puts it in its place, after its signature.
    fn commit(self) -> io::Result<()> {
        match self.signature {
            Some(signature) => signature.commit()?,
            // That of the version before.
            None => remove_if_there(&signature_file(&self.change.file))?,
        }
        self.component.commit()
    }
}

/// A plugin's file and its signature as they are: what is no file is only told from one.
fn seen_at(file: &Path) -> [Option<Option<Sha256>>; 2] {
    [file.to_owned(), signature_file(file)].map(|path| {
        fs::symlink_metadata(&path).ok()?;
        Some(files::read(&path, MAX_COMPONENT).ok().map(|bytes| Sha256::of(&bytes)))
    })
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Removes a plugin's file, and its signature.
fn remove_file(file: &Path) -> Result<(), Failure> {
    for path in [file.to_owned(), signature_file(file)] {
        remove_if_there(&path).map_err(|error| Failure::new(format!("remove {}: {error}", path.shown())))?;
    }
    Ok(())
}

/// Whether there is a file, and it is another component.
pub(super) fn is_other(path: &Path, digest: Sha256) -> bool {
    path.exists() && !is_component(path, digest)
}

/// Whether a file is that component.
pub(super) fn is_component(path: &Path, digest: Sha256) -> bool {
    files::read(path, MAX_COMPONENT).is_ok_and(|bytes| Sha256::of(&bytes) == digest)
}
