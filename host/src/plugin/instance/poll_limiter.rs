//! Limits how many calls of one plugin are polled at the same time.
//!
//! A call that waits for a timer or I/O uses no thread, and many may wait concurrently. Calls
//! that find no free permit get one in order of arrival.

use std::collections::{BTreeMap, BTreeSet};
use std::task::{Context, Waker};

use crate::sync::{Mutex, MutexGuard, lock};

pub(in crate::plugin) struct PollLimiter(Mutex<LimiterState>);

struct LimiterState {
    free: u32,
    /// The number of the next call that must wait.
    next: u64,
    /// Waiting calls by number. While there are any, `free` is 0.
    waiting: BTreeMap<u64, Waker>,
    /// Calls that were granted a permit and woken, and were not polled yet.
    woken: BTreeSet<u64>,
}

/// One call, which may be in the queue. Dropping it leaves the queue.
pub(in crate::plugin) struct Waiter<'a> {
    limiter: &'a PollLimiter,
    number: Option<u64>,
}

/// The permission to poll, until it is dropped.
pub(in crate::plugin) struct ComputePermit<'a>(&'a PollLimiter);

impl PollLimiter {
    pub(in crate::plugin) fn new(threads: u32) -> Self {
        let (waiting, woken) = (BTreeMap::new(), BTreeSet::new());
        Self(Mutex::new(LimiterState { free: threads, next: 0, waiting, woken }))
    }

    pub(in crate::plugin) fn waiter(&self) -> Waiter<'_> {
        Waiter { limiter: self, number: None }
    }

    /// Passes a permit on to the first waiting call.
    fn release(&self) {
        let mut state = self.state();
        let Some((number, waker)) = state.waiting.pop_first() else {
            state.free += 1;
            return;
        };
        state.woken.insert(number);
        drop(state);
        waker.wake();
    }

    /// Whether no call is stored.
    #[cfg(test)]
    pub(in crate::plugin) fn is_forgotten(&self) -> bool {
        let state = self.state();
        state.waiting.is_empty() && state.woken.is_empty()
    }

    fn state(&self) -> MutexGuard<'_, LimiterState> {
        lock(&self.0)
    }
}

impl<'a> Waiter<'a> {
    /// `None`: not now; the task is woken when it has a permit.
    pub(in crate::plugin) fn acquire(&mut self, context: &Context<'_>) -> Option<ComputePermit<'a>> {
        let mut state = self.limiter.state();
        match self.number {
            None if state.free > 0 => state.free -= 1,
            Some(number) if state.woken.remove(&number) => self.number = None,
            None => {
                let number = state.next;
                state.next += 1;
                state.waiting.insert(number, context.waker().clone());
                self.number = Some(number);
                return None;
            }
            Some(number) => {
                // Polled for another reason, maybe as part of another task.
                if let Some(waker) = state.waiting.get_mut(&number) {
                    waker.clone_from(context.waker());
                }
                return None;
            }
        }
        Some(ComputePermit(self.limiter))
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        let Some(number) = self.number else { return };
        let mut state = self.limiter.state();
        if state.waiting.remove(&number).is_none() && state.woken.remove(&number) {
            // It does not use its permit: wake the next one.
            drop(state);
            self.limiter.release();
        }
    }
}

impl Drop for ComputePermit<'_> {
    fn drop(&mut self) {
        self.0.release();
    }
}
