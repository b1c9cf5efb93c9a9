//! What waits to be written, and who waits until it is.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// Bytes that wait for the disk; a record that finds no room is dropped and counted.
pub(super) const QUEUE: usize = 8 << 20;
/// Between two looks at a log that must be there, for what became of it while nobody called.
const LOOK: Duration = Duration::from_secs(1);
/// Between two attempts to write what could not be written.
pub(super) const RETRY: Duration = Duration::from_millis(250);

/// A record could not be written, and must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unrecorded;

#[derive(Default)]
pub(super) struct Queue {
    /// Nothing is done that is not recorded.
    required: bool,
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Default)]
struct Waiting {
    /// What `line::render` has made, each with a line's end.
    lines: Vec<u8>,
    /// Records that found no room.
    dropped: u64,
    /// Calls that were not made, since they could not have been recorded.
    refused: u64,
    /// The thread has nothing to do, and is to be woken.
    idle: bool,
    closing: bool,
    /// Records that found room, since the start.
    put: u64,
    /// The first of those, which are in the file.
    written: u64,
    /// Nothing can be written at the moment.
    failing: bool,
    wakers: Vec<Waker>,
}

/// What the thread is to do next.
pub(super) struct Taken {
    pub(super) dropped: u64,
    pub(super) refused: u64,
    /// How many records there were until now.
    pub(super) put: u64,
    pub(super) last: bool,
}

impl Queue {
    pub(super) fn new(required: bool) -> Self {
        Self { required, ..Self::default() }
    }

    pub(super) fn is_required(&self) -> bool {
        self.required
    }

    /// Puts a line without its end into the queue, or counts that there was no room for it.
    /// Gives its number.
    pub(super) fn put(&self, rendered: &[u8]) -> Option<u64> {
        let mut waiting = self.waiting();
        let fits = waiting.lines.len() + rendered.len() < QUEUE;
        if fits {
            waiting.lines.extend_from_slice(rendered);
            waiting.lines.push(b'\n');
            waiting.put += 1;
        } else {
            waiting.dropped += 1;
        }
        let number = waiting.put;
        let idle = std::mem::take(&mut waiting.idle);
        drop(waiting);
        if idle {
            self.changed.notify_one();
        }
        fits.then_some(number)
    }

    /// Whether something may be begun that must be recorded. Counts what may not.
    pub(super) fn admits(&self) -> bool {
        if !self.required {
            return true;
        }
        let mut waiting = self.waiting();
        // The other half is for those who have begun.
        let admits = !waiting.failing && waiting.lines.len() < QUEUE / 2;
        waiting.refused += u64::from(!admits);
        admits
    }

    /// Waits for something to do. What waits is put into `lines`, which is empty.
    pub(super) fn take(&self, lines: &mut Vec<u8>) -> Taken {
        let nothing = |waiting: &mut Waiting| {
            waiting.idle = waiting.lines.is_empty() && waiting.dropped == 0 && !waiting.closing;
            waiting.idle
        };
        let waiting = self.waiting();
        let mut waiting = if self.required {
            let patience = if waiting.failing { RETRY } else { LOOK };
            let waited = self.changed.wait_timeout_while(waiting, patience, nothing);
            waited.unwrap_or_else(PoisonError::into_inner).0
        } else {
            self.changed.wait_while(waiting, nothing).unwrap_or_else(PoisonError::into_inner)
        };
        waiting.idle = false;
        std::mem::swap(&mut waiting.lines, lines);
        Taken {
            dropped: std::mem::take(&mut waiting.dropped),
            refused: std::mem::take(&mut waiting.refused),
            put: waiting.put,
            last: waiting.closing,
        }
    }

    /// Lets some time go by, unless the end has come; whether it has.
    pub(super) fn pause(&self, time: Duration) -> bool {
        let waited = self.changed.wait_timeout_while(self.waiting(), time, |waiting| !waiting.closing);
        waited.unwrap_or_else(PoisonError::into_inner).0.closing
    }

    /// Tells those who wait what has become of it.
    pub(super) fn wrote(&self, written: Option<u64>, failing: bool) {
        let mut waiting = self.waiting();
        waiting.written = written.unwrap_or(waiting.written);
        waiting.failing = failing;
        let wakers = std::mem::take(&mut waiting.wakers);
        drop(waiting);
        wakers.into_iter().for_each(Waker::wake);
    }

    pub(super) fn close(&self) {
        self.waiting().closing = true;
        self.changed.notify_one();
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ready when a record is in the file, or is not and will not be soon. Of a log that need not be
/// there, at once.
#[must_use]
pub struct Commit(pub(super) Option<(Arc<Queue>, Option<u64>)>);

impl Future for Commit {
    type Output = Result<(), Unrecorded>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some((queue, number)) = self.0.as_ref().filter(|(queue, _)| queue.required) else {
            return Poll::Ready(Ok(()));
        };
        let mut waiting = queue.waiting();
        match number {
            Some(number) if *number <= waiting.written => Poll::Ready(Ok(())),
            Some(_) if !waiting.failing => {
                waiting.wakers.push(context.waker().clone());
                Poll::Pending
            }
            _ => Poll::Ready(Err(Unrecorded)),
        }
    }
}

/// Ready while records can be written; at once of a log that need not be there.
#[must_use]
pub struct Recording(pub(super) Option<Arc<Queue>>);

impl Future for Recording {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Some(queue) = self.0.as_ref().filter(|queue| queue.required) else { return Poll::Ready(()) };
        let mut waiting = queue.waiting();
        if !waiting.failing {
            return Poll::Ready(());
        }
        waiting.wakers.push(context.waker().clone());
        Poll::Pending
    }
}
