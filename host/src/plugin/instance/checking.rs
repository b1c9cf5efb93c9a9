//! Validates values against schemas as part of a call: small ones inline, others on the
//! guests' threads.
//!
//! A check does not yield while it runs, as a guest does at each tick. So few long checks run
//! concurrently, and the other threads stay free for calls.

use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::json;
use crate::plugin::fault::Fault;
use crate::plugin::limits::Limits;
use crate::plugin::limits::quota::{ByteBudget, Quota};
use crate::plugin::schema::{Schema, Violation, tree};

/// Maximum bytes of a text that is always checked inline.
const SHORT: usize = 4 << 10;
/// Maximum bytes of one that is checked inline if it has few values, that is, long strings.
const MEDIUM: usize = 32 << 10;
const FEW_VALUES: usize = 512;
/// Maximum number of values in one text.
const MAX_VALUES: usize = 2 << 20;
/// Bytes per value in a parsed tree, with the allocator's overhead.
const VALUE: u64 = 128;

/// The result of a completed check.
pub(in crate::plugin) type Checked = Result<(), Vec<Violation>>;

/// Whether parsing it takes no longer than moving to another thread.
fn is_small(text: &str) -> bool {
    text.len() <= SHORT
        || text.len() <= MEDIUM && json::check(text, json::DEPTH_CAP).is_ok_and(|seen| seen.values <= FEW_VALUES)
}

/// Validates values for the calls of all plugins.
pub(in crate::plugin) struct Checker {
    /// Permits of checks that take longer.
    large_checks: Semaphore,
    memory: Arc<ByteBudget>,
}

impl Checker {
    /// For that many threads; `memory` is the guests' budget.
    pub(super) fn new(workers: usize, memory: Arc<ByteBudget>) -> Self {
        Self { large_checks: Semaphore::new((workers / 2).max(1)), memory }
    }

    /// Checks a text that is known to be JSON.
    ///
    /// # Errors
    /// [`Fault::SharedMemory`] if no memory is left for it.
    pub(in crate::plugin) async fn check(&self, schema: &Schema, text: &str) -> Result<Checked, Fault> {
        if is_small(text) {
            let value = match tree(text) {
                Ok(value) => value,
                Err(violations) => return Ok(Err(violations)),
            };
            if let Some(effort) = schema.few_steps(&value) {
                return Ok(schema.validate_with(&value, effort));
            }
        }
        // Moves a call that began inline to the guests' threads.
        tokio::task::yield_now().await;
        let Ok(_permit) = self.large_checks.acquire().await else { return Err(Fault::Host) };
        // For text that is not JSON, the parser reports the violation.
        let values = json::check(text, json::DEPTH_CAP).map_or(0, |seen| seen.values);
        if values > MAX_VALUES {
            return Ok(Err(vec![Violation::too_many_values(MAX_VALUES)]));
        }
        let mut memory = Quota::new(self.memory.clone(), Limits::MAX_MEMORY * 2);
        if !memory.grow(values as u64 * VALUE + text.len() as u64) {
            return Err(Fault::SharedMemory);
        }
        Ok(schema.validate_text(text))
    }
}
