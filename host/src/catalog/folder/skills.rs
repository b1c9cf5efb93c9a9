//! The skills of the folder `skills`: read on a thread of their own, checked against the pins, and put into service.
//!
//! A skill that is broken or held changes nothing: what was in service before stays there.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::{JoinError, JoinSet};
use tokio::time::Instant;

use super::{Folder, Gate};
use crate::catalog::skill_provider::SkillProvider;
use crate::catalog::watcher::Watcher;
use crate::catalog::{FolderEvent, Held, Member, Naming, RefusedFile};
use crate::pins::{AdmittedAs, Decision, Guard, ListedVersion, PluginVersion, Reason};
use crate::plugin::PluginId;
use crate::skills::{self, Collection, FOLDER, SkillError, State, Tree};

/// What is written to is looked at again after this time, and read once two looks found the same.
const SETTLE: Duration = Duration::from_millis(300);
/// What could not be read is looked at again after this time, if no event may follow.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(super) struct Skills {
    /// What the last look found.
    collection: Arc<Collection>,
    /// At most one look.
    pub(super) looks: JoinSet<Result<Look, JoinError>>,
    due: Option<Instant>,
    /// Something changed during the look.
    again: bool,
    /// Approvals or revocations may have changed: all are decided on again.
    undecided: bool,
    /// At least one look has ended.
    is_known: bool,
    /// By name.
    served: BTreeMap<String, Version>,
    held: HashMap<String, (Version, Reason)>,
    /// Reported, and still so.
    refused: Vec<SkillError>,
}

/// Skills as they were read, and what a person approves of them.
#[derive(Clone)]
struct Version {
    tree: Arc<Tree>,
    info: PluginVersion,
}

pub(super) struct Look {
    collection: Collection,
    decided: Vec<(String, Version, Result<AdmittedAs, Reason>)>,
    /// Those in service that must stop, and why.
    stopped: Vec<(String, Reason)>,
    took: Duration,
}

impl Version {
    fn new(tree: &Arc<Tree>, text: &str) -> Self {
        Self { tree: tree.clone(), info: PluginVersion::of_skill(text) }
    }
}

impl Folder {
    /// Whether the plugin folder has skills is known at once.
    pub(super) fn expect_skills(&self) {
        let found = fs::symlink_metadata(self.root.join(FOLDER));
        self.catalog.expect_skills(found.is_ok_and(|found| found.is_dir()));
    }

    /// Looks at the skills soon.
    pub(super) fn skills_changed(&mut self) {
        self.skills.due.get_or_insert_with(|| Instant::now() + SETTLE);
    }

    pub(super) fn decide_on_skills_again(&mut self) {
        self.skills.undecided = true;
        self.look_at_skills();
    }

    pub(super) fn next_look_at_skills(&self) -> Option<Instant> {
        self.skills.due
    }

    /// Whether the first look is over, so that lists can be answered.
    pub(super) fn knows_skills(&self) -> bool {
        self.skills.is_known || self.skills.looks.is_empty()
    }

    /// Starts a look, or another one after that which runs.
    pub(super) fn look_at_skills(&mut self) {
        let skills = &mut self.skills;
        skills.due = None;
        if !skills.looks.is_empty() {
            skills.again = true;
            return;
        }
        let all = std::mem::take(&mut skills.undecided);
        let (root, before, at_once) = (self.root.join(FOLDER), skills.collection.clone(), !skills.is_known);
        let (served, held) = (skills.served.clone(), skills.held.clone());
        let (guard, gate) = (self.guard.clone(), self.gate.clone());
        let started = Instant::now();
        skills.looks.spawn(async move {
            let reading = tokio::task::spawn_blocking(move || {
                let collection = skills::collect(&root, &before, at_once);
                let versions = new_versions(&collection, &served, &held, all);
                let stopped = if all { stopped(&guard, &served) } else { Vec::new() };
                (guard, collection, versions, stopped)
            });
            let (guard, collection, versions, stopped) = reading.await?;
            let decided = decide(&guard, gate, versions).await;
            Ok(Look { collection, decided, stopped, took: started.elapsed() })
        });
    }

    /// Puts into service what a look found.
    pub(super) fn finish_look(
        &mut self,
        look: Result<Result<Look, JoinError>, JoinError>,
        watcher: Option<&mut Watcher>,
    ) {
        self.skills.is_known = true;
        match look.and_then(|look| look) {
            Ok(look) => self.apply_look(look, watcher),
            // Skills in service stay there.
            Err(error) => tracing::error!(%error, "host panic while reading skills"),
        }
        if std::mem::take(&mut self.skills.again) {
            self.look_at_skills();
        }
        self.mark_listed();
    }

