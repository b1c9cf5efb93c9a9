//! The limits of one plugin: time, memory, output, concurrency.
//!
//! Enforced by `call`, `quota` and `guest_log`.

pub(in crate::plugin) mod cpu;
pub(in crate::plugin) mod fair_semaphore;
pub(in crate::plugin) mod quota;

use std::time::Duration;

/// Where a plugin runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Isolation {
    /// In the process of the server, with all others.
    #[default]
    Shared,
    /// In a process of its own.
    Process,
}

/// The limits of every call to one plugin.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// Wall time of a call, waiting in the queue included.
    pub timeout: Duration,
    /// CPU time of a call.
    pub cpu: Duration,
    /// Bytes of all memories and tables of one call.
    pub memory: u64,
    /// Bytes of one result.
    pub output: u64,
    /// Concurrent calls, at most 128. A plugin computes on one of the sandbox's threads fewer than
    /// there are, so on a small machine fewer calls may run in parallel; the others wait.
    pub concurrency: u32,
    /// Calls that may wait for a permit, each for at most [`Limits::QUEUE_WAIT`].
    pub queue: u32,
    /// Bytes that a call may log or print; the rest is dropped and counted.
    pub log: u64,
    /// Of calls that become tasks.
    pub tasks: TaskLimits,
    /// Where they run. It holds from the next time that the plugin is loaded.
    pub isolation: Isolation,
}

/// What differs for calls that may become tasks: nobody waits for their end.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskLimits {
    /// After that time, a call that can be a task becomes one.
    pub after: Duration,
    /// Wall time of a round, waiting in the queue included.
    pub timeout: Duration,
    /// CPU time of a round.
    pub cpu: Duration,
    /// Concurrent ones, apart from the other calls.
    pub concurrency: u32,
    /// For how long a task is kept, from its creation.
    pub keep: Duration,
}

impl TaskLimits {
    /// Maximum of `concurrency`, and of all plugins together.
    pub const MAX_CONCURRENCY: u32 = 32;
}

impl Default for TaskLimits {
    fn default() -> Self {
        Self {
            after: Duration::from_secs(2),
            timeout: Duration::from_secs(3600),
            cpu: Duration::from_secs(600),
            concurrency: 4,
            keep: Duration::from_secs(24 * 3600),
        }
    }
}

impl Limits {
    /// How long a call waits for a permit before it is rejected as busy.
    pub const QUEUE_WAIT: Duration = Duration::from_secs(5);
    /// Wall time for listing all that a plugin offers, when it is loaded.
    pub const LISTING: Duration = Duration::from_secs(2);
    /// The maximum memory of any plugin: what the pooling allocator reserves.
    pub const MAX_MEMORY: u64 = 256 << 20;
    /// Maximum of `concurrency`; the other instances are for other plugins.
    pub const MAX_CONCURRENCY: u32 = 128;
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(30),
            cpu: Duration::from_secs(10),
            memory: 64 << 20,
            output: 4 << 20,
            concurrency: 4,
            queue: 256,
            log: 64 << 10,
            tasks: TaskLimits::default(),
            isolation: Isolation::Shared,
        }
    }
}
