//! Waits for changes of the pin file, and until it can be read or written again.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::{Interval, MissedTickBehavior};

use super::Guard;
use crate::pins::file::{PinChanges, PinFile};
use crate::sync::lock;

/// Interval between checks whether the pin file changed.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// Interval between write checks while the pin file cannot be written.
const RETRY_INTERVAL: Duration = Duration::from_secs(2);

/// See [`Guard::watch`].
pub struct Watch {
    guard: Arc<Guard>,
    ticks: Interval,
    file: Option<PinChanges>,
    /// The pin file was not writable at the last check.
    unwritable: bool,
}

impl Watch {
    /// Cancel-safe.
    pub async fn changed(&mut self) {
        loop {
            self.ticks.tick().await;
            if !self.guard.was_writable() {
                self.unwritable = true;
                let guard = self.guard.clone();
                // If this future is dropped, the check still completes and updates the guard.
                let _ = tokio::task::spawn_blocking(move || guard.is_writable(RETRY_INTERVAL)).await;
            }
            let writable_again = self.guard.was_writable() && std::mem::take(&mut self.unwritable);
            if writable_again {
                tracing::info!("the pin file is writable again");
                *lock(&self.guard.last_error) = None;
            }
            let file = self.file.as_mut();
            let unread = self.guard.unread.swap(false, Ordering::Relaxed);
            if file.is_some_and(PinChanges::take) || unread || writable_again {
                let guard = self.guard.clone();
                tokio::task::spawn_blocking(move || guard.record_missing());
                return;
            }
        }
    }
}

impl Guard {
    /// Wakes when the pin file changes, when it has to be read again because that failed, and when it
    /// becomes writable again.
    pub fn watch(self: &Arc<Self>) -> Watch {
        let mut ticks = tokio::time::interval(POLL_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        Watch { guard: self.clone(), ticks, file: self.file.as_ref().map(PinFile::changes), unwritable: false }
    }
}
