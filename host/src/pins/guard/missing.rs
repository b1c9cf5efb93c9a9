//! Records in the pin file that the files of plugins were removed.
//!
//! A removal that cannot be recorded now is recorded when the pin file can be read and written again.

use std::collections::BTreeSet;
use std::sync::{Arc, MutexGuard};

use super::Guard;
use crate::plugin::PluginId;
use crate::sync::lock;

impl Guard {
    /// Records in the background that the files of plugins were removed.
    pub fn mark_missing(self: &Arc<Self>, ids: Vec<PluginId>) {
        let guard = self.clone();
        tokio::task::spawn_blocking(move || {
            guard.missing().extend(ids);
            guard.record_missing();
        });
    }

    /// Tries to record the removals that are not recorded yet. If that fails, [`super::Watch`] calls it again.
    pub(super) fn record_missing(&self) {
        // Locked until they are written: a plugin that is back must not be marked after it was pinned.
        let mut missing = self.missing();
        let Some(file) = self.file.as_ref().filter(|_| self.writes) else { return missing.clear() };
        if missing.is_empty() {
            return;
        }
        let Some(pins) = self.read_pins() else { return };
        missing.retain(|id| pins.get(id).is_some());
        if missing.is_empty() {
            return;
        }
        match file.update(|pins| missing.iter().for_each(|id| pins.mark_missing(id))) {
            Ok(()) => {
                missing.clear();
                self.record_write(true);
            }
            Err(error) => self.record_failed_update(error),
        }
    }

    /// Forgets removals of plugins whose files are there again.
    pub(super) fn unmark_missing<'p>(&self, ids: impl Iterator<Item = &'p PluginId>) {
        let mut missing = self.missing();
        for id in ids {
            missing.remove(id);
        }
    }

    fn missing(&self) -> MutexGuard<'_, BTreeSet<PluginId>> {
        lock(&self.missing)
    }
}

#[cfg(test)]
mod tests;
