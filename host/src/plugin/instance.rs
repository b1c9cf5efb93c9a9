//! One call in one instance: turns, threads, clocks, instances that are ready, faults.

pub(in crate::plugin) mod breaker;
pub(in crate::plugin) mod call;
mod cause;
pub(in crate::plugin) mod checking;
pub(in crate::plugin) mod function;
pub(in crate::plugin) mod invocation;
mod metered;
mod quick;
pub(in crate::plugin) mod runtime;
pub(in crate::plugin) mod spare;
pub(in crate::plugin) mod ticker;
pub(in crate::plugin) mod turns;
pub(in crate::plugin) mod turnstile;
