//! Progress of a server's first scan: a line at the end of the terminal, if stderr is one.

use std::io::{self, IsTerminal as _};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::catalog::FolderEvent;

/// Removed from the terminal on drop.
pub(super) struct Progress(ProgressBar);

impl Progress {
    pub(super) fn start() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template("{spinner} loading {pos}/{len}, {elapsed} {wide_msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self(bar)
    }

    pub(super) fn show(&self, event: &FolderEvent) {
        match event {
            // An empty folder has nothing to wait for.
            FolderEvent::Found(0) => {}
            FolderEvent::Found(count) => {
                self.0.set_length(*count as u64);
                if io::stderr().is_terminal() {
                    self.0.set_draw_target(ProgressDrawTarget::stderr());
                    self.0.enable_steady_tick(Duration::from_millis(100));
                }
            }
            FolderEvent::Loading(id) => self.0.set_message(id.to_string()),
            FolderEvent::Loaded { .. } | FolderEvent::Refused(_) | FolderEvent::Held(_) => self.0.inc(1),
            FolderEvent::Admitted(_)
            | FolderEvent::Unchanged(_)
            | FolderEvent::Reconfigured(_)
            | FolderEvent::Removed(_)
            | FolderEvent::Warned(_)
            | FolderEvent::FirstScanDone => {}
        }
    }

    /// Hides the line while something else is written.
    pub(super) fn suspend(&self, write: impl FnOnce()) {
        self.0.suspend(write);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
