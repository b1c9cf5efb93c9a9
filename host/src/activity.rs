//! What the live page shows of calls: the last records, and figures of the last hour.
//!
//! It observes audit records and keeps a bounded part of them in memory. Nothing waits for who reads it.

mod hour;
mod recent;

use std::sync::{Arc, Mutex};
use std::time::Instant;

use serde_json::Value;

use crate::audit::{Event, Observer, Record};
use crate::metrics::NO_ERRORS;
use crate::sync::lock;
use hour::Hour;
pub use hour::Totals;
pub use recent::Batch;
use recent::Recent;

/// The activity of one server since its start.
pub struct Activity {
    started: Instant,
    state: Mutex<State>,
}

struct State {
    recent: Recent,
    hour: Hour,
}

impl Activity {
    pub fn begin() -> Arc<Self> {
        let state = State { recent: Recent::default(), hour: Hour::default() };
        Arc::new(Self { started: Instant::now(), state: Mutex::new(state) })
    }

    /// The records from that number on, the newest ones if there are more than `most`. Numbers begin at zero.
    pub fn since(&self, next: u64, most: usize) -> Batch {
        lock(&self.state).recent.since(next, most)
    }

    /// The figures of the last hour, in steps.
    pub fn hour(&self) -> Value {
        let now = self.started.elapsed();
        lock(&self.state).hour.to_json(now)
    }

    /// What the calls of each plugin have cost since the start.
    pub fn totals(&self) -> Vec<(String, Totals)> {
        lock(&self.state).hour.totals()
    }
}

impl Observer for Activity {
    fn observe(&self, record: &Record) {
        let now = self.started.elapsed();
        let mut state = lock(&self.state);
        state.recent.push(record);
        if matches!(record.event, Event::Call | Event::Fault | Event::Deny) {
            let is_error = record.code.is_some_and(|code| !NO_ERRORS.contains(&code));
            state.hour.count(now, record, is_error);
        }
    }
}

#[cfg(test)]
mod tests;
