//! The grace period of plugins whose file was removed.
//!
//! Most programs that replace a file delete the old one first, or move it aside. So such a plugin keeps
//! serving for a moment, and for as long as its replacement is being loaded.

use std::collections::HashMap;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::Instant;

use super::{File, Folder, LoadState};
use crate::catalog::FolderEvent;
use crate::catalog::files;
use crate::os::files::is_temporary;
use crate::plugin::PluginId;

/// Time from the removal of a file to that of its plugin.
const GRACE: Duration = Duration::from_secs(1);

impl Folder {
    /// Whether the path exists, in the root or in a subfolder that is not a symbolic link. One that the
    /// system cannot look up now does.
    pub(super) fn exists(&self, path: &Path) -> bool {
        let is = |path: &Path, wanted: fn(&Metadata) -> bool| match std::fs::symlink_metadata(path) {
            Ok(found) => wanted(&found),
            Err(error) => is_temporary(&error),
        };
        let is_folder = |folder: &Path| is(folder, Metadata::is_dir);
        is(path, |_| true) && path.parent().is_some_and(|folder| folder == self.root || is_folder(folder))
    }

    /// Starts the grace period of a removed file.
    pub(super) fn mark_gone(&mut self, path: &Path) {
        self.ignored.remove(path);
        self.over_limit.remove(path);
        let Some(file) = self.files.get_mut(path) else { return };
        if file.serving {
            file.removal_at.get_or_insert_with(|| Instant::now() + GRACE);
        } else {
            self.remove_files(vec![path.to_owned()]);
        }
    }

    /// When the next grace period ends. One is extended while a replacement is being loaded.
    pub(super) fn next_grace_end(&self) -> Option<Instant> {
        let idle = self.files.values().filter(|file| file.may_be_removed());
        idle.filter_map(|file| file.removal_at).min()
    }

    /// Takes plugins out of service whose grace period is over. A file that is being written again
    /// extends it.
    pub(super) fn end_grace_periods(&mut self, now: Instant, is_being_written: impl Fn(&Path) -> bool) {
        let over: Vec<PathBuf> = self
            .files
            .iter()
            .filter(|(_, file)| file.may_be_removed() && file.removal_at.is_some_and(|end| end <= now))
            .map(|(path, _)| path.clone())
            .collect();
        let (restored, over): (Vec<_>, Vec<_>) = over.into_iter().partition(|path| self.exists(path));
        for path in restored {
            if is_being_written(&path) {
                self.files.entry(path).and_modify(|file| file.removal_at = Some(now + GRACE));
            } else {
                self.sync_path(path);
            }
        }
        self.remove_files(over);
    }

    /// Removes files and their plugins. If another file of the same plugin name was ignored, the old
    /// version keeps serving until that one is loaded.
    fn remove_files(&mut self, paths: Vec<PathBuf>) {
        if paths.is_empty() {
            return;
        }
        let mut successors: HashMap<PluginId, PathBuf> = HashMap::new();
        let mut ignored: Vec<&PathBuf> = self.ignored.iter().collect();
        ignored.sort();
        for path in ignored {
            if let Some(Ok(id)) = files::plugin_of(path) {
                successors.entry(id).or_insert_with(|| path.clone());
            }
        }
        let (mut removed, mut inherited) = (Vec::new(), Vec::new());
        for path in paths {
            let Some(mut file) = self.files.remove(&path) else { continue };
            self.abort_load(file.number);
            if let Some(successor) = successors.remove(&file.id).filter(|successor| self.exists(successor)) {
                self.ignored.remove(&successor);
                self.owners.insert(file.id.clone(), successor.clone());
                // Results of loads of the old file must not be applied to this one.
                self.last_number += 1;
                (file.number, file.state, file.removal_at) = (self.last_number, LoadState::Idle, None);
                (file.held, file.refused_signers, file.reprieve) = (None, None, None);
                self.files.insert(successor.clone(), file);
                inherited.push(successor);
            } else {
                self.owners.remove(&file.id);
                removed.push(file);
            }
        }
        let served: Vec<PluginId> = removed.iter().filter(|file| file.serving).map(|file| file.id.clone()).collect();
        if !served.is_empty() {
            self.warn(self.catalog.remove(&served));
        }
        for id in served {
            self.emit(FolderEvent::Removed(id));
        }
        if !removed.is_empty() {
            self.guard.mark_missing(removed.into_iter().map(|file| file.id).collect());
        }
        self.expect_completions();
        for successor in inherited {
            self.sync_path(successor);
        }
        self.fill_places();
    }
}

impl File {
    /// Otherwise a load decides first. That of a version which is only listed would take long, for a file that is gone.
    fn may_be_removed(&self) -> bool {
        self.state == LoadState::Idle || self.compiling.is_some()
    }
}
