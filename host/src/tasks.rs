//! Calls that outlive their request: a record of each in a store that processes share.
//!
//! What a task is and how it changes; who runs it, `server` decides. It knows neither plugins nor MCP's messages:
//! questions, answers and outcomes are text.
//!
//! Source: MCP extension `io.modelcontextprotocol/tasks`; MCP 2025-11-25, basic/utilities/tasks.

mod lease;
mod ledger;
mod record;

pub use lease::{Lease, Orphan};
pub use ledger::{Kept, Ledger, Listed, PREFIX, is_lease, is_task};
pub use record::{Asked, Flow, Given, Outcome, Record, Requester, Status, is_error};

pub use crate::store::now;

#[cfg(test)]
mod tests;
