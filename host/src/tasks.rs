//! Calls that outlive their request: a record of each in a store that processes share.
//!
//! What a task is and how it changes; who runs it, `server` decides. It knows neither plugins nor MCP's messages:
//! questions, answers and outcomes are text.
//!
//! Source: MCP extension `io.modelcontextprotocol/tasks`; MCP 2025-11-25, basic/utilities/tasks.

mod lease;
mod ledger;
mod record;

use std::time::{SystemTime, UNIX_EPOCH};

pub use lease::{Lease, Orphan};
pub use ledger::{Kept, Ledger, Listed};
pub use record::{Asked, Flow, Given, Outcome, Record, Requester, Status};

/// Milliseconds since 1970: processes share the times.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64
}

#[cfg(test)]
mod tests;
