//! How many bytes may be kept for others: of one owner, of all that belong to one principal, and
//! in all.
//!
//! It counts and wakes; it keeps nothing itself. What is refused, or dropped to make room, is
//! decided by whoever keeps it.

mod parts;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

pub use parts::Parts;

/// A limit, within the limits of the budget that it is a part of. Clones are the same budget.
#[derive(Clone, Debug)]
pub struct Budget(Arc<Level>);

#[derive(Debug)]
struct Level {
    limit: usize,
    taken: AtomicUsize,
    whole: Option<Budget>,
    /// Told when it opens: when no more than half of it is taken any longer.
    opened: Notify,
}

/// Bytes that are taken, until this is dropped.
#[derive(Debug)]
#[must_use = "what is dropped is given back"]
pub struct Taken {
    of: Budget,
    bytes: usize,
}

impl Budget {
    pub fn new(limit: usize) -> Self {
        Self::level(limit, None)
    }

    /// A part of this one: what is taken of it is taken of both.
    pub fn part(&self, limit: usize) -> Self {
        Self::level(limit, Some(self.clone()))
    }

    fn level(limit: usize, whole: Option<Self>) -> Self {
        Self(Arc::new(Level { limit, taken: AtomicUsize::new(0), whole, opened: Notify::new() }))
    }

    /// # Errors
    /// The budget that has no room for so many bytes: this one, or one that it is a part of.
    pub fn try_take(&self, bytes: usize) -> Result<Taken, Self> {
        for level in self.levels() {
            let fits = |taken: usize| taken.checked_add(bytes).filter(|sum| *sum <= level.0.limit);
            if level.0.taken.try_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_err() {
                let below = self.levels().take_while(|below| !below.is(level));
                below.for_each(|below| below.give_back(bytes));
                return Err(level.clone());
            }
        }
        Ok(Taken { of: self.clone(), bytes })
    }

    /// Takes them also beyond the limits: for what exists already and is small, so that it is at
    /// least seen.
    pub fn take(&self, bytes: usize) -> Taken {
        for level in self.levels() {
            level.0.taken.fetch_add(bytes, Ordering::Relaxed);
        }
        Taken { of: self.clone(), bytes }
    }

    /// Whether no more than half of it is taken, nor of what it is a part of. Whoever makes things
    /// that are kept begins with another one only while this holds: the other half is for those
    /// that have begun, whose size nobody knows yet.
    pub fn is_open(&self) -> bool {
        self.levels().all(Self::is_open_itself)
    }

    /// Waits until it is open.
    pub async fn open(&self) {
        while let Some(level) = self.levels().find(|level| !level.is_open_itself()) {
            // Before the look, so that what is told meanwhile is not missed.
            let opened = level.0.opened.notified();
            if !level.is_open_itself() {
                opened.await;
            }
        }
    }

    /// Bytes that are taken of it.
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

    fn give_back(&self, bytes: usize) {
        let before = self.0.taken.fetch_sub(bytes, Ordering::Relaxed);
        let half = self.0.limit / 2;
        if before > half && before - bytes <= half {
            self.0.opened.notify_waiters();
        }
    }

    /// This one first, and the whole last.
    fn levels(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |level| level.0.whole.as_ref())
    }
}

impl Taken {
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Gives back what is more than so many bytes.
    pub fn shrink_to(&mut self, bytes: usize) {
        let more = self.bytes.saturating_sub(bytes);
        self.bytes -= more;
        self.of.levels().for_each(|level| level.give_back(more));
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.of.levels().for_each(|level| level.give_back(self.bytes));
    }
}

#[cfg(test)]
mod tests;
