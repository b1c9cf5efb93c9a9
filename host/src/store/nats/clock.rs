//! The time of this machine, where it is compared with that of others.

use std::time::{Duration, UNIX_EPOCH};

/// By how much clocks may differ: whether a node lives is said in its own time, for six seconds.
const MAX_SKEW: Duration = Duration::from_secs(2);

/// Milliseconds since 1970.
pub(super) fn now() -> u64 {
    UNIX_EPOCH.elapsed().unwrap_or_default().as_millis() as u64
}

/// Whether the clock of the server differs too much; `written` is when it wrote what has just come. It may have been
/// long on its way, so only one that is ahead is said for sure.
pub(super) fn is_ahead(written: u64) -> bool {
    Duration::from_millis(written.saturating_sub(now())) > MAX_SKEW
}

pub(super) fn warn() {
    tracing::warn!(
        "the clock of the NATS server is ahead of that of this machine by more than {}: synchronize the clocks of all \
         nodes, or they take over the tasks of others that run still",
        humantime::format_duration(MAX_SKEW)
    );
}
