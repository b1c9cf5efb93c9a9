//! Reports ignored files in batches: ten thousand in one folder are one mistake, not ten thousand.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::Instant;

use super::Folder;
use crate::catalog::files::{Ignored, MAX_NAMED};
use crate::catalog::{FolderEvent, RefusedFile};

/// Ignored files within this time are reported together.
const BATCH_DELAY: Duration = Duration::from_millis(100);

#[derive(Default)]
pub(super) struct Unserved {
    named: Vec<(PathBuf, Ignored)>,
    more: usize,
    since: Option<Instant>,
}

impl Unserved {
    /// Forgets a file that is loaded after all.
    pub(super) fn withdraw(&mut self, path: &Path) {
        self.named.retain(|(named, _)| named != path);
    }

    pub(super) fn next_due(&self) -> Option<Instant> {
        self.since.map(|since| since + BATCH_DELAY)
    }
}

impl Folder {
    pub(super) fn refuse(&mut self, path: PathBuf, reason: Ignored) {
        let unserved = &mut self.unserved;
        if unserved.named.len() < MAX_NAMED {
            unserved.named.push((path, reason));
        } else {
            unserved.more += 1;
        }
        unserved.since.get_or_insert_with(Instant::now);
    }

    /// As [`Folder::refuse`], without the name.
    pub(super) fn count_refused(&mut self) {
        self.unserved.more += 1;
        self.unserved.since.get_or_insert_with(Instant::now);
    }

    pub(super) fn emit_unserved(&mut self) {
        let Unserved { named, more, .. } = std::mem::take(&mut self.unserved);
        let rest = (more > 0).then(|| (self.root.clone(), Ignored::More(more)));
        for (path, reason) in named.into_iter().chain(rest) {
            self.emit(FolderEvent::Refused(RefusedFile::of_ignored(path, &reason)));
        }
    }
}
