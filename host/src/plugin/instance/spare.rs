//! What short calls leave to be done between calls: to take their instances down, and to make
//! the next one.
//!
//! Whoever brings calls says when it waits for the next (`Runtime::on_idle`).
//! Where nobody does, the next call does it, or the ticker: a plugin that is not called for a
//! tenth of a second keeps no instance. Each instance still serves one call.
//!
//! A thread finds what it has left itself: memory that one thread takes and another gives back
//! has both wait for the allocator.

use std::cell::OnceCell;

use super::ticker::LINGER_TICKS;
use crate::sync::{Arc, AtomicUsize, Mutex, MutexGuard, Ordering, PoisonError, Weak, thread_local};

/// More threads than this share them.
pub(in crate::plugin) const SHELVES: usize = 8;
/// Instances that exist beside those of the calls that run: on each shelf one that is ready and
/// one that is used. As many again may be on their way to a shelf, or be taken down.
pub(in crate::plugin) const BESIDE: u32 = 4 * SHELVES as u32;
/// Bytes; an instance that has taken more is taken down at once.
pub(in crate::plugin) const LIGHT: u64 = 4 << 20;

/// What instances are made of.
pub(in crate::plugin) trait Source: Sized {
    /// An instance that nobody has called yet.
    type Ready;
    /// One that has served its call.
    type Used;
    /// While one of these lives, nothing is taken down for want of calls.
    type Busy;

    fn busy(self: &Arc<Self>) -> Self::Busy;

    /// Makes the next one, if that can be done quickly.
    fn make(self: &Arc<Self>) -> Option<Self::Ready>;
}

pub(in crate::plugin) struct Spares<S: Source> {
    shelves: [Mutex<Shelf<S>>; SHELVES],
    /// Threads that have come.
    threads: AtomicUsize,
}

struct Shelf<S: Source> {
    /// Whose call was the last that was short.
    last: Weak<S>,
    /// Of that source.
    ready: Option<S::Ready>,
    /// Somebody makes one: two would be one too many.
    making: bool,
    used: Option<S::Used>,
    /// Ticks since something was last taken from here or put here.
    quiet: u32,
}

impl<S: Source> Default for Shelf<S> {
    fn default() -> Self {
        Self { last: Weak::new(), ready: None, making: false, used: None, quiet: 0 }
    }
}

impl<S: Source> Shelf<S> {
    fn is_of(&self, source: &S) -> bool {
        std::ptr::eq(self.last.as_ptr(), source)
    }

    /// What was on it. Who is making one goes on, and finds that it is not wanted any more.
    fn clear(&mut self) -> Self {
        let empty = Self { making: self.making, ..Self::default() };
        std::mem::replace(self, empty)
    }
}

impl<S: Source> Spares<S> {
    pub(in crate::plugin) fn new() -> Self {
        Self { shelves: Default::default(), threads: AtomicUsize::new(0) }
    }

    /// An instance of this source, if one is ready.
    pub(in crate::plugin) fn take(&self, source: &S) -> Option<S::Ready> {
        let mut shelf = self.shelf();
        if !shelf.is_of(source) {
            return None;
        }
        shelf.quiet = 0;
        shelf.ready.take()
    }

    /// Leaves the instance of a call that went well for later.
    pub(in crate::plugin) fn put_away(&self, source: &Arc<S>, used: S::Used) {
        let mut shelf = self.shelf();
        shelf.quiet = 0;
        let used = shelf.used.replace(used);
        let ready = if shelf.is_of(source) {
            None
        } else {
            shelf.last = Arc::downgrade(source);
            shelf.ready.take()
        };
        // Not while others wait for the shelf.
        drop(shelf);
        drop((used, ready));
    }

    /// Does what there is to do.
    pub(in crate::plugin) fn on_idle(&self) {
        let mut shelf = self.shelf();
        let used = shelf.used.take();
        let wanting = if shelf.ready.is_none() && !shelf.making { shelf.last.upgrade() } else { None };
        shelf.making |= wanting.is_some();
        drop(shelf);
        drop(used);
        let Some(source) = wanting else { return };
        // Until it is on the shelf: the ticker must not fall asleep before.
        let _busy = source.busy();
        let ready = source.make();
        let mut shelf = self.shelf();
        shelf.making = false;
        if ready.is_none() {
            shelf.last = Weak::new();
        }
        let other = if shelf.is_of(&source) { std::mem::replace(&mut shelf.ready, ready) } else { ready };
        drop(shelf);
        drop(other);
    }

    /// Called at each tick: takes down what nobody has come for.
    pub(in crate::plugin) fn age(&self) {
        for shelf in &self.shelves {
            let mut shelf = lock(shelf);
            shelf.quiet = shelf.quiet.saturating_add(1);
            if shelf.quiet == LINGER_TICKS {
                let taken = shelf.clear();
                drop(shelf);
                drop(taken);
            }
        }
    }

    /// Takes everything down.
    pub(in crate::plugin) fn clear(&self) {
        for shelf in &self.shelves {
            let taken = lock(shelf).clear();
            drop(taken);
        }
    }

    #[cfg(test)]
    pub(in crate::plugin) fn is_ready(&self) -> bool {
        self.shelves.iter().any(|shelf| lock(shelf).ready.is_some())
    }

    /// That of the thread that asks.
    fn shelf(&self) -> MutexGuard<'_, Shelf<S>> {
        thread_local! {
            /// The how many-th it was. Any number will do, if few threads have the same.
            static NUMBER: OnceCell<usize> = const { OnceCell::new() };
        }
        let next = || self.threads.fetch_add(1, Ordering::Relaxed);
        let number = NUMBER.with(|number| *number.get_or_init(next));
        lock(&self.shelves[number % SHELVES])
    }
}

fn lock<T>(shelf: &Mutex<T>) -> MutexGuard<'_, T> {
    shelf.lock().unwrap_or_else(PoisonError::into_inner)
}
