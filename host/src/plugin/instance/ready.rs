//! Pre-instantiation: drops used instances and makes the next one while a thread is idle.
//!
//! A transport's thread runs `on_idle` when it waits for its client. If it does not, the next call
//! or the ticker drops the used instance. A plugin that is not called for a tenth of a second has no
//! ready instance; of those that are, each thread has one. Each instance serves one call.
//! docs/design/fast-path.md draws the sequence.
//!
//! Each thread has its own slot: memory that one thread allocates and another frees causes
//! contention in the allocator.

use std::cell::OnceCell;

use super::ticker::LINGER_TICKS;
use crate::sync::{Arc, AtomicUsize, Mutex, MutexGuard, Ordering, Weak, lock, thread_local};

/// Slots, one for each thread; threads beyond this share a slot.
pub(in crate::plugin) const THREAD_SLOTS: usize = 8;
/// Sources of which a slot keeps a ready instance. Who calls more of them at random makes some when they are called.
const SOURCES: usize = 24;
/// Instances that exist in addition to those of running calls: in each slot the ready ones and a used one, and one being
/// made and one dropped.
pub(in crate::plugin) const MAX_EXTRA_INSTANCES: u32 = (SOURCES as u32 + 3) * THREAD_SLOTS as u32;
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

/// What one thread keeps. Where threads share it, one at a time makes an instance.
struct Slot<S: Source> {
    /// The source of the last instance that was recycled here first, and then those before.
    kept: Vec<Kept<S>>,
    used: Option<S::Used>,
    is_making: bool,
}

struct Kept<S: Source> {
    source: Weak<S>,
    ready: Option<S::Ready>,
    /// Ticks since it was last used.
    idle_ticks: u32,
}

impl<S: Source> Default for Slot<S> {
    fn default() -> Self {
        Self { kept: Vec::new(), used: None, is_making: false }
    }
}

impl<S: Source> Slot<S> {
    fn position(&self, source: &S) -> Option<usize> {
        self.kept.iter().position(|kept| std::ptr::eq(kept.source.as_ptr(), source))
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
        let at = slot.position(source)?;
        let kept = &mut slot.kept[at];
        kept.idle_ticks = 0;
        kept.ready.take()
    }

    /// Keeps the instance of a successful call, to be dropped when the thread is idle.
    pub(in crate::plugin) fn recycle(&self, source: &Arc<S>, used: S::Used) {
        let mut slot = self.slot();
        let used = slot.used.replace(used);
        let mut oldest = None;
        if let Some(at) = slot.position(source) {
            slot.kept[..=at].rotate_right(1);
            slot.kept[0].idle_ticks = 0;
        } else {
            if slot.kept.len() == SOURCES {
                oldest = slot.kept.pop();
            }
            slot.kept.insert(0, Kept { source: Arc::downgrade(source), ready: None, idle_ticks: 0 });
        }
        // Outside the lock.
        drop(slot);
        drop((used, oldest));
    }

    /// Drops the used instance and makes the next one of its source.
    pub(in crate::plugin) fn on_idle(&self) {
        let mut slot = self.slot();
        let used = slot.used.take();
        let is_wanted = |kept: &&Kept<S>| kept.ready.is_none();
        let wanted = if slot.is_making { None } else { slot.kept.first().filter(is_wanted) };
        let wanted = wanted.and_then(|kept| kept.source.upgrade());
        slot.is_making |= wanted.is_some();
        drop(slot);
        drop(used);
        let Some(source) = wanted else { return };
        // Until the instance is in the slot: the ticker must not stop before.
        let _busy = source.busy();
        let ready = source.make();
        let mut slot = self.slot();
        slot.is_making = false;
        let surplus = match slot.position(&source) {
            Some(at) if ready.is_none() => slot.kept.remove(at).ready,
            Some(at) => std::mem::replace(&mut slot.kept[at].ready, ready),
            None => ready,
        };
        drop(slot);
        drop(surplus);
    }

    /// Called at each tick: drops instances that have been idle for `LINGER_TICKS`.
    pub(in crate::plugin) fn age(&self) {
        for slot in &self.slots {
            let mut slot = lock(slot);
            let is_old = |kept: &mut Kept<S>| {
                kept.idle_ticks += 1;
                kept.idle_ticks >= LINGER_TICKS
            };
            let old: Vec<_> = slot.kept.extract_if(.., is_old).collect();
            let used = if slot.kept.is_empty() { slot.used.take() } else { None };
            drop(slot);
            drop((old, used));
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
        let of_slot = |slot: &Mutex<Slot<S>>| lock(slot).kept.iter().filter(|kept| kept.ready.is_some()).count();
        self.slots.iter().map(of_slot).sum()
    }

    /// Whether one of this source is.
    #[cfg(test)]
    pub(in crate::plugin) fn is_ready(&self, source: &S) -> bool {
        let of_slot = |slot: &Mutex<Slot<S>>| {
            let slot = lock(slot);
            slot.position(source).is_some_and(|at| slot.kept[at].ready.is_some())
        };
        self.slots.iter().any(of_slot)
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
