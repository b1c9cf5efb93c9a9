//! A folder of skills: which ones are in it, read again only if something in them changed.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::SKILL_FILE;
use super::error::{ReadError, SkillError};
use super::frontmatter::is_skill_name;
use super::read::read;
use super::survey::{MAX_ENTRIES, MAX_SIZE, Survey};
use super::tree::Tree;

/// The name of the folder, in a plugin folder and in a plugin's project.
pub const FOLDER: &str = "skills";
/// Maximum number of skills in a folder, nested ones not counted.
pub const MAX_SKILLS: usize = 128;
/// Maximum files and folders of all skills.
const MAX_ALL_ENTRIES: usize = 8 * MAX_ENTRIES;
/// Maximum bytes of all skills. Versions that stay in service in place of broken ones are not counted, so there may be
/// twice as many in memory.
const MAX_ALL_SIZE: u64 = 4 * MAX_SIZE;
/// Maximum entries of the folder that are looked at.
const MAX_LOOKED: usize = 4096;

/// What the folder had when it was looked at.
#[derive(Clone, Default)]
pub struct Collection {
    /// By name.
    pub skills: BTreeMap<String, Found>,
    /// What is wrong besides single skills.
    pub errors: Vec<SkillError>,
    /// The folder itself and all below it, which have to be watched; none if it does not exist.
    pub folders: Vec<PathBuf>,
}

/// A folder in it.
#[derive(Clone)]
pub struct Found {
    pub path: PathBuf,
    /// `None`: it was written to, or something may not be in a skill.
    survey: Option<Survey>,
    pub state: State,
}

#[derive(Clone)]
pub enum State {
    /// It is being written to.
    Changing,
    Read(Arc<Tree>),
    Refused(SkillError),
}

impl Collection {
    /// Whether something is still being written, and the folder must be looked at again soon.
    pub fn is_changing(&self) -> bool {
        self.skills.values().any(|found| matches!(found.state, State::Changing))
    }

    /// What is wrong, and with which skill.
    pub fn refused(&self) -> impl Iterator<Item = (Option<&str>, &SkillError)> {
        let skills = self.skills.iter().filter_map(|(name, found)| match &found.state {
            State::Refused(error) => Some((Some(name.as_str()), error)),
            _ => None,
        });
        skills.chain(self.errors.iter().map(|error| (None, error)))
    }

    /// Whether something was not read, and no event may follow when it can be: for lack of resources, or since the
    /// folders in it are not known, and not watched.
    pub fn is_unread(&self) -> bool {
        let is_unknown = |found: &Found| found.survey.is_none();
        self.skills.values().any(is_unknown) || self.refused().any(|(_, error)| error.is_temporary)
    }
}

/// Looks at a folder of skills. What is as it was in `before` is not read again; what is not is read
/// if it was the same at the last look, or `at_once`.
pub fn collect(root: &Path, before: &Collection, at_once: bool) -> Collection {
    let mut collection = Collection::default();
    let names = match names(root) {
        Ok(Some((names, errors))) => {
            collection.errors = errors;
            names
        }
        Ok(None) => return collection,
        Err(error) => {
            // A folder that cannot be read is not an empty one.
            return Collection { errors: vec![error], ..before.clone() };
        }
    };
    collection.folders.push(root.to_owned());
    let (mut entries, mut size) = (0, 0);
    for name in names {
        let path = root.join(&name);
        let found = look(&name, path, before.skills.get(&name), at_once, (&mut entries, &mut size));
        if let Some(survey) = &found.survey {
            collection.folders.extend(survey.folders(&found.path));
        } else {
            collection.folders.push(found.path.clone());
        }
        collection.skills.insert(name, found);
    }
    collection
}

/// Reads one skill's folder, whatever it is called or is in.
///
/// # Errors
/// As [`SkillError`]; also if it is being written to.
pub fn read_skill(folder: &Path) -> Result<Arc<Tree>, SkillError> {
    let name = folder.canonicalize().ok();
    let name = name.as_deref().unwrap_or(folder).file_name().and_then(|name| name.to_str()).unwrap_or_default();
    check_name(name, folder)?;
    let survey = Survey::of(folder);
    let tree = survey.and_then(|survey| read(folder, name, &survey));
    tree.map(Arc::new).map_err(|error| match error {
        ReadError::Refused(error) => error,
        ReadError::Changing => SkillError::changing(folder),
    })
}

