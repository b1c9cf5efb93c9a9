//! Whether a plugin's calls may begin inline, on the caller's thread.
//!
//! Moving a call to the guests' threads and its outcome back takes longer than most calls. A
//! plugin's calls begin inline once enough of them were short, and continue on the guests' threads
//! from their first yield on. A long call ends eligibility for the next 256: the epoch cannot
//! interrupt a single instruction, such as one that fills a whole memory.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Short calls before a new plugin is eligible.
const FIRST: u32 = 8;
/// Short calls after a long one.
const AGAIN: u32 = 256;
/// CPU time from which a call is long. A guest that can be interrupted yields earlier.
const SHORT: Duration = Duration::from_millis(3);

/// The eligibility of one plugin.
pub(in crate::plugin) struct InlineEligibility {
    /// Short calls until it is eligible.
    short_calls_left: AtomicU32,
}

impl Default for InlineEligibility {
    fn default() -> Self {
        Self { short_calls_left: AtomicU32::new(FIRST) }
    }
}

impl InlineEligibility {
    pub(in crate::plugin) fn is_eligible(&self) -> bool {
        self.short_calls_left.load(Ordering::Relaxed) == 0
    }

    /// Grants it at once, for tests: on a busy machine short calls take long.
    #[cfg(test)]
    pub(in crate::plugin) fn grant(&self) {
        self.short_calls_left.store(0, Ordering::Relaxed);
    }

    /// Records the CPU time of a call.
    pub(in crate::plugin) fn record(&self, computed: Duration) {
        if computed >= SHORT {
            self.short_calls_left.store(AGAIN, Ordering::Relaxed);
        } else if !self.is_eligible() {
            let _ = self
                .short_calls_left
                .try_update(Ordering::Relaxed, Ordering::Relaxed, |short_calls_left| short_calls_left.checked_sub(1));
        }
    }
}

#[test]
fn eligibility_is_gained_and_lost() {
    let inline = InlineEligibility::default();
    for _ in 0..FIRST {
        assert!(!inline.is_eligible());
        inline.record(Duration::from_micros(20));
    }
    assert!(inline.is_eligible());
    inline.record(SHORT);
    for _ in 0..AGAIN {
        assert!(!inline.is_eligible());
        inline.record(Duration::ZERO);
    }
    inline.record(Duration::ZERO);
    assert!(inline.is_eligible());
}
