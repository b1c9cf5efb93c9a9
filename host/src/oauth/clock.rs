//! The time of a check on both clocks: what a token says is of the system clock, what follows from it of the monotonic
//! one.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The longest time that is derived from a token; later it is checked again.
const LONGEST: Duration = Duration::from_hours(24 * 365);

#[derive(Debug, Clone, Copy)]
pub(super) struct Now {
    pub(super) instant: Instant,
    /// Seconds since 1970.
    pub(super) unix: f64,
}

impl Now {
    pub(super) fn read() -> Self {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { instant: Instant::now(), unix: unix.as_secs_f64() }
    }

    /// When the system clock, if nobody sets it, shows that many seconds since 1970.
    pub(super) fn at(&self, unix: f64) -> Instant {
        let left = Duration::try_from_secs_f64((unix - self.unix).max(0.0)).unwrap_or(LONGEST);
        self.instant + left.min(LONGEST)
    }
}
