//! Which files are compiled, and for how long, while others wait.
//!
//! A component can take minutes to compile, by intent or by its size. Such a file must not delay the others: after
//! [`TURN`], two files may go on as slow ones, and any more of them make room for files that had no turn yet. Compiling
//! ends with the file that asked for it.

use std::path::Path;
use std::time::Duration;

use tokio::task::Id;
use tokio::time::Instant;

use super::{Folder, LoadState};
use crate::os::files::Links;
use crate::os::stamp::Stamp;

/// Concurrent loads.
pub(super) const PARALLEL_LOADS: usize = 4;
/// Those of them that may compile: they must not block those whose code is in the cache.
const PARALLEL_COMPILATIONS: usize = 3;
/// Those of them that have used up their turn.
const PARALLEL_SLOW: usize = PARALLEL_COMPILATIONS - 1;
/// How long a file is compiled, at least, while others wait for their first turn.
const TURN: Duration = if cfg!(test) { Duration::from_millis(200) } else { Duration::from_secs(5) };

impl Folder {
    /// First the files of which it is not known whether they have to be compiled: all that is compiled already, or
    /// known before, is served before the first compilation.
    pub(super) fn start_loads(&mut self) {
        self.start_loads_of(LoadState::Queued, PARALLEL_LOADS);
        if self.is_any(&LoadState::Queued) {
            return;
        }
        self.start_loads_of(LoadState::Uncompiled, PARALLEL_COMPILATIONS);
        if !self.is_any(&LoadState::Uncompiled) {
            let slow = PARALLEL_SLOW.saturating_sub(self.slow_loads());
            self.start_loads_of(LoadState::Slow, PARALLEL_COMPILATIONS.min(self.loads.len() + slow));
        }
    }

    /// When the next file has used up its turn that others, or its next version, wait for.
    pub(super) fn next_turn_end(&self) -> Option<Instant> {
        let waits = self.is_any(&LoadState::Uncompiled);
        let in_turn =
            self.loading.values().filter(|load| load.compiles && (waits && !load.is_slow || load.is_replaced));
        in_turn.map(|load| Instant::from_std(load.started) + TURN).min()
    }

    /// Lets files that had no turn be compiled, in place of those that have used up theirs.
    pub(super) fn end_turns(&mut self, now: Instant) {
        let waits = self.is_any(&LoadState::Uncompiled);
        let mut slow = self.slow_loads();
        for load in self.loading.values_mut().filter(|load| load.compiles) {
            if Instant::from_std(load.started) + TURN > now {
                continue;
            }
            if load.is_replaced {
                load.task.abort();
            } else if waits && !load.is_slow {
                load.is_slow = true;
                if slow < PARALLEL_SLOW {
                    slow += 1;
                } else {
                    load.task.abort();
                }
            }
        }
    }

    /// Ends the load of a file that was removed.
    pub(super) fn abort_load(&self, number: u64) {
        for load in self.loading.values().filter(|load| load.number == number) {
            load.task.abort();
        }
    }

    /// Lets the load of a file that was replaced end with its turn. Most end before, and replacing a file often causes
    /// two events: the second one, like a scan of the folder, finds the file that is being loaded.
    pub(super) fn mark_replaced(&mut self, path: &Path) {
        let Some(file) = self.files.get(path).filter(|file| file.state == LoadState::Reloading) else { return };
        for load in self.loading.values_mut().filter(|load| load.number == file.number) {
            load.is_replaced |= Stamp::of(path, Links::Followed) != load.stamp;
        }
    }

    /// Queues the file of an aborted load again, if it is still there.
    pub(super) fn finish_aborted(&mut self, task: Id) {
        let Some(load) = self.loading.remove(&task) else { return };
        let Some(file) = self.files.get_mut(&load.path).filter(|file| file.number == load.number) else { return };
        if file.state == LoadState::Reloading {
            file.state = LoadState::Queued;
            file.shorten_reprieve();
        } else {
            file.state = LoadState::Slow;
        }
    }

    fn slow_loads(&self) -> usize {
        self.loading.values().filter(|load| load.is_slow).count()
    }

    fn is_any(&self, state: &LoadState) -> bool {
        self.files.values().any(|file| file.state == *state)
    }
}

#[cfg(test)]
mod tests;
