//! `wharf check` of skills: of one, of a folder of some, or of those in a plugin folder.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use wharf_report::ShowPath as _;

use crate::cli::skills::found_in;
use crate::report::{self, Failure, NAME};
use crate::skills::{FOLDER, SKILL_FILE, SkillError, Tree, read_skill};
use crate::text::{escape_hidden_in_json, printable};

type Read = Result<Arc<Tree>, SkillError>;

/// The skills at a path.
#[derive(Default)]
pub(super) struct Skills(Vec<(PathBuf, Read)>);

impl Skills {
    /// If the path is a skill's folder, or a folder of skills.
    pub(super) fn at(path: &Path) -> Option<Self> {
        if path.join(SKILL_FILE).symlink_metadata().is_ok() {
            return Some(Self(vec![(path.to_owned(), read_skill(path))]));
        }
        let full = path.canonicalize().ok()?;
        let plugins = full.parent().filter(|_| full.file_name().is_some_and(|name| name == FOLDER))?;
        Some(Self::in_plugins(plugins)).filter(|skills| !skills.is_empty())
    }

    /// Those of a plugin folder.
    pub(super) fn in_plugins(path: &Path) -> Self {
        let (found, errors) = found_in(path);
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
