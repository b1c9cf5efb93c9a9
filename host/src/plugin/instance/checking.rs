//! Checks values against schemas as part of a call: small ones where the call is, others on the
//! guests' threads.
//!
//! A check that has begun does not yield, as a guest does at each tick. So few of those that
//! take longer run at the same time: the other threads are left for calls.

use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::json;
use crate::plugin::fault::Fault;
use crate::plugin::limits::Limits;
use crate::plugin::limits::quota::{Budget, Quota};
use crate::plugin::schema::{Schema, Violation, tree};

/// Bytes of a text that is read where the call is, whatever is in it.
const SHORT: usize = 4 << 10;
/// Bytes of one that is read there if it has few values, and so long strings.
const MEDIUM: usize = 32 << 10;
const FEW_VALUES: usize = 512;
/// Values of one text.
const MAX_VALUES: usize = 2 << 20;
/// Bytes that a value takes in a tree, with what the allocator adds.
const VALUE: u64 = 128;

/// What a check came to; the violations are no fault of the host's.
pub(in crate::plugin) type Checked = Result<(), Vec<Violation>>;

/// Whether it takes no longer to read than to hand it to another thread.
fn is_little(text: &str) -> bool {
    text.len() <= SHORT
        || text.len() <= MEDIUM && json::check(text, json::DEPTH_CAP).is_ok_and(|seen| seen.values <= FEW_VALUES)
}

/// Checks values for the calls of all plugins.
pub(in crate::plugin) struct Checker {
    /// Places of checks that take longer.
    places: Semaphore,
    memory: Arc<Budget>,
}

impl Checker {
    /// For so many threads; `memory` is that of the guests.
    pub(super) fn new(workers: usize, memory: Arc<Budget>) -> Self {
        Self { places: Semaphore::new((workers / 2).max(1)), memory }
    }

    /// Checks a text that is known to be JSON.
    ///
    /// # Errors
    /// [`Fault::Busy`] if no memory is left for it.
    pub(in crate::plugin) async fn check(&self, schema: &Schema, text: &str) -> Result<Checked, Fault> {
        if is_little(text) {
            let value = match tree(text) {
                Ok(value) => value,
                Err(violations) => return Ok(Err(violations)),
            };
            if let Some(effort) = schema.few_steps(&value) {
                return Ok(schema.validate_with(&value, effort));
            }
        }
        // A call that began on the thread of whoever makes it goes over to the guests'.
        tokio::task::yield_now().await;
        let Ok(_place) = self.places.acquire().await else { return Err(Fault::Host) };
        // What is no JSON has no value, which the reader says.
        let values = json::check(text, json::DEPTH_CAP).map_or(0, |seen| seen.values);
        if values > MAX_VALUES {
            return Ok(Err(vec![Violation::too_many_values(MAX_VALUES)]));
        }
        let mut memory = Quota::new(self.memory.clone(), Limits::MEMORY_CEILING * 2);
        if !memory.grow(values as u64 * VALUE + text.len() as u64) {
            return Err(Fault::Busy);
        }
        Ok(schema.validate_text(text))
    }
}
