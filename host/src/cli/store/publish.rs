//! `wharf store publish` and `wharf store pull`: plugins in the store of several nodes.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{sleep, timeout};
use wharf_report::{ShowPath as _, line, shell_word, warning};

use super::place;
use crate::catalog::Choice;
use crate::cli::approve_all::approve_all;
use crate::cli::confirm::confirm;
use crate::cli::folder::served_folder;
use crate::cli::options::Options;
use crate::cli::shared;
use crate::cli::survey::{choice_in, report_left_out};
use crate::cli::wiring::{lock, lock_failure};
use crate::config::Config;
use crate::plugin::signature_file;
use crate::published::{self, Changes, Content, Done, Items, KEY, PublishError};
use crate::report::{self, Failure, NAME, Screen};
use crate::skills::{self, Collection, FOLDER, State};
use crate::store::{Changed, Place};
use crate::text::printable;

/// How often it is looked at the store although nothing was heard of a change.
const CHECK: Duration = Duration::from_secs(5);

pub(super) async fn publish(
    options: &Options,
    dir: Option<PathBuf>,
    yes: bool,
    screen: &Screen,
) -> Result<ExitCode, Failure> {
    let config = options.config()?;
    let place = shared_place(&config)?;
    let dir = served_folder(options, dir)?;
    // Nodes hold what is not approved.
    let left = approve_all(options, Some(dir.clone()), yes, screen).await?;
    if left > 0 {
        let hint = "approve them, or remove their files; nothing was published".to_owned();
        return Err(Failure::new(format!("publish what is not approved: {left} of the versions")).hint(hint));
    }
    let choice = choice_in(&config, &dir)?;
    report_left_out(&dir, &choice.left_out);
    let files = contents(&choice, &dir)?;
    let store = place.open();
    let before = match published::published(&*store).await {
        Err(PublishError::Damaged(why)) => {
            warning(&format!("what is published in {place} cannot be read, and is replaced as a whole: {why}"));
            Items::new()
        }
        read => read.map_err(|error| failure(&error, &dir))?.unwrap_or_default(),
    };
    let after = published::items(&files).map_err(|error| failure(&error, &dir))?;
    let changes = Changes::between(&before, &after);
    let is_same = changes.is_empty() && !before.is_empty();
    if !is_same {
        report::message(shown(&changes).trim_end());
        confirm(&format!("Publish this to all nodes of {place}?"), yes)?;
    }
    // What only the file of this machine approves is held by the other nodes.
    lock(&config)?.update(|_| ()).map_err(lock_failure)?;
    let Done { changes, mended } = published::publish(&store, &files).await.map_err(|error| failure(&error, &dir))?;
    if mended > 0 {
        report::message(&format!("contents that were damaged or gone in the store are there again: {mended}"));
    }
    if changes.is_empty() && is_same {
        report::message(&format!("what is published in {place} is the same"));
    } else {
        report::message(&format!("{NAME}published{NAME:#} {}", count(&changes, &after)));
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn pull(options: &Options, dir: Option<PathBuf>, follow: bool) -> Result<ExitCode, Failure> {
    let config = options.config()?;
    let place = shared_place(&config)?;
    let dir = served_folder(options, dir)?;
    let store = place.open();
    let mut changed = store.watch();
    let (mut said, mut is_equal, mut taken) = (None, false, None);
    loop {
        let version = published::version(&*store).await;
        if is_equal && version.as_ref().is_ok_and(|version| *version == taken) {
            // Nothing is read again before there is another set.
            let _ = timeout(CHECK, next(&mut changed)).await;
            continue;
        }
        let pulled = published::pull(&*store, &dir).await.map_err(|error| failure(&error, &dir));
        let was_equal = std::mem::replace(&mut is_equal, matches!(pulled, Ok(Some(_))));
        taken = version.unwrap_or_default();
        let text = match pulled {
            Ok(Some(changes)) if changes.is_empty() => {
                (!was_equal).then(|| format!("{} is what is published", dir.shown()))
            }
            Ok(Some(changes)) => Some(format!("{}\n{}", dir.shown(), shown(&changes).trim_end())),
            Ok(None) if follow => Some(format!("nothing is published in {place} yet")),
            Ok(None) => {
                let hint = format!("publish a folder: {} store publish DIR", config.program());
                return Err(Failure::new(format!("get plugins from {place}: nothing is published there")).hint(hint));
            }
            Err(failure) if !follow => return Err(failure),
            Err(failure) => {
                let (text, hint) = failure.into_parts();
                Some(format!("failed to {text}{}", hint.map(|hint| format!(" ({hint})")).unwrap_or_default()))
            }
        };
        // Whatever lasts is said once.
        if let Some(text) = text.filter(|text| said.as_ref() != Some(text)) {
            report::message(&text);
            said = Some(text);
        }
        if !follow {
            return Ok(ExitCode::SUCCESS);
        }
        // Whatever happens to the reports, it is looked at again.
        let _ = timeout(CHECK, next(&mut changed)).await;
    }
}

/// Waits until a set may have been published.
async fn next(changed: &mut Receiver<Changed>) {
    loop {
        match changed.recv().await {
            Ok(Changed::Key(key)) if key != KEY => {}
            Ok(_) | Err(RecvError::Lagged(_)) => return,
            Err(RecvError::Closed) => sleep(CHECK).await,
        }
    }
}

fn shared_place(config: &Config) -> Result<Place, Failure> {
    let place = place(config)?;
    // Not one that is being copied.
    if shared::store(config)?.is_some() {
        return Ok(place);
    }
    let hint = "write in [store]: url = \"postgres://USER@HOST/DATABASE\"";
    Err(Failure::usage("use the store of several nodes: the configuration names none").hint(hint.to_owned()))
}

/// What a server would find in the folder: plugins with their signatures, and skills.
fn contents(choice: &Choice, dir: &Path) -> Result<BTreeMap<String, Content>, Failure> {
    let mut all = BTreeMap::new();
    for (_, path) in choice.in_order() {
        let signature = signature_file(path);
        // A link is no signature for a server either.
        let is_file = fs::symlink_metadata(&signature).is_ok_and(|found| found.is_file());
        for file in [Some(path.to_owned()), is_file.then_some(signature)].into_iter().flatten() {
            all.insert(relative(&file, dir)?, Content::File(file));
        }
    }
    let Collection { skills, errors, .. } = skills::collect(&dir.join(FOLDER), &Collection::default(), true);
    if let Some(error) = errors.into_iter().next() {
        return Err(crate::cli::skills::refusal(error));
    }
    for (name, found) in skills {
        let tree = match found.state {
            State::Read(tree) => tree,
            State::Refused(error) => return Err(crate::cli::skills::refusal(error)),
            State::Changing => {
                return Err(Failure::new(format!("read the skill {name}: it is being written to"))
                    .hint("run the command again".to_owned()));
            }
        };
        for (path, file) in tree.files() {
            all.insert(format!("{FOLDER}/{name}/{path}"), Content::Bytes(file.bytes.clone()));
        }
    }
    Ok(all)
}

/// The path of a file in the folder, with `/` between names.
fn relative(file: &Path, dir: &Path) -> Result<String, Failure> {
    let names = file.strip_prefix(dir).ok().and_then(|path| path.iter().map(|name| name.to_str()).collect());
    let names: Option<Vec<&str>> = names;
    let path = names.map(|names| names.join("/"));
    path.ok_or_else(|| Failure::new(format!("publish a file whose name is not UTF-8: {}", file.shown())))
}

fn failure(error: &PublishError, dir: &Path) -> Failure {
    let failure = Failure::new(error.to_string());
    let hint = match error {
        PublishError::Concurrent => {
            "wait until they are done; if they were killed, that is a minute later; then run the command again"
                .to_owned()
        }
        PublishError::Damaged(_) => "publish the folder again".to_owned(),
        PublishError::Record(_) => format!("empty the folder, and pull again: {}", shell_word(dir)),
        PublishError::NotOurs(_) => format!("name an empty folder, or move these files away: {}", shell_word(dir)),
        PublishError::Store(_) | PublishError::File(_) | PublishError::TooMuch(_) => return failure,
    };
    failure.hint(hint)
}

/// A line for each file.
fn shown(changes: &Changes) -> String {
    let Changes { added, changed, removed } = changes;
    let kinds = [("+", added), ("~", changed), ("-", removed)];
    kinds
        .iter()
        .flat_map(|(sign, paths)| paths.iter().map(move |path| format!("  {sign} {}\n", line(&printable(path)))))
        .collect()
}

fn count(changes: &Changes, all: &Items) -> String {
    let Changes { added, changed, removed } = changes;
    let (added, changed, removed) = (added.len(), changed.len(), removed.len());
    format!("{} files: {added} added, {changed} changed, {removed} removed", all.len())
}
