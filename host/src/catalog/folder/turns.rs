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

    /// When the next file has used up its turn that others wait for.
    pub(super) fn next_turn_end(&self) -> Option<Instant> {
        if !self.is_any(&LoadState::Uncompiled) {
            return None;
        }
        let in_turn = self.loading.values().filter(|load| load.compiles && !load.is_slow);
        in_turn.map(|load| Instant::from_std(load.started) + TURN).min()
    }

    /// Lets files that had no turn be compiled, in place of those that have used up theirs.
    pub(super) fn end_turns(&mut self, now: Instant) {
        if !self.is_any(&LoadState::Uncompiled) {
            return;
        }
        let mut slow = self.slow_loads();
        for load in self.loading.values_mut() {
            if load.compiles && !load.is_slow && Instant::from_std(load.started) + TURN <= now {
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

    /// Ends the load of a file that was replaced, if it is not about to end by itself: replacing a file often causes
    /// two events.
    pub(super) fn abort_replaced(&self, path: &Path) {
        let Some(file) = self.files.get(path).filter(|file| file.state == LoadState::Reloading) else { return };
        for load in self.loading.values().filter(|load| load.number == file.number) {
            if load.started.elapsed() >= TURN {
                load.task.abort();
            }
        }
    }

    /// Queues the file of an aborted load again, if it is still there.
    pub(super) fn finish_aborted(&mut self, task: Id) {
        let Some(load) = self.loading.remove(&task) else { return };
        let Some(file) = self.files.get_mut(&load.path).filter(|file| file.number == load.number) else { return };
        file.state = if file.state == LoadState::Reloading { LoadState::Queued } else { LoadState::Slow };
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
