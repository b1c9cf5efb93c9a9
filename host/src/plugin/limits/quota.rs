//! Limits the memory of a store: a sum over all its memories and tables, and a budget over all
//! stores.
//!
//! Not wasmtime's `StoreLimits`, whose limit is per memory: a component of sixty
//! modules would get it sixty times.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use wasmtime::ResourceLimiter;

/// Instances of core modules in one component. Guests in Rust have four or five, and
/// componentize-py with `--stub-wasi` makes one of each stubbed import: about 40.
pub(in crate::plugin) const CORE_INSTANCES: u32 = 64;
pub(in crate::plugin) const MEMORIES: u32 = 4;
pub(in crate::plugin) const TABLES: u32 = 8;

/// A budget, in bytes, for the memory of all guests.
#[derive(Debug)]
pub(in crate::plugin) struct ByteBudget {
    limit: u64,
    taken: AtomicU64,
}

impl ByteBudget {
    pub(in crate::plugin) fn new(limit: u64) -> Self {
        Self { limit, taken: AtomicU64::new(0) }
    }

    pub(in crate::plugin) fn limit(&self) -> u64 {
        self.limit
    }

    fn take(&self, bytes: u64) -> bool {
        let take = |taken: u64| taken.checked_add(bytes).filter(|sum| *sum <= self.limit);
        self.taken.try_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok()
    }

    fn release(&self, bytes: u64) {
        self.taken.fetch_sub(bytes, Ordering::Relaxed);
    }

    pub(in crate::plugin) fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }
}

/// The memory of one store, and its limit.
pub(in crate::plugin) struct Quota {
    budget: Arc<ByteBudget>,
    limit: u64,
    taken: u64,
    /// Whether a request was refused: a later trap then counts as out of memory.
    refused: bool,
    over_limit: bool,
}

/// Bytes of one table element in wasmtime.
const ELEMENT: u64 = 16;

impl Quota {
    pub(in crate::plugin) fn new(budget: Arc<ByteBudget>, limit: u64) -> Self {
        Self { budget, limit, taken: 0, refused: false, over_limit: false }
    }

    pub(in crate::plugin) fn refused(&self) -> bool {
        self.refused
    }

    /// Whether a request was refused because of the store's own limit.
    pub(in crate::plugin) fn over_limit(&self) -> bool {
        self.over_limit
    }

    /// Bytes.
    pub(in crate::plugin) fn taken(&self) -> u64 {
        self.taken
    }

    /// Reserves memory for the guest, or for the host on its behalf; false if that is too much.
    pub(in crate::plugin) fn grow(&mut self, bytes: u64) -> bool {
        let fits = self.taken.checked_add(bytes).is_some_and(|sum| sum <= self.limit);
        if fits && self.budget.take(bytes) {
            self.taken += bytes;
            true
        } else {
            self.refused = true;
            self.over_limit |= !fits;
            false
        }
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        self.budget.release(self.taken);
    }
}

impl ResourceLimiter for Quota {
    fn memory_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        // Beyond its declared maximum it fails anyway, and must not count.
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        Ok(self.grow(desired.saturating_sub(current) as u64))
    }

    fn table_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        let elements = desired.saturating_sub(current) as u64;
        Ok(self.grow(elements.saturating_mul(ELEMENT)))
    }

    fn instances(&self) -> usize {
        CORE_INSTANCES as usize
    }

    fn tables(&self) -> usize {
        TABLES as usize
    }

    fn memories(&self) -> usize {
        MEMORIES as usize
    }
}
