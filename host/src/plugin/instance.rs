//! One call in one instance: semaphores, threads, clocks, ready instances, faults.

pub(in crate::plugin) mod breaker;
pub(in crate::plugin) mod call;
pub(in crate::plugin) mod cause;
pub(in crate::plugin) mod checking;
mod eligibility;
pub(in crate::plugin) mod function;
pub(in crate::plugin) mod invocation;
mod metered;
pub(in crate::plugin) mod poll_limiter;
pub(in crate::plugin) mod ready;
pub(in crate::plugin) mod runtime;
pub(in crate::plugin) mod ticker;
mod variants;
