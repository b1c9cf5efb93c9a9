//! What is so at the moment of a scrape, and is counted nowhere else.

use std::time::Duration;

#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// Plugins in service.
    pub plugins: u64,
    /// Calls that have a slot of the pool.
    pub running: u64,
    /// Calls that wait for a slot of the pool.
    pub waiting: u64,
    /// Instances made before their calls.
    pub ready: u64,
    /// Bytes of memory of all guests.
    pub memory: u64,
    /// Components since the start whose code was in the cache, was compiled, and could not be.
    pub cached: u64,
    pub compiled: u64,
    pub not_compiled: u64,
    /// Time that the compiler took for them.
    pub compiling: Duration,
    pub budgets: Vec<BudgetLeft>,
    /// Processor time of the process; `None` if it is not known.
    pub process_cpu: Option<Duration>,
    /// Bytes of the process in memory.
    pub process_memory: Option<u64>,
}

/// What is left of one budget: of the account that has least, if there are several.
#[derive(Clone, Debug)]
pub struct BudgetLeft {
    /// As the configuration names it.
    pub budget: String,
    pub resource: &'static str,
    /// From 0, used up, to 1.
    pub ratio: f64,
}
