//! Skills of a plugin folder, for commands: what is found, what a server would do with it, and a person's decision on it.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use wharf_report::ShowPath as _;

use super::approve::show;
use super::audit;
use super::changes;
use super::confirm::{agrees, declined};
use super::options::Options;
use super::wiring::{lock, lock_failure};
use crate::audit::Event;
use crate::config::Config;
use crate::pins::{ListedVersion, PluginVersion, approve_command};
use crate::plugin::{Digest, PluginId};
use crate::report::{self, Failure, NAME};
use crate::skills::{self, Collection, FOLDER, SkillError, State, Tree};

/// A skill in a folder.
pub(super) struct FoundSkill {
    pub(super) id: PluginId,
    pub(super) path: PathBuf,
    pub(super) version: Result<SkillVersion, SkillError>,
}

/// A skill that could be served.
pub(super) struct SkillVersion {
    pub(super) tree: Arc<Tree>,
    pub(super) listed: ListedVersion,
}

impl SkillVersion {
    fn new(tree: Arc<Tree>, path: &Path) -> Self {
        let surface_text = tree.canonical();
        let version = PluginVersion::of_skill(&surface_text);
        Self { tree, listed: ListedVersion { version, surface_text, path: path.to_owned() } }
    }

    pub(super) fn content(&self) -> Digest {
        self.listed.version.content
    }

    /// Its size in a few words.
    pub(super) fn extent(&self) -> String {
        let (files, bytes) = (self.tree.count(), self.tree.size());
        format!("{files} {}, {bytes} bytes", if files == 1 { "file" } else { "files" })
    }
}

/// The skills in a folder of skills, as a server finds them, and what is wrong besides.
pub(super) fn found_in(dir: &Path) -> (Vec<FoundSkill>, Vec<SkillError>) {
    let Collection { skills, errors, .. } = skills::collect(dir, &Collection::default(), true);
    let found = |(name, found): (String, skills::Found)| {
        let version = match found.state {
            State::Read(tree) => Ok(SkillVersion::new(tree, &found.path)),
            State::Refused(error) => Err(error),
            State::Changing => Err(SkillError::changing(&found.path)),
        };
        FoundSkill { id: PluginId::of_skill(&name), path: found.path, version }
    };
    (skills.into_iter().map(found).collect(), errors)
}

/// The digest of a skill of a plugin folder, if it can be served.
pub(super) fn content_in(dir: &Path, id: &PluginId) -> Option<Digest> {
    let (found, _) = found_in(&dir.join(FOLDER));
    let skill = found.into_iter().find(|skill| skill.id == *id)?;
    Some(skill.version.ok()?.content())
}

/// The failure for a skill that cannot be served.
pub(super) fn refusal(error: SkillError) -> Failure {
    let hint = error.hint.clone();
    Failure::new(error.to_string()).hint(hint)
}

/// File, digest, size, and how many files are new or changed. `old`: the text that is pinned.
pub(super) fn summary(skill: &FoundSkill, version: &SkillVersion, old: Option<&str>) -> String {
    let mut text = format!("{NAME}{}{NAME:#} blake3:{}\n", skill.id, version.content());
    text += &format!("  folder   {}\n  has      {}\n", skill.path.shown(), version.extent());
    let counts = changes::summary(old, &version.listed.surface_text);
    if old.is_some() && !counts.is_empty() {
        text += &format!("  compared {counts}\n");
    }
    text
}

/// `wharf approve skill:NAME`.
pub(super) fn approve(
    options: &Options,
    config: &Config,
    id: &PluginId,
    dir: &Path,
    yes: bool,
) -> Result<ExitCode, Failure> {
    let log = audit::open(config)?;
    let (found, _) = found_in(&dir.join(FOLDER));
    let Some(skill) = found.into_iter().find(|skill| skill.id == *id) else {
        return Err(Failure::usage(format!("find the skill {id} in {}", dir.join(FOLDER).shown())));
    };
    let version = skill.version.as_ref().map_err(|error| refusal(error.clone()))?;
    let lock = lock(config)?.for_plugins(dir);
    let pins = lock.read().map_err(lock_failure)?;
    if pins.is_revoked(version.content()) {
        report::message("this version was revoked; to approve it takes that back");
    }
    let pinned = pins.get(id).and_then(|pin| lock.surface(pin.surface));
    show(&summary(&skill, version, pinned.as_deref()), pinned.as_deref(), &version.listed);
    if !agrees(&format!("Approve this version of {id}?"), yes)? {
        return Err(declined());
    }
    let outdated = |what: &str| {
        Failure::new(format!("approve this version of {id}: since the question, {what}; nothing was approved"))
            .hint(format!("look at it again: {}", approve_command(&options.program(), id, Some(dir))))
    };
    if content_in(dir, id) != Some(version.content()) {
        return Err(outdated("its files changed"));
    }
    let written = lock.approve(id, &version.listed, &pins).map_err(lock_failure)?;
    written.map_err(|change| outdated(&change.to_string()))?;
    audit::decided(log, config, Event::Approve, id, version.content())?;
    report::message(&format!("{NAME}approved{NAME:#} {id} blake3:{}", version.content()));
    Ok(ExitCode::SUCCESS)
}
