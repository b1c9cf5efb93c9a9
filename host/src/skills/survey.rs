//! What is in a skill's folder, without its content: names, kinds and stamps, under limits.

use std::collections::BTreeMap;
use std::fs::{self, FileType};
use std::path::{Path, PathBuf};

use wharf_report::shell_word;

use super::SKILL_FILE;
use super::error::{ReadError, SkillError};
use crate::os::files::Links;
use crate::os::private::{self, Distrust, Rule};
use crate::os::stamp::Stamp;
use crate::text::hidden_in_name;

/// Maximum files and folders of one skill (SEP-2640).
pub const MAX_ENTRIES: usize = 512;
/// Maximum bytes of all files of one skill (SEP-2640).
pub const MAX_SIZE: u64 = 16 << 20;
/// Maximum bytes of one file: what a plugin may answer too.
pub const MAX_FILE: u64 = 4 << 20;
/// Maximum depth of folders within a skill.
pub const MAX_DEPTH: usize = 8;
/// Maximum bytes of a path within a skill.
pub(super) const MAX_PATH: usize = 512;

/// Equal surveys of one folder mean that nothing in it was written or replaced in between.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Survey {
    /// The folder itself.
    stamp: Option<Stamp>,
    /// By path within the skill, with `/`. `None` as the size: a folder.
    pub(super) entries: BTreeMap<String, (Stamp, Option<u64>)>,
}

impl Survey {
    /// # Errors
    /// If something in the folder may not be in a skill, or changes while it is looked at.
    pub(super) fn of(root: &Path) -> Result<Self, ReadError> {
        let found = fs::symlink_metadata(root).map_err(|error| ReadError::of_system(error, root))?;
        check_kind(found.file_type(), root)?;
        check_trust(&found, root)?;
        if !found.is_dir() {
            return Err(SkillError::new("read the skill, which is not a folder", root).into());
        }
        let mut survey = Self { stamp: Stamp::of(root, Links::NotFollowed), ..Self::default() };
        let mut left = vec![(root.to_owned(), String::new(), 1)];
        let mut size = 0;
        while let Some((folder, prefix, depth)) = left.pop() {
            for entry in fs::read_dir(&folder).map_err(|error| ReadError::of_system(error, &folder))? {
                let entry = entry.map_err(|error| ReadError::of_system(error, &folder))?;
                let path = entry.path();
                let name = name_of(&entry.file_name(), &path)?;
                let within = format!("{prefix}{name}");
                if survey.entries.len() >= MAX_ENTRIES {
                    return Err(SkillError::new(format!("read more than {MAX_ENTRIES} files and folders"), root).into());
                }
                if within.len() > MAX_PATH {
                    return Err(SkillError::new(format!("read a path of more than {MAX_PATH} bytes"), &path).into());
                }
                let found = fs::symlink_metadata(&path).map_err(|error| ReadError::of_system(error, &path))?;
                check_kind(found.file_type(), &path)?;
                check_trust(&found, &path)?;
                let stamp = Stamp::of(&path, Links::NotFollowed).ok_or(ReadError::Changing)?;
                if found.is_dir() {
                    if depth >= MAX_DEPTH {
                        return Err(SkillError::new(format!("read more than {MAX_DEPTH} folders deep"), &path).into());
                    }
                    left.push((path, format!("{within}/"), depth + 1));
                    survey.entries.insert(within, (stamp, None));
                    continue;
                }
                if found.len() > MAX_FILE {
                    return Err(SkillError::new(format!("read a file of more than {MAX_FILE} bytes"), &path).into());
                }
                size += found.len();
                if size > MAX_SIZE {
                    return Err(SkillError::new(format!("read more than {MAX_SIZE} bytes"), root).into());
                }
                survey.entries.insert(within, (stamp, Some(found.len())));
            }
        }
        Ok(survey)
    }

    /// The folder and all in it.
    pub(super) fn folders(&self, root: &Path) -> Vec<PathBuf> {
        let below = self.entries.iter().filter(|(_, (_, size))| size.is_none()).map(|(within, _)| root.join(within));
        std::iter::once(root.to_owned()).chain(below).collect()
    }

    pub(super) fn size(&self) -> u64 {
        self.entries.values().filter_map(|(_, size)| *size).sum()
    }
}

/// The name of an entry, which becomes a part of a URI.
fn name_of(name: &std::ffi::OsStr, path: &Path) -> Result<String, SkillError> {
    let Some(name) = name.to_str() else {
        return Err(SkillError::new("read a file name that is not UTF-8", path));
    };
    match check_name(name) {
        Ok(()) => Ok(name.to_owned()),
        Err(HIDDEN) => Err(SkillError::new(HIDDEN, path).hint("move it out of the skill's folder")),
        Err(wrong) => Err(SkillError::new(wrong, path)),
    }
}

const HIDDEN: &str = "read a hidden file";

/// Checks one segment of a path.
///
/// # Errors
/// What is wrong with it; reads after "failed to".
pub(super) fn check_name(name: &str) -> Result<(), &'static str> {
    if name.is_empty() {
        return Err("read a file without a name");
    }
    if name.starts_with('.') {
        return Err(HIDDEN);
    }
    // On some systems, names may have what separates folders on others.
    if name.contains('\\') {
        return Err("read a file name with a backslash");
    }
    if hidden_in_name(name).is_some() || name != name.trim() {
        return Err("read a file name with an invisible character, or a blank at its start or end");
    }
    // A client on a system that does not tell them apart would show one for the other.
    if name != SKILL_FILE && name.eq_ignore_ascii_case(SKILL_FILE) {
        return Err("read a file that is called almost as SKILL.md");
    }
    Ok(())
}

fn check_kind(kind: FileType, path: &Path) -> Result<(), SkillError> {
    if kind.is_symlink() {
        return Err(SkillError::new("follow a symbolic link", path).hint("put the file itself into the skill's folder"));
    }
    if !kind.is_file() && !kind.is_dir() {
        return Err(SkillError::new("read what is neither a file nor a folder", path));
    }
    Ok(())
}

/// Who can write a skill tells a model what to do.
fn check_trust(found: &fs::Metadata, path: &Path) -> Result<(), SkillError> {
    match private::distrust(found, Rule::Installed) {
        None => Ok(()),
        Some(Distrust::OtherOwner) => Err(SkillError::new("trust what another user owns", path)),
        Some(Distrust::OthersWrite) => Err(SkillError::new("trust what other users can write", path)
            .hint(format!("check its content, then take the permission away: chmod -R go-w {}", shell_word(path)))),
    }
}