    fn apply_look(&mut self, look: Look, watcher: Option<&mut Watcher>) {
        let Look { collection, decided, stopped, took } = look;
        self.catalog.expect_skills(!collection.folders.is_empty());
        let (mut members, mut removed, mut events) = (Vec::new(), Vec::new(), Vec::new());
        let skills = &mut self.skills;
        skills.held.retain(|name, _| collection.skills.contains_key(name));
        let gone: Vec<String> =
            skills.served.keys().filter(|name| !collection.skills.contains_key(*name)).cloned().collect();
        for name in gone {
            skills.served.remove(&name);
            removed.push(PluginId::of_skill(&name));
            events.push(FolderEvent::Removed(PluginId::of_skill(&name)));
        }
        if !removed.is_empty() {
            self.guard.mark_missing(removed.clone());
        }
        let mut held = Vec::new();
        for (name, reason) in stopped {
            let Some(version) = skills.served.remove(&name) else { continue };
            removed.push(PluginId::of_skill(&name));
            // A newer version may be held already.
            if let Entry::Vacant(place) = skills.held.entry(name) {
                held.push((place.key().clone(), version.info.clone(), reason.clone()));
                place.insert((version, reason));
            }
        }
        for (name, version, outcome) in decided {
            let id = PluginId::of_skill(&name);
            let content = version.info.content;
            match outcome {
                Ok(admitted) => {
                    let was_held = skills.held.remove(&name).is_some();
                    if skills.served.get(&name).is_some_and(|served| Arc::ptr_eq(&served.tree, &version.tree)) {
                        events.extend(was_held.then_some(FolderEvent::Unchanged(id)));
                        continue;
                    }
                    let provider = SkillProvider::new(id.clone(), content, version.tree.clone());
                    members.push(Member { provider: Arc::new(provider), naming: Naming::Plain, pinned_surface: None });
                    let decision = Decision::new(id.clone(), &version.info, Ok(admitted));
                    let before = skills.served.insert(name, version);
                    if before.as_ref().is_some_and(|before| before.info.content == content) {
                        events.extend(was_held.then_some(FolderEvent::Unchanged(id)));
                        continue;
                    }
                    let decision = match &before {
                        Some(before) => decision.replacing(&before.info),
                        None => decision,
                    };
                    let swapped = before.is_some();
                    events.push(FolderEvent::Admitted(decision));
                    events.push(FolderEvent::Loaded { id, digest: content, swapped, tools: 0, took });
                }
                Err(reason) => {
                    let is_served = |served: &Version| served.info.content == content;
                    if reason.stops_service() && skills.served.get(&name).is_some_and(is_served) {
                        skills.served.remove(&name);
                        removed.push(id);
                    }
                    let known = skills.held.get(&name);
                    if !known.is_some_and(|(known, why)| known.info.content == content && *why == reason) {
                        held.push((name.clone(), version.info.clone(), reason.clone()));
                    }
                    skills.held.insert(name, (version, reason));
                }
            }
        }
        for (name, info, reason) in held {
            let id = PluginId::of_skill(&name);
            let decision = Decision::new(id, &info, Err(reason));
            let (hint, path) = (decision.hint(&self.program, &self.root), self.root.join(FOLDER).join(&name));
            let still_serving = skills.served.contains_key(&name);
            events.push(FolderEvent::Held(Held { path, decision, hint, still_serving }));
        }
        let mut refused = Vec::new();
        for (name, error) in collection.refused() {
            if !skills.refused.contains(error) {
                let still_serving = name.is_some_and(|name| skills.served.contains_key(name));
                let SkillError { reason, path, hint, .. } = error.clone();
                events.push(FolderEvent::Refused(RefusedFile { path, reason, hint, still_serving }));
            }
            refused.push(error.clone());
        }
        skills.refused = refused;
        if collection.is_changing() {
            skills.due = Some(Instant::now() + SETTLE);
        } else if collection.is_unread() {
            skills.due = Some(Instant::now() + RETRY_INTERVAL);
        }
        if let Some(watcher) = watcher
            && watcher.watch_skills(&collection.folders)
        {
            // Something may have changed before it was watched.
            skills.again = true;
        }
        skills.collection = Arc::new(collection);
        self.warn(self.catalog.put_all(members));
        self.warn(self.catalog.remove(&removed));
        for event in events {
            self.emit(event);
        }
    }
}

/// What was read, and is neither in service nor held yet; or `all`. With the text that a person approves.
fn new_versions(
    collection: &Collection,
    served: &BTreeMap<String, Version>,
    held: &HashMap<String, (Version, Reason)>,
    all: bool,
) -> Vec<(String, PathBuf, Version, String)> {
    let mut versions = Vec::new();
    for (name, found) in &collection.skills {
        let State::Read(tree) = &found.state else { continue };
        let known = [served.get(name), held.get(name).map(|(version, _)| version)];
        if all || !known.into_iter().flatten().any(|known| Arc::ptr_eq(&known.tree, tree)) {
            let text = tree.canonical();
            versions.push((name.clone(), found.path.clone(), Version::new(tree, &text), text));
        }
    }
    versions
}

/// The skills in service that may not stay there.
fn stopped(guard: &Guard, served: &BTreeMap<String, Version>) -> Vec<(String, Reason)> {
    let pins = guard.read_pins();
    let stops = |(name, version): (&String, &Version)| {
        let reason = guard.may_stay(&pins, &PluginId::of_skill(name), &version.info).err()?;
        Some((name.clone(), reason))
    };
    served.iter().filter_map(stops).collect()
}

/// Decides on versions, and pins those that may be served.
async fn decide(
    guard: &Arc<Guard>,
    gate: Gate,
    versions: Vec<(String, PathBuf, Version, String)>,
) -> Vec<(String, Version, Result<AdmittedAs, Reason>)> {
    if versions.is_empty() {
        return Vec::new();
    }
    gate().await;
    let (mut skills, mut listed) = (Vec::new(), Vec::new());
    for (name, path, version, surface_text) in versions {
        listed.push((PluginId::of_skill(&name), ListedVersion { version: version.info.clone(), surface_text, path }));
        skills.push((name, version));
    }
    let outcomes = guard.admit(listed).await;
    skills.into_iter().zip(outcomes).map(|((name, version), outcome)| (name, version, outcome)).collect()
}

#[cfg(test)]
mod tests;
