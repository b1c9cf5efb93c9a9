//! `wharf check` of skills: of one, of a folder of some, or of those in a plugin folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use wharf_report::ShowPath as _;

use crate::cli::skills::{FoundSkill, found_in};
use crate::cli::wiring::is_component;
use crate::report::{self, Failure, NAME};
use crate::skills::{FOLDER, SKILL_FILE, SkillError, Tree, read_skill};
use crate::text::{escape_hidden_in_json, printable};

/// Maximum entries of a folder that are looked at, to know whether it is one of skills.
const MAX_LOOKED: usize = 4096;

type Read = Result<Arc<Tree>, SkillError>;

/// The skills at a path.
#[derive(Default)]
pub(super) struct Skills(Vec<(PathBuf, Read)>);

impl Skills {
    /// If the path is a skill's folder, its `SKILL.md`, or a folder of skills.
    pub(super) fn at(path: &Path) -> Option<Self> {
        let is_skill = |folder: &Path| folder.join(SKILL_FILE).symlink_metadata().is_ok();
        let full = path.canonicalize().ok()?;
        let is_named = |path: &Path, name: &str| path.file_name().is_some_and(|own| own == name);
        let folder = if is_named(path, SKILL_FILE) { full.parent()? } else { path };
        // One that lacks its file, too.
        if is_skill(folder) || full.parent().is_some_and(|above| is_named(above, FOLDER)) {
            return Some(Self(vec![(folder.to_owned(), read_skill(folder))]));
        }
        let entries = fs::read_dir(&full).ok()?.take(MAX_LOOKED).flatten().map(|entry| entry.path());
        let entries: Vec<PathBuf> = entries.collect();
        let has_plugins = entries.iter().any(|path| is_component(path));
        let has_skills = is_named(&full, FOLDER)
            || !has_plugins && entries.iter().any(|path| is_skill(path) && !is_named(path, FOLDER));
        has_skills.then(|| Self::of(found_in(path))).filter(|skills| !skills.is_empty())
    }

    /// Those of a plugin folder.
    pub(super) fn in_plugins(path: &Path) -> Self {
        Self::of(found_in(&path.join(FOLDER)))
    }

    fn of((found, errors): (Vec<FoundSkill>, Vec<SkillError>)) -> Self {
        let skills = found.into_iter().map(|skill| (skill.path, skill.version.map(|version| version.tree)));
        Self(skills.chain(errors.into_iter().map(|error| (error.path.clone(), Err(error)))).collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Prints what was found; returns whether all would be served.
    pub(super) fn print(&self, json: bool) -> Result<bool, Failure> {
        for (path, skill) in &self.0 {
            let text =
                if json { escape_hidden_in_json(&to_json(path, skill).to_string()) } else { to_text(path, skill) };
            report::print(&text)?;
        }
        Ok(self.0.iter().all(|(_, skill)| skill.is_ok()))
    }
}

fn to_text(path: &Path, skill: &Read) -> String {
    let tree = match skill {
        Ok(tree) => tree,
        Err(error) => {
            let hint = error.hint.as_ref().map_or_else(String::new, |hint| format!("  hint: {hint}\n"));
            return format!("{}: would not be served: failed to {error}\n{hint}", path.shown());
        }
    };
    let mut text = format!("{}: would be served\n", path.shown());
    for skill in tree.skills() {
        let description = printable(skill.description());
        let first = description.lines().next().unwrap_or_default();
        text += &format!("  skill    {NAME}{}{NAME:#}  {first}\n", skill.name());
        for file in skill.files() {
            text += &format!("  file     {}  {} bytes, {}\n", file.uri, file.bytes.len(), file.media_type);
        }
    }
    text += &format!("  in all   {} bytes\n", tree.size());
    text
}

fn to_json(path: &Path, skill: &Read) -> Value {
    let skills = skill.iter().flat_map(|tree| tree.skills()).map(|skill| {
        let files = skill.files().map(|file| {
            json!({ "uri": file.uri, "mimeType": file.media_type, "digest": file.digest, "size": file.bytes.len() })
        });
        json!({
            "uri": skill.uri(),
            "name": skill.name(),
            "description": skill.description(),
            "files": files.collect::<Vec<_>>(),
        })
    });
    let error = skill.as_ref().err();
    json!({
        "file": path.to_string_lossy(),
        "kind": "skill",
        "loads": skill.is_ok(),
        "reason": error.map(ToString::to_string),
        "hint": error.and_then(|error| error.hint.as_ref()),
        "skills": skills.collect::<Vec<_>>(),
        "bytes": skill.as_ref().map_or(0, |tree| tree.size()),
    })
}
