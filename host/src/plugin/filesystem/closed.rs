//! Folders that no plugin is given, whoever grants them.
//!
//! Judges paths; what is in a folder is seen by `survey`.

use std::fs;
use std::path::{Path, PathBuf};

use super::survey::KEYS;

/// Where the system shows itself as files.
const SYSTEM: [&str; 3] = ["/proc", "/sys", "/dev"];

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
    pub(super) fn objection(&self, folder: &Path) -> Option<String> {
        if folder.parent().is_none() {
            return Some("is the root of all".into());
        }
        let keys = |part: &std::ffi::OsStr| KEYS.iter().any(|keys| part == *keys);
        if folder.iter().any(keys) {
            return Some("is a folder of keys".into());
        }
        if let Some(system) = SYSTEM.iter().find(|system| folder.starts_with(system)) {
            return Some(format!("is in {system}"));
        }
        for (closed, whole) in
            self.trees.iter().map(|tree| (tree, true)).chain(self.tops.iter().map(|top| (top, false)))
        {
            let closed = real(closed);
            if folder == closed {
                return Some("is a folder that Wharf or its user keeps to itself".into());
            }
            if closed.starts_with(folder) {
                return Some(format!("holds {}", closed.display()));
            }
            if whole && folder.starts_with(&closed) {
                return Some(format!("is in {}", closed.display()));
            }
        }
        None
    }
}

/// The path without links, as far as it is there.
fn real(path: &Path) -> PathBuf {
    if let Ok(real) = fs::canonicalize(path) {
        return real;
    }
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => real(parent).join(name),
        _ => path.to_owned(),
    }
}
