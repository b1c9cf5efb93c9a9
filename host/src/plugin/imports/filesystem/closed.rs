//! Folders that no plugin is given, whoever grants them.
//!
//! Judges places; what is in a folder is seen by `survey`. Folders are compared by what they are
//! and not by how they are spelt alone: a file system may fold case, and show one folder in two
//! places.

use std::fs;
use std::path::{Component, Path, PathBuf};

use super::survey::KEYS;
use crate::os::entries::root_of;
use crate::os::files::Links;
use crate::os::stamp::Identity;
use crate::plugin::policy::grants::PrivateFile;

/// Where the system shows itself as files.
const SYSTEM: [&str; 3] = ["/proc", "/sys", "/dev"];
/// Links on the way to a file, before it counts as one that leads nowhere.
const LINKS: u32 = 40;

/// The folders that the host and its user keep to themselves; they need not be there.
#[derive(Debug, Clone, Default)]
pub struct Closed {
    /// Not to be granted, nor what they hold, nor what holds them.
    pub trees: Vec<PathBuf>,
    /// Not to be granted, nor what holds them.
    pub tops: Vec<PathBuf>,
}

impl Closed {
    /// Why a folder must not be granted, reading on after its path; it has no links in it.
    /// `private` are files that it must not hold.
    pub(super) fn objection(&self, folder: &Path, private: &[PrivateFile]) -> Option<String> {
        if folder.parent().is_none() {
            return Some("is the root of all".into());
        }
        let keys = |part: &std::ffi::OsStr| KEYS.iter().any(|keys| part.eq_ignore_ascii_case(keys));
        if folder.iter().any(keys) {
            return Some("is a folder of keys".into());
        }
        if let Some(system) = SYSTEM.iter().find(|system| folder.starts_with(system)) {
            return Some(format!("is in {system}"));
        }
        for (closed, whole) in
            self.trees.iter().map(|tree| (tree, true)).chain(self.tops.iter().map(|top| (top, false)))
        {
            let shown = closed.display();
            if is_same(folder, &real(closed)) {
                return Some("is a folder that Wharf or its user keeps to itself".into());
            }
            if whole && is_in(folder, &real(closed)) {
                return Some(format!("is in {shown}"));
            }
            if on_the_way(closed).iter().any(|place| is_in(place, folder)) {
                return Some(format!("holds {shown}"));
            }
        }
        let holds = |file: &&PrivateFile| on_the_way(&file.path).iter().any(|place| is_in(place, folder));
        let file = private.iter().find(holds)?;
        Some(format!("holds {}: {}", file.what, file.path.display()))
    }
}

/// What the private files are that are there, whatever they are called elsewhere.
pub(super) fn identities(private: &[PrivateFile]) -> Vec<(Identity, &PrivateFile)> {
    private.iter().filter_map(|file| Some((identity(&file.path)?, file))).collect()
}

fn identity(path: &Path) -> Option<Identity> {
    Identity::of(path, Links::Followed)
}

fn is_same(one: &Path, other: &Path) -> bool {
    one == other || identity(one).is_some_and(|one| identity(other) == Some(one))
}

/// Whether a path without links is in a folder.
fn is_in(path: &Path, folder: &Path) -> bool {
    let folders = path.ancestors();
    let wanted = identity(folder);
    path.starts_with(folder) || wanted.is_some() && folders.map(identity).any(|above| above == wanted)
}

/// The path without links, as far as it is there.
pub(super) fn real(path: &Path) -> PathBuf {
    on_the_way(path).pop().unwrap_or_else(|| path.to_owned())
}

/// Where a path leads, and before that each link on the way there: who can change one of those
/// says where it leads. All of them without links.
fn on_the_way(path: &Path) -> Vec<PathBuf> {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut places = Vec::new();
    let mut links = 0;
    let mut at = root_of(&absolute);
    let mut rest: Vec<PathBuf> = parts(&absolute);
    while let Some(part) = rest.pop() {
        if part.as_os_str() == ".." {
            at.pop();
            continue;
        }
        let next = at.join(&part);
        match fs::read_link(&next) {
            Ok(target) if links < LINKS => {
                links += 1;
                places.push(next);
                if target.is_absolute() {
                    at = root_of(&target);
                }
                rest.extend(parts(&target));
            }
            _ => at = next,
        }
    }
    places.push(at);
    places
}

/// The names of a path, the last one first.
fn parts(path: &Path) -> Vec<PathBuf> {
    let is_name = |part: &Component<'_>| matches!(part, Component::Normal(_) | Component::ParentDir);
    path.components().filter(is_name).map(|part| PathBuf::from(part.as_os_str())).rev().collect()
}
