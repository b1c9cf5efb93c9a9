//! How long a guest has computed: the time spent inside its future's `poll`.
//!
//! Does not stop anything: the epoch callback asks whether the limit is reached.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use super::turnstile::Visitor;

/// The computing time of one call.
pub(super) struct CpuMeter {
    start: Instant,
    limit: Duration,
    /// Nanoseconds of the polls that are over.
    spent: AtomicU64,
    /// Nanoseconds from `start` to where the current poll began.
    entered: AtomicU64,
    exceeded: AtomicBool,
}

impl CpuMeter {
    pub(super) fn new(limit: Duration) -> Arc<Self> {
        Arc::new(Self {
            start: Instant::now(),
            limit,
            spent: AtomicU64::new(0),
            entered: AtomicU64::new(0),
            exceeded: AtomicBool::new(false),
        })
    }

    /// Whether the limit is reached; called by the guest's own thread, inside a poll.
    pub(super) fn check(&self) -> bool {
        let now = self.start.elapsed().as_nanos() as u64;
        let current = now.saturating_sub(self.entered.load(Ordering::Relaxed));
        let over = u128::from(self.spent.load(Ordering::Relaxed) + current) >= self.limit.as_nanos();
        if over {
            self.exceeded.store(true, Ordering::Relaxed);
        }
        over
    }

    /// The polls that are over, in all.
    pub(super) fn spent(&self) -> Duration {
        Duration::from_nanos(self.spent.load(Ordering::Relaxed))
    }

    /// Whether a check has said so.
    pub(super) fn exceeded(&self) -> bool {
        self.exceeded.load(Ordering::Relaxed)
    }
}

/// A future whose polls are timed, and of which only so many are polled at the same time.
pub(super) struct Metered<'a, F> {
    pub(super) meter: Arc<CpuMeter>,
    pub(super) visitor: Visitor<'a>,
    pub(super) future: Pin<Box<F>>,
}

impl<F: Future> Future for Metered<'_, F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let Some(_pass) = self.visitor.enter(cx) else { return Poll::Pending };
        let meter = self.meter.clone();
        let entered = meter.start.elapsed().as_nanos() as u64;
        meter.entered.store(entered, Ordering::Relaxed);
        let polled = self.future.as_mut().poll(cx);
        let left = meter.start.elapsed().as_nanos() as u64;
        meter.spent.fetch_add(left.saturating_sub(entered), Ordering::Relaxed);
        polled
    }
}
