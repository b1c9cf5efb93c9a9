//! The grace period of plugins whose file is gone.
//!
//! Most programs that replace a file delete the old one first, or move it aside. So a plugin whose
//! file is gone keeps serving for a moment, and for as long as its replacement is being loaded.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::Instant;

use super::{Folder, State};
use crate::catalog::FolderEvent;
use crate::catalog::files::{self, MAX_PLUGINS};
use crate::plugin::PluginId;

/// Time from the removal of a file to that of its plugin.
const GRACE: Duration = Duration::from_secs(1);

impl Folder {
    /// Whether there is something of that name in a folder that counts.
    pub(super) fn is_there(&self, path: &Path) -> bool {
        let real = |folder: &Path| std::fs::symlink_metadata(folder).is_ok_and(|folder| folder.is_dir());
        std::fs::symlink_metadata(path).is_ok()
            && path.parent().is_some_and(|folder| folder == self.root || real(folder))
    }

    /// Notes that a file is gone.
    pub(super) fn miss(&mut self, path: &Path) {
        self.ignored.remove(path);
        self.surplus.remove(path);
        let Some(file) = self.files.get_mut(path) else { return };
        if file.serving {
            file.gone.get_or_insert_with(|| Instant::now() + GRACE);
        } else {
            self.end(vec![path.to_owned()]);
        }
    }

    /// When the next grace period ends that nothing prolongs.
    pub(super) fn next_end(&self) -> Option<Instant> {
        let resting = self.files.values().filter(|file| file.state == State::Resting);
        resting.filter_map(|file| file.gone).min()
    }

    /// Takes plugins out of service whose grace period is over. A file that is being written does not
    /// exist yet, but is not gone either.
    pub(super) fn end_graces(&mut self, now: Instant, is_written: impl Fn(&Path) -> bool) {
        let over: Vec<PathBuf> = self
            .files
            .iter()
            .filter(|(_, file)| file.state == State::Resting && file.gone.is_some_and(|end| end <= now))
            .map(|(path, _)| path.clone())
            .collect();
        let (back, over): (Vec<_>, Vec<_>) = over.into_iter().partition(|path| self.is_there(path));
        for path in back {
            if is_written(&path) {
                self.files.entry(path).and_modify(|file| file.gone = Some(now + GRACE));
            } else {
                self.look(path);
            }
        }
        self.end(over);
    }

    /// Forgets files. If another file of the same plugin name was waiting, the old version keeps
    /// serving until that one is loaded.
    fn end(&mut self, paths: Vec<PathBuf>) {
        if paths.is_empty() {
            return;
        }
        let mut heirs: HashMap<PluginId, PathBuf> = HashMap::new();
        let mut waiting: Vec<&PathBuf> = self.ignored.iter().collect();
        waiting.sort();
        for path in waiting {
            if let Some(Ok(id)) = files::plugin_of(path) {
                heirs.entry(id).or_insert_with(|| path.clone());
            }
        }
        let (mut ended, mut taken_over) = (Vec::new(), Vec::new());
        for path in paths {
            let Some(mut file) = self.files.remove(&path) else { continue };
            if let Some(heir) = heirs.remove(&file.id).filter(|heir| self.is_there(heir)) {
                self.ignored.remove(&heir);
                self.owners.insert(file.id.clone(), heir.clone());
                // A load of the other file does not concern this one.
                self.taken_up += 1;
                (file.number, file.state, file.gone) = (self.taken_up, State::Resting, None);
                (file.held, file.unsigned, file.reprieve) = (None, None, None);
                self.files.insert(heir.clone(), file);
                taken_over.push(heir);
            } else {
                self.owners.remove(&file.id);
                ended.push(file);
            }
        }
        let served: Vec<PluginId> = ended.iter().filter(|file| file.serving).map(|file| file.id.clone()).collect();
        if !served.is_empty() {
            self.warn(self.catalog.remove(&served));
        }
        for id in served {
            self.tell(FolderEvent::Removed(id));
        }
        if !ended.is_empty() {
            self.guard.miss(ended.into_iter().map(|file| file.id).collect());
        }
        self.expect_completions();
        for heir in taken_over {
            self.look(heir);
        }
        while self.files.len() < MAX_PLUGINS
            && let Some(next) = self.surplus.pop_first()
        {
            self.look(next);
        }
    }
}