fn look(
    name: &str,
    path: PathBuf,
    before: Option<&Found>,
    at_once: bool,
    (entries, size): (&mut usize, &mut u64),
) -> Found {
    let refused = |path, survey, error| Found { path, survey, state: State::Refused(error) };
    let survey = match check_name(name, &path).map_err(ReadError::from).and_then(|()| Survey::of(&path)) {
        Ok(survey) => survey,
        Err(ReadError::Changing) => return Found { path, survey: None, state: State::Changing },
        Err(ReadError::Refused(error)) => return refused(path, None, error),
    };
    *entries += survey.entries.len();
    *size += survey.size();
    if *entries > MAX_ALL_ENTRIES || *size > MAX_ALL_SIZE {
        // The next one may fit.
        *entries -= survey.entries.len();
        *size -= survey.size();
        let reason = format!("read more than {MAX_ALL_ENTRIES} files and {MAX_ALL_SIZE} bytes of all skills");
        let error = SkillError::new(reason, &path);
        return refused(path, None, error);
    }
    match before.filter(|before| before.survey.as_ref() == Some(&survey)) {
        Some(same) if !matches!(&same.state, State::Changing) && !same.is_unread() => return same.clone(),
        None if !at_once => return Found { path, survey: Some(survey), state: State::Changing },
        _ => {}
    }
    let state = match read(&path, name, &survey) {
        Ok(tree) => State::Read(Arc::new(tree)),
        Err(ReadError::Changing) => return Found { path, survey: None, state: State::Changing },
        Err(ReadError::Refused(error)) => State::Refused(error),
    };
    Found { path, survey: Some(survey), state }
}

impl Found {
    fn is_unread(&self) -> bool {
        matches!(&self.state, State::Refused(error) if error.is_temporary)
    }
}

fn check_name(name: &str, path: &Path) -> Result<(), SkillError> {
    if is_skill_name(name) {
        return Ok(());
    }
    Err(SkillError::new("use the folder's name for a skill", path)
        .hint("rename it, and name in its SKILL.md: 1 to 64 of a-z, 0-9 and single - between them"))
}

type Names = (Vec<String>, Vec<SkillError>);

/// The names of the folders in it, sorted. `None`: it does not exist.
fn names(root: &Path) -> Result<Option<Names>, SkillError> {
    match fs::symlink_metadata(root) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(SkillError::of_system(&error, root)),
        Ok(found) if found.is_symlink() => return Err(SkillError::new("follow a symbolic link", root)),
        // Anybody's file of that name.
        Ok(found) if !found.is_dir() => return Ok(None),
        Ok(_) => {}
    }
    let failed = |error: io::Error| SkillError::of_system(&error, root);
    let (mut names, mut errors) = (Vec::new(), Vec::new());
    for (count, entry) in fs::read_dir(root).map_err(failed)?.enumerate() {
        if count >= MAX_LOOKED {
            errors.push(SkillError::new(format!("read more than {MAX_LOOKED} entries"), root));
            break;
        }
        let entry = entry.map_err(failed)?;
        let kind = entry.file_type().map_err(failed)?;
        if kind.is_file() && entry.file_name() == SKILL_FILE {
            let error = SkillError::new("serve a skill that has no folder of its own", &entry.path());
            errors.push(error.hint("move it, and its other files, into a folder here that has its name"));
        }
        // Files such as a README beside the skills, and folders of tools such as `.git`.
        if !(kind.is_dir() || kind.is_symlink()) || entry.file_name().as_encoded_bytes().starts_with(b".") {
            continue;
        }
        match entry.file_name().into_string() {
            Ok(name) => names.push(name),
            Err(_) => errors.push(SkillError::new("read a folder name that is not UTF-8", &entry.path())),
        }
    }
    names.sort();
    if names.len() > MAX_SKILLS {
        errors.push(SkillError::new(format!("serve more than {MAX_SKILLS} skills, in the order of their names"), root));
        names.truncate(MAX_SKILLS);
    }
    Ok(Some((names, errors)))
}
