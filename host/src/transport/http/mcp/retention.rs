//! Limits the bytes that all streams retain for resumption: per caller, and in total.
//!
//! At a limit, the oldest stream that has ended is evicted: of the same caller, or of the one that
//! retains most. What a client then gets from an evicted stream is up to `replay`.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use super::replay::Replay;
use crate::byte_budget::{ByteBudget, Taken};
use crate::sync::lock;

/// From so many callers on, those without streams are removed.
const PRUNE_FROM: usize = 64;

/// The retained bytes of the whole process.
pub(super) struct Retention {
    whole: ByteBudget,
    per_caller: usize,
    known: Mutex<Known>,
    next: AtomicU64,
}

#[derive(Default)]
struct Known {
    callers: HashMap<Arc<str>, Weak<CallerRetention>>,
    /// Number of callers at which unused ones are removed.
    prune_at: usize,
}

/// The retained bytes of one caller.
pub(super) struct CallerRetention {
    budget: ByteBudget,
    all: Arc<Retention>,
    /// The streams that retain something, in order of eviction.
    streams: Mutex<BTreeMap<EvictionRank, Weak<Replay>>>,
}

/// The order of eviction: a stream whose last message was delivered is least likely to be resumed,
/// a running one is being awaited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    Delivered,
    Ended,
    Running,
}

pub(super) type EvictionRank = (Stage, u64);

impl Retention {
    /// Limits in bytes: in total, and per caller.
    pub(super) fn new(total: usize, per_caller: usize) -> Arc<Self> {
        let known = Mutex::new(Known { callers: HashMap::new(), prune_at: PRUNE_FROM });
        Arc::new(Self {
            whole: ByteBudget::new(total),
            per_caller: per_caller.min(total),
            known,
            next: AtomicU64::new(0),
        })
    }

    pub(super) fn of(self: &Arc<Self>, caller: &Arc<str>) -> Arc<CallerRetention> {
        let mut known = self.known();
        if let Some(retained) = known.callers.get(caller).and_then(Weak::upgrade) {
            return retained;
        }
        if known.callers.len() >= known.prune_at {
            known.callers.retain(|_, retained| retained.strong_count() > 0);
            known.prune_at = PRUNE_FROM.max(2 * known.callers.len());
        }
        let budget = self.whole.part(self.per_caller);
        let retained = Arc::new(CallerRetention { budget, all: self.clone(), streams: Mutex::default() });
        known.callers.insert(caller.clone(), Arc::downgrade(&retained));
        retained
    }

    /// The caller that retains most.
    fn largest(&self) -> Option<Arc<CallerRetention>> {
        let retention: Vec<_> = self.known().callers.values().filter_map(Weak::upgrade).collect();
        retention.into_iter().max_by_key(|retained| retained.budget.taken())
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        lock(&self.known)
    }

    #[cfg(test)]
    pub(super) fn taken(&self) -> usize {
        self.whole.taken()
    }
}

impl CallerRetention {
    /// Reserves bytes; evicts older streams if necessary.
    pub(super) fn reserve(&self, bytes: usize) -> Option<Taken> {
        // Otherwise all streams would be evicted without making enough space.
        if bytes > self.all.per_caller {
            return None;
        }
        loop {
            let full = match self.budget.try_take(bytes) {
                Ok(taken) => return Some(taken),
                Err(full) => full,
            };
            let first = if full.is(&self.budget) { self.pop_first() } else { self.all.largest()?.pop_first() };
            first?.evict();
        }
    }

    /// Reserves beyond the limits, for what is small or about to be read.
    pub(super) fn force_reserve(&self, bytes: usize) -> Taken {
        self.budget.take(bytes)
    }

    /// Adds a stream behind the others of its stage.
    pub(super) fn enqueue(&self, stage: Stage, stream: &Arc<Replay>) -> EvictionRank {
        let rank = (stage, self.all.next.fetch_add(1, Ordering::Relaxed));
        self.streams().insert(rank, Arc::downgrade(stream));
        rank
    }

    pub(super) fn dequeue(&self, rank: EvictionRank) {
        self.streams().remove(&rank);
    }

    /// Removes the stream that is to be evicted next.
    fn pop_first(&self) -> Option<Arc<Replay>> {
        let mut streams = self.streams();
        loop {
            let (_, stream) = streams.pop_first()?;
            if let Some(stream) = stream.upgrade() {
                return Some(stream);
            }
        }
    }

    fn streams(&self) -> MutexGuard<'_, BTreeMap<EvictionRank, Weak<Replay>>> {
        lock(&self.streams)
    }
}
