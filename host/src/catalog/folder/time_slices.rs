//! Which files are loaded, and for how long, while others wait.
//!
//! A component can take minutes to compile, by intent or by its size, and seconds to list nothing. It must not delay the
//! others, so files are loaded in time slices:
//!
//! - Those that used the fewest time slices start first; of these, plugins whose calls wait for their code, then those
//!   that have a pin, then those that wait for longer, and of those that came at the same time the smaller ones.
//! - A file that has used up its time slice, while one waits that has used no more of them, is stopped. What was compiled
//!   of it is lost, so each time slice is [`GROWTH`] times as long as the one before: in the end every file is compiled,
//!   and lost is little more than what it needs.
//! - The first ones are short if many files wait: all of them share [`PATIENCE`], down to what an ordinary plugin needs.
//!   Listing has one of its own, since an ordinary plugin lists in milliseconds.
//! - One compilation is left to files that have used none, however long the others run.
//!
//! Compiling ends with the file that asked for it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::task::Id;
use tokio::time::Instant;

use super::{File, Folder, Load, LoadState};
use crate::catalog::{FolderEvent, LoadStage, load_plugin};
use crate::os::files::Links;
use crate::os::stamp::Stamp;
use crate::plugin::Compiled;

/// Concurrent loads.
pub const PARALLEL_LOADS: usize = 4;
/// Those of them that may compile: they must not block those whose code is in the cache.
const PARALLEL_COMPILATIONS: usize = 3;
/// Those of them that have used up a time slice before.
const PARALLEL_SLOW: usize = PARALLEL_COMPILATIONS - 1;
/// What the first time slices of all waiting files take together, unless there are so many that each has the shortest
/// one.
const PATIENCE: Duration = Duration::from_secs(10);
/// The shortest and the longest first time slice of a compilation.
const COMPILING: (Duration, Duration) = if cfg!(test) {
    (Duration::from_millis(200), Duration::from_millis(200))
} else {
    (Duration::from_secs(2), Duration::from_secs(5))
};
/// Those of a listing, after its compilation. A listing has 2 s in all.
const LISTING: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(2));
/// Turns that are counted: the next one is longer than any compilation may take.
const MAX_SLICES: u32 = 4;
const GROWTH: u32 = 4;

impl Folder {
    /// First the files of which it is not known whether they have to be compiled: all that is compiled already, or
    /// known before, is served before the first compilation.
    pub(super) fn start_loads(&mut self) {
        self.limit_places();
        self.round += 1;
        for file in self.files.values_mut() {
            match file.state {
                LoadState::Queued | LoadState::Uncompiled => file.arrival = file.arrival.or(Some(self.round)),
                LoadState::Idle => file.arrival = None,
                LoadState::Loading | LoadState::Reloading => {}
            }
        }
        self.start_loads_of(LoadState::Queued, PARALLEL_LOADS);
        if !self.files.values().any(|file| file.state == LoadState::Queued) {
            self.start_loads_of(LoadState::Uncompiled, PARALLEL_COMPILATIONS);
        }
    }

    fn start_loads_of(&mut self, state: LoadState, limit: usize) {
        let compiles = state == LoadState::Uncompiled;
        while self.loads.len() < limit {
            let waiting = self.files.iter().filter(|(_, file)| file.state == state);
            let Some((path, file)) = waiting.min_by_key(|(_, file)| file.order()) else { return };
            if compiles && file.slices > 0 && self.slow_loads() >= PARALLEL_SLOW {
                return;
            }
            self.start_load(path.clone(), compiles);
        }
    }

    fn start_load(&mut self, path: PathBuf, compiles: bool) {
        let Some(file) = self.files.get_mut(&path) else { return };
        file.state = LoadState::Loading;
        if compiles {
            // This is its time slice; finding out whether it has to be compiled was not.
            file.arrival = None;
        }
        if !file.serving && !compiles {
            // The receiver may have been dropped.
            let _ = self.events.send(FolderEvent::Loading(file.id.clone()));
        }
        let (sandbox, guard, file_path) = (self.sandbox.clone(), self.guard.clone(), path.clone());
        let (id, settings, loaded) = (file.id.clone(), (self.settings)(&file.id), file.loaded);
        let with = settings.clone();
        let stage = LoadStage::new(compiles, self.stage_changed.clone());
        let of_task = stage.clone();
        let stamp = Stamp::of(&path, Links::Followed);
        let task = self
            .loads
            .spawn(async move { load_plugin(&sandbox, &guard, &file_path, &id, &with, loaded, &of_task).await });
        let load = Load {
            task: task.clone(),
            stage,
            slices: file.slices,
            is_stopped: false,
            is_replaced: false,
            stamp,
            path,
            number: file.number,
            started: Instant::now(),
            settings,
            signatures: self.guard.signatures(),
            decision_epoch: self.decision_epoch,
        };
        self.loading.insert(task.id(), load);
    }

