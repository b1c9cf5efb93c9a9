//! The queue of lines to be written, and the futures that wait until they are.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use crate::sync::lock;

/// Maximum bytes in the queue; a record that does not fit is dropped and counted.
pub(super) const CAPACITY: usize = 8 << 20;
/// Interval between checks of a required log while there is nothing to write.
const IDLE_CHECK: Duration = Duration::from_secs(1);
/// Interval between attempts to write lines that could not be written.
pub(super) const RETRY_INTERVAL: Duration = Duration::from_millis(250);

/// The log is required, and a record could not be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unrecorded;

#[derive(Default)]
pub(super) struct Queue {
    /// Nothing is served without a record.
    required: bool,
    state: Mutex<QueueState>,
    changed: Condvar,
}

#[derive(Default)]
struct QueueState {
    /// Lines of `line::render`, each with its line break.
    lines: Vec<u8>,
    /// Records dropped since the last batch.
    dropped: u64,
    /// Calls refused since the last batch, because they could not have been recorded.
    refused: u64,
    /// The writer's thread waits and has to be notified.
    idle: bool,
    closing: bool,
    /// Records accepted since the start; the number of the last one.
    accepted: u64,
    /// The number of the last record that is in the file.
    written: u64,
    /// The last write failed.
    failing: bool,
    wakers: Vec<Waker>,
}

/// What was taken from the queue, besides the lines.
pub(super) struct Batch {
    pub(super) dropped: u64,
    pub(super) refused: u64,
    /// The number of the last record taken.
    pub(super) accepted: u64,
    pub(super) last: bool,
}

impl Queue {
    pub(super) fn new(required: bool) -> Self {
        Self { required, ..Self::default() }
    }

    pub(super) fn is_required(&self) -> bool {
        self.required
    }

    /// Queues a line without its line break and returns its number. `None`: the queue is full; the record
    /// is dropped and counted.
    pub(super) fn put(&self, rendered: &[u8]) -> Option<u64> {
        let mut state = self.state();
        let fits = state.lines.len() + rendered.len() < CAPACITY;
        if fits {
            state.lines.extend_from_slice(rendered);
            state.lines.push(b'\n');
            state.accepted += 1;
        } else {
            state.dropped += 1;
        }
        let number = state.accepted;
        let idle = std::mem::take(&mut state.idle);
        drop(state);
        if idle {
            self.changed.notify_one();
        }
        fits.then_some(number)
    }

    /// Whether a call that must be recorded may start. Counts refusals.
    pub(super) fn admits(&self) -> bool {
        if !self.required {
            return true;
        }
        let mut state = self.state();
        // The other half is for the records of running calls.
        let admits = !state.failing && state.lines.len() < CAPACITY / 2;
        state.refused += u64::from(!admits);
        admits
    }

    /// Waits for something to do, and moves the queued lines into `lines`, which must be empty.
    pub(super) fn take(&self, lines: &mut Vec<u8>) -> Batch {
        let nothing = |state: &mut QueueState| {
            state.idle = state.lines.is_empty() && state.dropped == 0 && !state.closing;
            state.idle
        };
        let state = self.state();
        let mut state = if self.required {
            let timeout = if state.failing { RETRY_INTERVAL } else { IDLE_CHECK };
            let waited = self.changed.wait_timeout_while(state, timeout, nothing);
            waited.unwrap_or_else(PoisonError::into_inner).0
        } else {
            self.changed.wait_while(state, nothing).unwrap_or_else(PoisonError::into_inner)
        };
        state.idle = false;
        std::mem::swap(&mut state.lines, lines);
        Batch {
            dropped: std::mem::take(&mut state.dropped),
            refused: std::mem::take(&mut state.refused),
            accepted: state.accepted,
            last: state.closing,
        }
    }

    /// Waits for `time` or until the queue is closed; returns whether it is.
    pub(super) fn pause(&self, time: Duration) -> bool {
        let waited = self.changed.wait_timeout_while(self.state(), time, |state| !state.closing);
        waited.unwrap_or_else(PoisonError::into_inner).0.closing
    }

    /// Records the result of a write, and wakes the waiting futures.
    pub(super) fn report_write(&self, written: Option<u64>, failing: bool) {
        let mut state = self.state();
        state.written = written.unwrap_or(state.written);
        state.failing = failing;
        let wakers = std::mem::take(&mut state.wakers);
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
    }

    pub(super) fn close(&self) {
        self.state().closing = true;
        self.changed.notify_one();
    }

    fn state(&self) -> MutexGuard<'_, QueueState> {
        lock(&self.state)
    }
}

/// Ready when a record is in the file, or writing failed; at once if the log is not required.
#[must_use]
pub struct Commit(pub(super) Option<(Arc<Queue>, Option<u64>)>);

impl Future for Commit {
    type Output = Result<(), Unrecorded>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some((queue, number)) = self.0.as_ref().filter(|(queue, _)| queue.required) else {
            return Poll::Ready(Ok(()));
        };
        let mut state = queue.state();
        match number {
            Some(number) if *number <= state.written => Poll::Ready(Ok(())),
            Some(_) if !state.failing => {
                state.wakers.push(context.waker().clone());
                Poll::Pending
            }
            _ => Poll::Ready(Err(Unrecorded)),
        }
    }
}

/// Ready when records can be written; at once if the log is not required.
#[must_use]
pub struct Recording(pub(super) Option<Arc<Queue>>);

impl Future for Recording {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Some(queue) = self.0.as_ref().filter(|queue| queue.required) else { return Poll::Ready(()) };
        let mut state = queue.state();
        if !state.failing {
            return Poll::Ready(());
        }
        state.wakers.push(context.waker().clone());
        Poll::Pending
    }
}
