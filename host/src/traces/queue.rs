//! Traces that wait to be exported: bounded, shared fairly by callers, and taken in batches, so that a request wakes
//! nobody.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Instant;

use super::trace::Ended;
use crate::sync::lock;

/// What has ended and is not exported yet.
pub struct Queue {
    max: usize,
    batch: usize,
    waiting: Mutex<Waiting>,
    is_ready: Condvar,
}

#[derive(Default)]
struct Waiting {
    /// By caller.
    ended: HashMap<Arc<str>, Vec<Ended>>,
    /// Of all callers.
    count: usize,
    dropped: u64,
    is_closed: bool,
}

/// What was taken.
pub struct Batch {
    pub ended: Vec<Ended>,
    /// Requests that were not kept, since so many were waiting.
    pub dropped: u64,
    /// Nothing is to come.
    pub is_closed: bool,
}

impl Queue {
    /// Keeps `max` requests, and is ready with `batch` of them.
    pub fn new(max: usize, batch: usize) -> Self {
        Self { max, batch: batch.clamp(1, max.max(1)), waiting: Mutex::default(), is_ready: Condvar::new() }
    }

    /// If it is full, the caller who has most in it gives way, so that one who sends much takes no room of the others.
    pub(super) fn push(&self, caller: &Arc<str>, ended: Ended) {
        let mut waiting = lock(&self.waiting);
        let is_full = waiting.count >= self.max;
        if waiting.is_closed || is_full && !waiting.make_room_for(caller) {
            waiting.dropped += 1;
            return;
        }
        waiting.ended.entry(caller.clone()).or_default().push(ended);
        waiting.count += 1;
        if waiting.count == self.batch {
            self.is_ready.notify_one();
        }
    }

    /// Waits for a batch until that time, then takes all there is.
    pub fn take(&self, until: Instant) -> Batch {
        let mut waiting = lock(&self.waiting);
        while waiting.count < self.batch && !waiting.is_closed {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            waiting = self.is_ready.wait_timeout(waiting, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        let is_closed = waiting.is_closed;
        let taken = std::mem::replace(&mut *waiting, Waiting { is_closed, ..Waiting::default() });
        drop(waiting);
        Batch { ended: taken.ended.into_values().flatten().collect(), dropped: taken.dropped, is_closed }
    }

    /// Keeps nothing that comes after this.
    pub fn close(&self) {
        lock(&self.waiting).is_closed = true;
        self.is_ready.notify_one();
    }
}

impl Waiting {
    /// Drops the newest trace of the caller who has most, unless that would have as many as this one then.
    fn make_room_for(&mut self, caller: &Arc<str>) -> bool {
        let own = self.ended.get(caller).map_or(0, Vec::len);
        // As many callers as traces at most, and only while it is full.
        let Some(most) = self.ended.values_mut().max_by_key(|ended| ended.len()).filter(|most| most.len() > own + 1)
        else {
            return false;
        };
        most.pop();
        self.count -= 1;
        self.dropped += 1;
        true
    }
}
