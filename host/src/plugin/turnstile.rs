//! How many threads the calls of one plugin compute on at the same time.
//!
//! A call that waits for a clock or an answer computes nothing, and many may wait together.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};

pub(super) struct Turnstile(Mutex<State>);

struct State {
    free: u32,
    /// Of calls that found no thread free.
    waiting: Vec<Waker>,
}

/// A thread's place, until it is dropped.
pub(super) struct Pass<'a>(&'a Turnstile);

impl Turnstile {
    pub(super) fn new(threads: u32) -> Self {
        Self(Mutex::new(State { free: threads, waiting: Vec::new() }))
    }

    /// `None`: not now; the task is woken when it may try again.
    pub(super) fn enter(&self, context: &Context<'_>) -> Option<Pass<'_>> {
        let mut state = self.state();
        if state.free == 0 {
            if !state.waiting.iter().any(|waker| waker.will_wake(context.waker())) {
                state.waiting.push(context.waker().clone());
            }
            return None;
        }
        state.free -= 1;
        Some(Pass(self))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.free += 1;
        // All of them: one alone may have been given up meanwhile, and would tell nobody.
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        waiting.into_iter().for_each(Waker::wake);
    }
}