    /// When the next load has used up its time slice that others, or its next version, wait for.
    pub(super) fn next_slice_end(&self) -> Option<Instant> {
        self.slice_ends().map(|(_, end, _)| end).min()
    }

    /// Lets files that wait be loaded in place of those that have used up their time slice, and stops no more than wait.
    pub(super) fn end_slices(&mut self, now: Instant) {
        let mut over: Vec<(Id, u32)> =
            self.slice_ends().filter(|(_, end, _)| *end <= now).map(|(task, _, slices)| (task, slices)).collect();
        // Those that lose the least.
        over.sort_by_key(|(task, _)| std::cmp::Reverse(self.loading.get(task).map(|load| load.started)));
        let waiting = self.waiting();
        let mut room = waiting.saturating_sub(self.loading.values().filter(|load| load.is_stopped).count());
        for (task, slices) in over {
            let Some(load) = self.loading.get_mut(&task).filter(|load| load.is_replaced || room > 0) else { continue };
            if !load.is_replaced {
                room -= 1;
            }
            (load.is_stopped, load.slices) = (true, slices);
            load.task.abort();
        }
    }

    /// The loads whose time slices end, when they do, and how many time slices each has used before that one.
    fn slice_ends(&self) -> impl Iterator<Item = (Id, Instant, u32)> {
        let waiting = self.waiting();
        let slow = self.slow_loads();
        let running = self.loading.iter().filter(|(_, load)| !load.is_stopped);
        running.filter_map(move |(task, load)| {
            let other = self.files.values().filter(|file| file.may_replace(load, slow)).map(|file| file.slices).min();
            // A load that runs for as long as several time slices has used those up.
            let slices = load.slices.max(other.or(load.is_replaced.then_some(0))?);
            let (since, range) = match load.stage.listing_since() {
                Some(since) => (since, LISTING),
                None if load.stage.compiles() || load.is_replaced => (load.started, COMPILING),
                None => return None,
            };
            Some((*task, since + first_slice(range, waiting) * GROWTH.pow(slices.min(MAX_SLICES)), slices))
        })
    }

    /// Ends the load of a file that was removed.
    pub(super) fn abort_load(&self, number: u64) {
        for load in self.loading.values().filter(|load| load.number == number) {
            load.task.abort();
        }
    }

    /// Lets the load of a file that was replaced end with its time slice. Most end before, and replacing a file often
    /// causes two events: the second one, like a scan of the folder, finds the file that is being loaded.
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
        file.slices = file.slices.max(load.slices + 1).min(MAX_SLICES);
        file.arrival = None;
        if file.state == LoadState::Reloading {
            file.state = LoadState::Queued;
            file.shorten_reprieve();
        } else {
            file.state = LoadState::Uncompiled;
        }
    }

    fn waiting(&self) -> usize {
        self.files.values().filter(|file| file.waits()).count()
    }

    fn slow_loads(&self) -> usize {
        self.loading.values().filter(|load| load.stage.compiles() && load.slices > 0).count()
    }
}

impl File {
    /// Files with the same order are loaded in path order. So are those below a mebibyte that came at the same time:
    /// among them, size says little about time.
    fn order(&self) -> (u32, bool, bool, Option<u64>, u64) {
        let is_awaited = self.compiling.as_ref().is_some_and(Compiled::is_awaited);
        (self.slices, !is_awaited, !self.is_known, self.arrival, self.size >> 20)
    }

    pub(super) fn waits(&self) -> bool {
        matches!(self.state, LoadState::Queued | LoadState::Uncompiled)
    }

    /// Whether it could start if that load ended.
    fn may_replace(&self, load: &Load, slow: usize) -> bool {
        match self.state {
            // One load is left to those that do not compile.
            LoadState::Queued => !load.stage.compiles(),
            LoadState::Uncompiled => {
                let is_slow = load.stage.compiles() && load.slices > 0;
                self.slices == 0 || is_slow || slow < PARALLEL_SLOW
            }
            LoadState::Idle | LoadState::Loading | LoadState::Reloading => false,
        }
    }
}

/// The first time slice of a load while so many files wait.
fn first_slice((shortest, longest): (Duration, Duration), waiting: usize) -> Duration {
    let share = PATIENCE / u32::try_from(waiting.max(1)).unwrap_or(u32::MAX);
    share.clamp(shortest, longest)
}

#[cfg(test)]
mod tests;
