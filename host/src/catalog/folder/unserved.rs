//! Files that are ignored, reported in batches: a folder of ten thousand is one mistake, not ten
//! thousand.

use std::path::PathBuf;
use std::time::Duration;

use tokio::time::Instant;

use super::Folder;
use crate::catalog::{FolderEvent, Refusal};

/// Ignored files within this time are reported together.
const TOGETHER: Duration = Duration::from_millis(100);
/// Maximum number of them reported by name.
const NAMED: usize = 16;

#[derive(Default)]
pub(super) struct Unserved {
    /// With the reason: a fragment that reads after "failed to".
    named: Vec<(PathBuf, String)>,
    more: usize,
    since: Option<Instant>,
}

impl Unserved {
    pub(super) fn due(&self) -> Option<Instant> {
        self.since.map(|since| since + TOGETHER)
    }
}

impl Folder {
    pub(super) fn refuse(&mut self, path: PathBuf, reason: String) {
        let unserved = &mut self.unserved;
        if unserved.named.len() < NAMED {
            unserved.named.push((path, reason));
        } else {
            unserved.more += 1;
        }
        unserved.since.get_or_insert_with(Instant::now);
    }

    pub(super) fn tell_unserved(&mut self) {
        let Unserved { named, more, .. } = std::mem::take(&mut self.unserved);
        let refused = |path, reason| Refusal { path, reason, hint: None, still_serving: false };
        for (path, reason) in named {
            self.tell(FolderEvent::Refused(refused(path, reason)));
        }
        if more > 0 {
            let reason = format!("serve {more} more files, not listed here");
            self.tell(FolderEvent::Refused(refused(self.root.clone(), reason)));
        }
    }
}
