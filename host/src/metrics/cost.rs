//! What one call costs, added up while it runs: by the threads of the guest, and read when it has ended.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::traces::{OpenSpan, SpanId, Trace};

/// The cost of one call, in all its rounds. Readers see what was added before the call's outcome was handed over.
#[derive(Debug, Default)]
pub struct Cost {
    /// Nanoseconds.
    cpu: AtomicU64,
    /// Nanoseconds.
    queued: AtomicU64,
    /// Bytes.
    memory: AtomicU64,
    upstream_requests: AtomicU64,
    /// Nanoseconds.
    upstream: AtomicU64,
    trace: Option<Arc<Trace>>,
}

/// What a call has cost until now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// The guest's processor time, with the checks of its arguments and its outcome.
    pub cpu: Duration,
    /// Time in the queues of its plugin and of the pool.
    pub queued: Duration,
    /// The most bytes of memory that an instance had.
    pub memory: u64,
    /// Requests of HTTP that it sent.
    pub upstream_requests: u64,
    /// From their beginning to the heads of their responses, added up.
    pub upstream: Duration,
}

impl Cost {
    /// Its spans belong to that trace.
    pub fn of(trace: Option<Arc<Trace>>) -> Self {
        Self { trace, ..Self::default() }
    }

    pub fn trace(&self) -> Option<&Arc<Trace>> {
        self.trace.as_ref()
    }

    /// Begins a span of the call, which ends when it is dropped. `within`: the span that it is a part of; `None`: that
    /// of the call.
    pub fn span(&self, within: Option<SpanId>, name: impl Into<Cow<'static, str>>) -> Option<OpenSpan> {
        self.trace.as_ref().map(|trace| trace.span(within, name))
    }

    pub fn add_cpu(&self, time: Duration) {
        self.cpu.fetch_add(nanoseconds(time), Ordering::Relaxed);
    }

    pub fn add_queued(&self, time: Duration) {
        self.queued.fetch_add(nanoseconds(time), Ordering::Relaxed);
    }

    /// An instance of the call had so many bytes.
    pub fn used_memory(&self, bytes: u64) {
        self.memory.fetch_max(bytes, Ordering::Relaxed);
    }

    pub fn add_upstream(&self, time: Duration) {
        self.upstream_requests.fetch_add(1, Ordering::Relaxed);
        self.upstream.fetch_add(nanoseconds(time), Ordering::Relaxed);
    }

    /// Adds what was spent in another process.
    pub fn add(&self, spent: &Spent) {
        let Spent { cpu, queued, memory, upstream_requests, upstream } = *spent;
        self.add_cpu(cpu);
        self.add_queued(queued);
        self.used_memory(memory);
        self.upstream_requests.fetch_add(upstream_requests, Ordering::Relaxed);
        self.upstream.fetch_add(nanoseconds(upstream), Ordering::Relaxed);
    }

    pub fn spent(&self) -> Spent {
        let time = |nanoseconds: &AtomicU64| Duration::from_nanos(nanoseconds.load(Ordering::Relaxed));
        Spent {
            cpu: time(&self.cpu),
            queued: time(&self.queued),
            memory: self.memory.load(Ordering::Relaxed),
            upstream_requests: self.upstream_requests.load(Ordering::Relaxed),
            upstream: time(&self.upstream),
        }
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
