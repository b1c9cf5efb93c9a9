//! Pre-instantiation: drops used instances and makes the next one while a thread is idle.
//!
//! A transport's thread runs `on_idle` when it waits for its client. Without that, the next call
//! does the work, or the ticker: a plugin that is not called for a tenth of a second keeps no
//! instance. Each instance still serves one call. docs/design/fast-path.md draws the sequence.
//!
//! Each thread has a slot of its own, since memory that one thread allocates and another frees
//! makes both wait for the allocator.

use std::cell::OnceCell;

use super::ticker::LINGER_TICKS;
use crate::sync::{Arc, AtomicUsize, Mutex, MutexGuard, Ordering, PoisonError, Weak, thread_local};

/// Slots, one for each thread; threads beyond this share a slot.
pub(in crate::plugin) const SHARDS: usize = 8;
/// Instances that exist beside those of running calls: one ready and one used in each slot, and
/// as many on their way there or being dropped.
pub(in crate::plugin) const BESIDE: u32 = 4 * SHARDS as u32;
/// Bytes of memory of a used instance that is kept until its thread is idle; larger ones are
/// dropped at once.
pub(in crate::plugin) const MAX_RECYCLED: u64 = 4 << 20;

/// What instances are made of.
pub(in crate::plugin) trait Source: Sized {
    /// An instance that nobody has called yet.
    type Ready;
    /// One that has served its call.
    type Used;
    /// While one exists, the clock runs and ready instances are not cleared.
    type Busy;

    fn busy(self: &Arc<Self>) -> Self::Busy;

    /// Makes the next one, if that can be done quickly.
    fn make(self: &Arc<Self>) -> Option<Self::Ready>;
}

pub(in crate::plugin) struct ReadyInstances<S: Source> {
    shards: [Mutex<Shard<S>>; SHARDS],
    /// Threads numbered so far.
    threads: AtomicUsize,
}

struct Shard<S: Source> {
    /// The source of the last instance that was recycled here.
    last: Weak<S>,
    /// An instance of that source.
    ready: Option<S::Ready>,
    /// Another thread of this slot is making one.
    making: bool,
    used: Option<S::Used>,
    /// Ticks since the slot was last used.
    idle_ticks: u32,
}

impl<S: Source> Default for Shard<S> {
    fn default() -> Self {
        Self { last: Weak::new(), ready: None, making: false, used: None, idle_ticks: 0 }
    }
}

impl<S: Source> Shard<S> {
    fn is_of(&self, source: &S) -> bool {
        std::ptr::eq(self.last.as_ptr(), source)
    }

    /// What was on it. Who is making one goes on, and finds that it is not wanted any more.
    fn clear(&mut self) -> Self {
        let empty = Self { making: self.making, ..Self::default() };
        std::mem::replace(self, empty)
    }
}

impl<S: Source> ReadyInstances<S> {
    pub(in crate::plugin) fn new() -> Self {
        Self { shards: Default::default(), threads: AtomicUsize::new(0) }
    }

    /// An instance of this source, if one is ready.
    pub(in crate::plugin) fn take(&self, source: &S) -> Option<S::Ready> {
        let mut shard = self.shard();
        if !shard.is_of(source) {
            return None;
        }
        shard.idle_ticks = 0;
        shard.ready.take()
    }

    /// Leaves the instance of a call that went well for later.
    pub(in crate::plugin) fn recycle(&self, source: &Arc<S>, used: S::Used) {
        let mut shard = self.shard();
        shard.idle_ticks = 0;
        let used = shard.used.replace(used);
        let ready = if shard.is_of(source) {
            None
        } else {
            shard.last = Arc::downgrade(source);
            shard.ready.take()
        };
        // Not while others wait for the shard.
        drop(shard);
        drop((used, ready));
    }

    /// Does what there is to do.
    pub(in crate::plugin) fn on_idle(&self) {
        let mut shard = self.shard();
        let used = shard.used.take();
        let wanting = if shard.ready.is_none() && !shard.making { shard.last.upgrade() } else { None };
        shard.making |= wanting.is_some();
        drop(shard);
        drop(used);
        let Some(source) = wanting else { return };
        // Until it is on the shard: the ticker must not fall asleep before.
        let _busy = source.busy();
        let ready = source.make();
        let mut shard = self.shard();
        shard.making = false;
        if ready.is_none() {
            shard.last = Weak::new();
        }
        let other = if shard.is_of(&source) { std::mem::replace(&mut shard.ready, ready) } else { ready };
        drop(shard);
        drop(other);
    }

    /// Called at each tick: takes down what nobody has come for.
    pub(in crate::plugin) fn age(&self) {
        for shard in &self.shards {
            let mut shard = lock(shard);
            shard.idle_ticks = shard.idle_ticks.saturating_add(1);
            if shard.idle_ticks == LINGER_TICKS {
                let taken = shard.clear();
                drop(shard);
                drop(taken);
            }
        }
    }

    /// Takes everything down.
    pub(in crate::plugin) fn clear(&self) {
        for shard in &self.shards {
            let taken = lock(shard).clear();
            drop(taken);
        }
    }

    #[cfg(test)]
    pub(in crate::plugin) fn is_ready(&self) -> bool {
        self.shards.iter().any(|shard| lock(shard).ready.is_some())
    }

    /// That of the thread that asks.
    fn shard(&self) -> MutexGuard<'_, Shard<S>> {
        thread_local! {
            /// The how many-th it was. Any number will do, if few threads have the same.
            static NUMBER: OnceCell<usize> = const { OnceCell::new() };
        }
        let next = || self.threads.fetch_add(1, Ordering::Relaxed);
        let number = NUMBER.with(|number| *number.get_or_init(next));
        lock(&self.shards[number % SHARDS])
    }
}

fn lock<T>(shard: &Mutex<T>) -> MutexGuard<'_, T> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}
