//! Which files of a folder are plugins: `*.wasm` in it and in its direct subfolders.
//!
//! Checks names only; contents are read when a file is loaded.

mod ignored;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::os::files::is_temporary;
use crate::plugin::PluginId;
pub use ignored::{Ignored, MAX_NAMED};

/// Maximum number of plugins; a folder with more is a mistake or an attack.
pub const MAX_PLUGINS: usize = 256;

/// Maximum entries that a scan reads in all folders together. The rest is ignored: a folder with more
/// is not a plugin folder.
pub(super) const MAX_ENTRIES: usize = 32_768;
/// Maximum subfolders that a scan reads.
const MAX_FOLDERS: usize = 256;
/// A file modified within this time may still be written to.
const RECENT: Duration = Duration::from_millis(500);

/// What a scan found, in path order, without a limit on plugins.
#[derive(Debug, Default)]
pub(super) struct Scan {
    pub(super) plugins: BTreeMap<PathBuf, PluginId>,
    /// Names that look like plugins but are invalid, and folders that were not read.
    pub(super) ignored: Vec<(PathBuf, Ignored)>,
    /// The folder itself and its subfolders, which have to be watched.
    pub(super) folders: Vec<PathBuf>,
    /// A limit was reached; not everything was read.
    pub(super) truncated: bool,
    /// The system could not read a subfolder now: it has to be scanned again.
    pub(super) unread: bool,
    /// Plugins that are still being written, and are handled later.
    pub(super) unfinished: BTreeSet<PathBuf>,
    read: usize,
}

/// The plugin id of a path. `None` if it is not a plugin file.
pub fn plugin_of(path: &Path) -> Option<Result<PluginId, Ignored>> {
    let extension = path.extension()?;
    if !extension.eq_ignore_ascii_case("wasm") {
        return None;
    }
    let Some(stem) = path.file_stem()?.to_str() else {
        return Some(Err(Ignored::NotUtf8));
    };
    // Editors and copy programs write temporary dot files.
    if stem.starts_with('.') {
        return None;
    }
    if extension != "wasm" {
        return Some(Err(Ignored::OtherExtension));
    }
    Some(PluginId::of_file(stem).map_err(Ignored::InvalidName))
}

/// The signed file, if the path is a signature; otherwise the path itself.
pub(super) fn signed_file(path: &Path) -> PathBuf {
    if path.extension().is_some_and(|extension| extension == "minisig") {
        path.with_extension("")
    } else {
        path.to_owned()
    }
}

/// Lists a folder and its direct subfolders.
///
/// # Errors
/// Only if the folder itself cannot be read; a subfolder that cannot is reported in
/// [`Scan::ignored`].
pub(super) fn scan(root: &Path) -> io::Result<Scan> {
    let mut scan = Scan::default();
    let mut subfolders = scan.read(root)?;
    if subfolders.len() > MAX_FOLDERS {
        subfolders.truncate(MAX_FOLDERS);
        scan.truncated = true;
    }
    for folder in subfolders {
        if scan.read >= MAX_ENTRIES {
            scan.truncated = true;
            break;
        }
        if let Err(error) = scan.read(&folder) {
            scan.unread |= is_temporary(&error);
            scan.ignored.push((folder, Ignored::UnreadFolder(error.to_string())));
        }
    }
    if scan.truncated {
        scan.ignored.push((root.to_owned(), Ignored::TooManyEntries));
    }
    Ok(scan)
}

/// Whether a file was modified so recently that its writer may not have finished.
pub(super) fn is_recent(path: &Path) -> bool {
    let modified = std::fs::symlink_metadata(path).and_then(|file| file.modified());
    modified.is_ok_and(|at| at.elapsed().is_ok_and(|ago| ago < RECENT))
}

/// Whether the name of a file is exactly that of its plugin, and not only one that is normalized to it.
pub(crate) fn is_named(path: &Path, id: &PluginId) -> bool {
    path.file_stem().is_some_and(|stem| stem == id.as_ref())
}

impl Scan {
    /// The plugins in the order in which they get their names: a file whose name is exactly that comes before others,
    /// and one in the folder itself before those in subfolders, so that a copy beside it or in `backup` cannot take the
    /// name of a plugin that is in use.
    pub(super) fn in_order(self) -> Vec<(PathBuf, PluginId)> {
        let mut plugins: Vec<_> = self.plugins.into_iter().collect();
        // Stable: else in path order.
        plugins.sort_by_key(|(path, id)| (!is_named(path, id), path.components().count()));
        plugins
    }

    /// Marks the plugins that are handled later.
    pub(super) fn mark_unfinished(&mut self, mut is_unfinished: impl FnMut(&Path) -> bool) {
        self.unfinished = self.plugins.keys().filter(|path| is_unfinished(path)).cloned().collect();
    }

    fn read(&mut self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        let mut subfolders = Vec::new();
        for entry in std::fs::read_dir(folder)? {
            if self.read >= MAX_ENTRIES {
                self.truncated = true;
                break;
            }
            self.read += 1;
            let entry = entry?;
            let path = entry.path();
            match plugin_of(&path) {
                Some(Ok(id)) => {
                    self.plugins.insert(path, id);
                }
                Some(Err(reason)) => self.ignored.push((path, reason)),
                // A symbolic link to a folder is not followed: it may lead out of the plugin folder.
                None if entry.file_type().is_ok_and(|kind| kind.is_dir())
                    && !entry.file_name().as_encoded_bytes().starts_with(b".") =>
                {
                    subfolders.push(path);
                }
                None => {}
            }
        }
        self.folders.push(folder.to_owned());
        subfolders.sort();
        Ok(subfolders)
    }
}
