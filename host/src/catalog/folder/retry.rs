//! Reads again what could not be read because of the system, such as for lack of file descriptors.
//!
//! Such an error is not about a file, and no event follows when its cause is gone. So whatever had
//! changed would stay unread, a revoked grant in force.

use std::time::Duration;

use tokio::time::Instant;

use super::Folder;
use crate::catalog::watcher::Watcher;

const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// What has to be read again, besides each [`super::File::unread`].
#[derive(Default)]
pub(super) struct Retry {
    /// A folder could not be scanned.
    pub(super) scan: bool,
    at: Option<Instant>,
}

impl Folder {
    pub(super) fn next_retry(&self) -> Option<Instant> {
        self.retry.at
    }

    pub(super) fn retry_later(&mut self) {
        self.retry.at.get_or_insert_with(|| Instant::now() + RETRY_INTERVAL);
    }

    /// Has secrets read again that could not be read when the settings were applied.
    pub(super) fn retry_unread_settings(&mut self) {
        if self.has_unread_settings() {
            self.retry_later();
        }
    }

    pub(super) fn retry(&mut self, watcher: &mut Watcher) {
        self.retry.at = None;
        if std::mem::take(&mut self.retry.scan) {
            self.rescan(watcher);
        }
        for file in self.files.values_mut().filter(|file| file.unread.is_some()) {
            file.load_again();
        }
        self.start_loads();
        if self.has_unread_settings() {
            self.reconfigure();
        }
    }

    fn has_unread_settings(&self) -> bool {
        let settings = self.files.values().filter_map(|file| file.settings.as_ref());
        settings.into_iter().any(|settings| settings.grants.is_unread())
    }
}
