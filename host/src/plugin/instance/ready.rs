//! Pre-instantiation: drops used instances and makes the next one while a thread is idle.
//!
//! A transport's thread runs `on_idle` when it waits for its client. If it does not, the next call
//! or the ticker drops the used instance. A plugin that is not called for a tenth of a second has no
//! ready instance. Each instance serves one call. docs/design/fast-path.md draws the sequence.
//!
//! Each thread has its own slot: memory that one thread allocates and another frees causes
//! contention in the allocator.

use std::cell::OnceCell;

use super::ticker::LINGER_TICKS;
use crate::sync::{Arc, AtomicUsize, Mutex, MutexGuard, Ordering, Weak, lock, thread_local};

/// Slots, one for each thread; threads beyond this share a slot.
pub(in crate::plugin) const THREAD_SLOTS: usize = 8;
/// Instances that exist in addition to those of running calls: one ready and one used per slot, and
/// as many being made or dropped.
pub(in crate::plugin) const MAX_EXTRA_INSTANCES: u32 = 4 * THREAD_SLOTS as u32;
/// Maximum memory, in bytes, of a used instance that is kept until its thread is idle; larger ones are
/// dropped at once. A plugin in Python takes 13.5 MiB, most of which it shares with all its instances.
pub(in crate::plugin) const MAX_RECYCLED: u64 = 16 << 20;

/// Makes instances; in production a `PreparedComponent`.
pub(in crate::plugin) trait Source: Sized {
    /// An instance that has not been called yet.
    type Ready;
    /// One that has served its call.
    type Used;
    /// While one exists, the ticker runs and ready instances are not cleared.
    type Busy;

    fn busy(self: &Arc<Self>) -> Self::Busy;

    /// Makes the next instance, if that can be done quickly.
    fn make(self: &Arc<Self>) -> Option<Self::Ready>;
}

pub(in crate::plugin) struct ReadyInstances<S: Source> {
    slots: [Mutex<Slot<S>>; THREAD_SLOTS],
    /// Threads numbered so far.
    threads: AtomicUsize,
}

struct Slot<S: Source> {
    /// The source of the last instance that was recycled here.
    last: Weak<S>,
    /// An instance of that source.
    ready: Option<S::Ready>,
    /// Another thread that shares this slot is making one.
    is_making: bool,
    used: Option<S::Used>,
    /// Ticks since the slot was last used.
    idle_ticks: u32,
}

impl<S: Source> Default for Slot<S> {
    fn default() -> Self {
        Self { last: Weak::new(), ready: None, is_making: false, used: None, idle_ticks: 0 }
    }
}

impl<S: Source> Slot<S> {
    fn is_of(&self, source: &S) -> bool {
        std::ptr::eq(self.last.as_ptr(), source)
    }

    /// Empties the slot and returns its contents. A thread that is creating an instance continues, and
    /// drops it.
    fn clear(&mut self) -> Self {
        let empty = Self { is_making: self.is_making, ..Self::default() };
        std::mem::replace(self, empty)
    }
}

impl<S: Source> ReadyInstances<S> {
    pub(in crate::plugin) fn new() -> Self {
        Self { slots: Default::default(), threads: AtomicUsize::new(0) }
    }

    /// An instance of this source, if one is ready.
    pub(in crate::plugin) fn take(&self, source: &S) -> Option<S::Ready> {
        let mut slot = self.slot();
        if !slot.is_of(source) {
            return None;
        }
        slot.idle_ticks = 0;
        slot.ready.take()
    }

    /// Keeps the instance of a successful call, to be dropped when the thread is idle.
    pub(in crate::plugin) fn recycle(&self, source: &Arc<S>, used: S::Used) {
        let mut slot = self.slot();
        slot.idle_ticks = 0;
        let used = slot.used.replace(used);
        let ready = if slot.is_of(source) {
            None
        } else {
            slot.last = Arc::downgrade(source);
            slot.ready.take()
        };
        // Outside the lock.
        drop(slot);
        drop((used, ready));
    }

    /// Drops the used instance and makes the next one.
    pub(in crate::plugin) fn on_idle(&self) {
        let mut slot = self.slot();
        let used = slot.used.take();
        let wanted = if slot.ready.is_none() && !slot.is_making { slot.last.upgrade() } else { None };
        slot.is_making |= wanted.is_some();
        drop(slot);
        drop(used);
        let Some(source) = wanted else { return };
        // Until the instance is in the slot: the ticker must not stop before.
        let _busy = source.busy();
        let ready = source.make();
        let mut slot = self.slot();
        slot.is_making = false;
        if ready.is_none() {
            slot.last = Weak::new();
        }
        let surplus = if slot.is_of(&source) { std::mem::replace(&mut slot.ready, ready) } else { ready };
        drop(slot);
        drop(surplus);
    }

    /// Called at each tick: drops instances of slots that have been idle for `LINGER_TICKS`.
    pub(in crate::plugin) fn age(&self) {
        for slot in &self.slots {
            let mut slot = lock(slot);
            slot.idle_ticks = slot.idle_ticks.saturating_add(1);
            if slot.idle_ticks == LINGER_TICKS {
                let taken = slot.clear();
                drop(slot);
                drop(taken);
            }
        }
    }

    /// Drops all instances.
    pub(in crate::plugin) fn clear(&self) {
        for slot in &self.slots {
            let taken = lock(slot).clear();
            drop(taken);
        }
    }

    /// Instances that are ready.
    pub(in crate::plugin) fn count(&self) -> usize {
        self.slots.iter().filter(|slot| lock(slot).ready.is_some()).count()
    }

    #[cfg(test)]
    pub(in crate::plugin) fn is_ready(&self) -> bool {
        self.count() > 0
    }

    /// The slot of the current thread.
    fn slot(&self) -> MutexGuard<'_, Slot<S>> {
        thread_local! {
            /// The thread's number. Any number works, as long as few threads share one.
            static NUMBER: OnceCell<usize> = const { OnceCell::new() };
        }
        let next = || self.threads.fetch_add(1, Ordering::Relaxed);
        let number = NUMBER.with(|number| *number.get_or_init(next));
        lock(&self.slots[number % THREAD_SLOTS])
    }
}
