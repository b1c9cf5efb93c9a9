//! The time of this machine, which the nodes of a store compare with their own: entries expire by it, and nodes live.

use std::time::{Duration, UNIX_EPOCH};

/// By how much clocks may differ before it is logged.
pub(super) const MAX_SKEW: Duration = Duration::from_secs(2);

/// Milliseconds since 1970.
pub fn now() -> u64 {
    UNIX_EPOCH.elapsed().unwrap_or_default().as_millis() as u64
}
