//! Folders that must not be granted.
//!
//! Checks paths only; `survey` checks a folder's entries. Folders are compared by identity, not by
//! path alone: a file system may fold case, and show one folder at two paths.

use std::fs;
use std::path::{Component, Path, PathBuf};

use wharf_report::ShowPath as _;

use super::survey::CREDENTIAL_FOLDERS;
use crate::os::entries::root_of;
use crate::os::files::Links;
use crate::os::stamp::Identity;
use crate::plugin::policy::grants::PrivateFile;

/// File systems of the kernel.
const SYSTEM: [&str; 3] = ["/proc", "/sys", "/dev"];
/// Maximum symbolic links followed in one path, as in Linux.
const LINKS: u32 = 40;

/// The folders of the host and its user; they need not exist.
#[derive(Debug, Clone, Default)]
pub struct ProtectedFolders {
    /// Neither they, nor what they contain, nor what contains them can be granted.
    pub trees: Vec<PathBuf>,
    /// Neither they, nor what contains them can be granted.
    pub tops: Vec<PathBuf>,
}

impl ProtectedFolders {
    /// Why a folder must not be granted: reads after its path, which has no links. `private` are
    /// files that it must not contain.
    pub(super) fn objection(&self, folder: &Path, private: &[PrivateFile]) -> Option<String> {
        if folder.parent().is_none() {
            return Some("is the root folder".into());
        }
        let is_credentials =
            |part: &std::ffi::OsStr| CREDENTIAL_FOLDERS.iter().any(|name| part.eq_ignore_ascii_case(name));
        if folder.iter().any(is_credentials) {
            return Some("is a credentials folder".into());
        }
        if let Some(system) = SYSTEM.iter().find(|system| folder.starts_with(system)) {
            return Some(format!("is in {system}"));
        }
        for (protected, whole) in
            self.trees.iter().map(|tree| (tree, true)).chain(self.tops.iter().map(|top| (top, false)))
        {
            let shown = protected.shown();
            if is_same(folder, &real(protected)) {
                return Some("is reserved for Wharf or its user".into());
            }
            if whole && is_in(folder, &real(protected)) {
                return Some(format!("is in {shown}"));
            }
            if on_the_way(protected).iter().any(|place| is_in(place, folder)) {
                return Some(format!("contains {shown}"));
            }
        }
        let contains = |file: &&PrivateFile| on_the_way(&file.path).iter().any(|place| is_in(place, folder));
        if let Some(place) = private.iter().find(|file| file.is_folder && is_in(folder, &real(&file.path))) {
            return Some(format!("is in the folder of {}: {}", place.what, place.path.shown()));
        }
        let file = private.iter().find(contains)?;
        Some(format!("contains {}: {}", file.what, file.path.shown()))
    }
}

/// The identities of the private files that exist, to find them under other names.
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

/// The path with its links resolved, as far as it exists.
pub(super) fn real(path: &Path) -> PathBuf {
    on_the_way(path).pop().unwrap_or_else(|| path.to_owned())
}

/// The links on the path, then the path with its links resolved. A user who can change such a
/// link decides where the path leads.
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
