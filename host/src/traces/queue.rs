//! Traces that wait to be exported: bounded, and taken in batches, so that a request wakes nobody.

use std::sync::{Condvar, Mutex, PoisonError};
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
    ended: Vec<Ended>,
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

    pub(super) fn push(&self, ended: Ended) {
        let mut waiting = lock(&self.waiting);
        if waiting.ended.len() >= self.max || waiting.is_closed {
            waiting.dropped += 1;
            return;
        }
        waiting.ended.push(ended);
        if waiting.ended.len() == self.batch {
            self.is_ready.notify_one();
        }
    }

    /// Waits for a batch until that time, then takes all there is.
    pub fn take(&self, until: Instant) -> Batch {
        let mut waiting = lock(&self.waiting);
        while waiting.ended.len() < self.batch && !waiting.is_closed {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            waiting = self.is_ready.wait_timeout(waiting, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        Batch {
            ended: std::mem::take(&mut waiting.ended),
            dropped: std::mem::take(&mut waiting.dropped),
            is_closed: waiting.is_closed,
        }
    }

    /// Keeps nothing that comes after this.
    pub fn close(&self) {
        lock(&self.waiting).is_closed = true;
        self.is_ready.notify_one();
    }
}
