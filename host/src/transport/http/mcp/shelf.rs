//! What the streams of all sessions keep together: so many bytes of one caller, and in all.
//!
//! Where there is no room, the oldest stream that has ended gives up what it keeps: of the same
//! caller, or of the one that keeps most. What a stream then says to those who come back for it
//! is not decided here.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::replay::Replay;
use crate::budget::{Budget, Taken};

/// Callers that are looked through for those that keep nothing any more, at least.
const FEW: usize = 64;

/// Of the whole process.
pub(super) struct Shelves {
    whole: Budget,
    of_one: usize,
    known: Mutex<Known>,
    next: AtomicU64,
}

#[derive(Default)]
struct Known {
    shelves: HashMap<Arc<str>, Weak<Shelf>>,
    /// So many are looked through again.
    many: usize,
}

/// Of one caller.
pub(super) struct Shelf {
    budget: Budget,
    all: Arc<Shelves>,
    /// Those that keep something; the first one goes first.
    streams: Mutex<BTreeMap<Rank, Weak<Replay>>>,
}

/// What goes before what. The last message of a stream that was given to a connection has most
/// likely arrived; what still runs is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    Given,
    Ended,
    Running,
}

pub(super) type Rank = (Stage, u64);

impl Shelves {
    /// Bytes in all, and of one caller.
    pub(super) fn new(most: usize, of_one: usize) -> Arc<Self> {
        let known = Mutex::new(Known { shelves: HashMap::new(), many: FEW });
        Arc::new(Self { whole: Budget::new(most), of_one: of_one.min(most), known, next: AtomicU64::new(0) })
    }

    pub(super) fn of(self: &Arc<Self>, caller: &Arc<str>) -> Arc<Shelf> {
        let mut known = self.known();
        if let Some(shelf) = known.shelves.get(caller).and_then(Weak::upgrade) {
            return shelf;
        }
        if known.shelves.len() >= known.many {
            known.shelves.retain(|_, shelf| shelf.strong_count() > 0);
            known.many = FEW.max(2 * known.shelves.len());
        }
        let budget = self.whole.part(self.of_one);
        let shelf = Arc::new(Shelf { budget, all: self.clone(), streams: Mutex::default() });
        known.shelves.insert(caller.clone(), Arc::downgrade(&shelf));
        shelf
    }

    /// That of the caller who keeps most.
    fn fullest(&self) -> Option<Arc<Shelf>> {
        let shelves: Vec<_> = self.known().shelves.values().filter_map(Weak::upgrade).collect();
        shelves.into_iter().max_by_key(|shelf| shelf.budget.taken())
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub(super) fn taken(&self) -> usize {
        self.whole.taken()
    }
}

impl Shelf {
    /// Room for so many bytes, if need be of what was kept before.
    pub(super) fn room(&self, bytes: usize) -> Option<Taken> {
        // All that others keep would go for nothing.
        if bytes > self.all.of_one {
            return None;
        }
        loop {
            let full = match self.budget.try_take(bytes) {
                Ok(taken) => return Some(taken),
                Err(full) => full,
            };
            let first = if full.is(&self.budget) { self.first() } else { self.all.fullest()?.first() };
            first?.give_up();
        }
    }

    /// Beyond the limits, for what is small or about to be read.
    pub(super) fn beyond(&self, bytes: usize) -> Taken {
        self.budget.take(bytes)
    }

    /// Puts a stream behind the others of its stage.
    pub(super) fn put(&self, stage: Stage, stream: &Arc<Replay>) -> Rank {
        let rank = (stage, self.all.next.fetch_add(1, Ordering::Relaxed));
        self.streams().insert(rank, Arc::downgrade(stream));
        rank
    }

    pub(super) fn take_out(&self, rank: Rank) {
        self.streams().remove(&rank);
    }

    /// Takes out the stream that goes first.
    fn first(&self) -> Option<Arc<Replay>> {
        let mut streams = self.streams();
        loop {
            let (_, stream) = streams.pop_first()?;
            if let Some(stream) = stream.upgrade() {
                return Some(stream);
            }
        }
    }

    fn streams(&self) -> MutexGuard<'_, BTreeMap<Rank, Weak<Replay>>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
