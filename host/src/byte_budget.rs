//! Hierarchical byte limits: per owner, per principal, and in total.
//!
//! A budget counts and wakes waiters; it holds no data itself. What is refused or evicted at a limit
//! is the owner's decision.

mod parts;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

pub use parts::Parts;

/// Maximum bytes of a small message. Budgets over all callers count small ones separately or not at all, so that large
/// messages of some cannot block ordinary ones of others.
pub const SMALL: usize = 64 << 10;

/// A limit, within the limits of its parent budget. Clones share the same budget.
#[derive(Clone, Debug)]
pub struct ByteBudget(Arc<Level>);

#[derive(Debug)]
struct Level {
    limit: usize,
    taken: AtomicUsize,
    parent: Option<ByteBudget>,
    /// Notified when usage falls to half of the limit.
    opened: Notify,
}

/// Reserved bytes, released on drop.
#[derive(Debug)]
#[must_use = "dropping it releases the bytes"]
pub struct Taken {
    of: ByteBudget,
    bytes: usize,
}

impl ByteBudget {
    pub fn new(limit: usize) -> Self {
        Self::level(limit, None)
    }

    /// A child budget: bytes taken from it are taken from both.
    pub fn part(&self, limit: usize) -> Self {
        Self::level(limit, Some(self.clone()))
    }

    fn level(limit: usize, parent: Option<Self>) -> Self {
        Self(Arc::new(Level { limit, taken: AtomicUsize::new(0), parent, opened: Notify::new() }))
    }

    /// # Errors
    /// The budget that has too few free bytes: this one, or one of its parents.
    pub fn try_take(&self, bytes: usize) -> Result<Taken, Self> {
        for level in self.levels() {
            let fits = |taken: usize| taken.checked_add(bytes).filter(|sum| *sum <= level.0.limit);
            if level.0.taken.try_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_err() {
                let below = self.levels().take_while(|below| !below.is(level));
                below.for_each(|below| below.release(bytes));
                return Err(level.clone());
            }
        }
        Ok(Taken { of: self.clone(), bytes })
    }

    /// Takes bytes even beyond the limits, for small data that exists already and must be counted.
    pub fn take(&self, bytes: usize) -> Taken {
        for level in self.levels() {
            level.0.taken.fetch_add(bytes, Ordering::Relaxed);
        }
        Taken { of: self.clone(), bytes }
    }

    /// Whether at most half of it and of each parent is taken. New work starts only while this holds:
    /// the other half is for the results of running work, whose size is not known yet.
    pub fn is_open(&self) -> bool {
        self.levels().all(Self::is_open_itself)
    }

    /// Waits until it is open.
    pub async fn open(&self) {
        while let Some(level) = self.levels().find(|level| !level.is_open_itself()) {
            // Registered before the check, so that no notification in between is lost.
            let opened = level.0.opened.notified();
            if !level.is_open_itself() {
                opened.await;
            }
        }
    }

    /// Bytes currently taken from it.
    pub fn taken(&self) -> usize {
        self.0.taken.load(Ordering::Relaxed)
    }

    /// Whether both are the same budget.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    fn is_open_itself(&self) -> bool {
        self.taken() <= self.0.limit / 2
    }

    fn release(&self, bytes: usize) {
        let before = self.0.taken.fetch_sub(bytes, Ordering::Relaxed);
        let half = self.0.limit / 2;
        if before > half && before - bytes <= half {
            self.0.opened.notify_waiters();
        }
    }

    /// This budget first, the root last.
    fn levels(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |level| level.0.parent.as_ref())
    }
}

impl Taken {
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Releases all but `bytes`.
    pub fn shrink_to(&mut self, bytes: usize) {
        let more = self.bytes.saturating_sub(bytes);
        self.bytes -= more;
        self.of.levels().for_each(|level| level.release(more));
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.of.levels().for_each(|level| level.release(self.bytes));
    }
}

#[cfg(test)]
mod tests;
