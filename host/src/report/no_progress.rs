//! Replaces `progress.rs` in a server-only build, which shows no progress.

use crate::catalog::FolderEvent;

pub(super) struct Progress;

impl Progress {
    pub(super) fn start() -> Self {
        Self
    }

    pub(super) fn show(&self, _event: &FolderEvent) {}

    pub(super) fn suspend(&self, write: impl FnOnce()) {
        write();
    }
}
