//! The content of a folder that the system cannot watch, at one poll.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::catalog::files::{self, MAX_ENTRIES};
use crate::os::files::Links;
use crate::os::stamp::Stamp;

#[derive(Default)]
pub(super) struct Polled {
    /// By plugin file: the stamps of the file and of its signature.
    files: BTreeMap<PathBuf, Vec<Option<Stamp>>>,
    pub(super) folders: BTreeSet<PathBuf>,
}

impl Polled {
    /// # Errors
    /// If the folder cannot be read.
    pub(super) fn read(folder: &Path) -> io::Result<Self> {
        let mut found = Self::default();
        let entries = fs::read_dir(folder)?;
        for entry in entries.take(MAX_ENTRIES).flatten() {
            let path = entry.path();
            let plugin = files::signed_file(&path);
            if files::plugin_of(&plugin).is_some() {
                found.files.entry(plugin).or_default().push(Stamp::of(&path, Links::NotFollowed));
            } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                found.folders.insert(path);
            }
        }
        for stamps in found.files.values_mut() {
            stamps.sort();
        }
        Ok(found)
    }

    /// Files that were added, changed or removed since.
    pub(super) fn changed(mut self, now: &Self) -> Vec<PathBuf> {
        let mut changed: Vec<PathBuf> = now
            .files
            .iter()
            .filter(|(path, stamps)| self.files.remove(*path).as_ref() != Some(stamps))
            .map(|(path, _)| path.clone())
            .collect();
        changed.extend(self.files.into_keys());
        changed
    }
}
