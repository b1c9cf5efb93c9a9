//! The time of the server, compared with that of this machine.

use std::time::Duration;

use crate::store::clock::{MAX_SKEW, now};

/// Whether the clock of the server differs too much; `written` is when it wrote what has just come. It may have been
/// long on its way, so only one that is ahead is said for sure.
pub(super) fn is_ahead(written: u64) -> bool {
    Duration::from_millis(written.saturating_sub(now())) > MAX_SKEW
}

pub(super) fn warn() {
    tracing::warn!(
        "the clock of the NATS server is ahead of that of this machine by more than {}: synchronize the clocks of all \
         nodes, since tasks, budgets and answers expire by them",
        humantime::format_duration(MAX_SKEW)
    );
}
