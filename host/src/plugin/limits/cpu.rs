//! CPU time of a call: the time spent inside its future's `poll`.
//!
//! Does not stop anything: the epoch callback checks whether the limit is reached.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The CPU time of one call.
pub(in crate::plugin) struct CpuMeter {
    start: Instant,
    limit: Duration,
    /// Nanoseconds of the completed polls.
    spent: AtomicU64,
    /// Nanoseconds from `start` to the start of the current poll.
    entered: AtomicU64,
    exceeded: AtomicBool,
}

impl CpuMeter {
    pub(in crate::plugin) fn new(limit: Duration) -> Arc<Self> {
        Arc::new(Self {
            start: Instant::now(),
            limit,
            spent: AtomicU64::new(0),
            entered: AtomicU64::new(0),
            exceeded: AtomicBool::new(false),
        })
    }

    /// Whether the limit is reached; called by the guest's own thread, inside a poll.
    pub(in crate::plugin) fn check(&self) -> bool {
        let now = self.start.elapsed().as_nanos() as u64;
        let current = now.saturating_sub(self.entered.load(Ordering::Relaxed));
        let over = u128::from(self.spent.load(Ordering::Relaxed) + current) >= self.limit.as_nanos();
        if over {
            self.exceeded.store(true, Ordering::Relaxed);
        }
        over
    }

    /// The total of the completed polls.
    pub(in crate::plugin) fn spent(&self) -> Duration {
        Duration::from_nanos(self.spent.load(Ordering::Relaxed))
    }

    /// Runs and times a poll.
    pub(in crate::plugin) fn time<T>(&self, poll: impl FnOnce() -> T) -> T {
        let entered = self.start.elapsed().as_nanos() as u64;
        self.entered.store(entered, Ordering::Relaxed);
        let polled = poll();
        let left = self.start.elapsed().as_nanos() as u64;
        self.spent.fetch_add(left.saturating_sub(entered), Ordering::Relaxed);
        polled
    }

    /// Whether a check has found the limit reached.
    pub(in crate::plugin) fn exceeded(&self) -> bool {
        self.exceeded.load(Ordering::Relaxed)
    }
}
