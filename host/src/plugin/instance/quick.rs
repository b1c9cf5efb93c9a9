//! Whether a plugin's calls begin on the thread of whoever makes them.
//!
//! To hand a call to the guests' threads and its outcome back costs more than most calls take.
//! A plugin whose calls have been short begins them where it is called, and goes over to the
//! guests' threads when it first yields. One that has held a thread for longer, which the tick
//! of the epoch cannot prevent inside a single instruction, must earn that again.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Short calls after which a new plugin is taken for one that makes short calls.
const FIRST: u32 = 8;
/// Short calls after one that was not.
const AGAIN: u32 = 256;
/// Computing for longer is not short. A guest that can be interrupted yields before that.
const SHORT: Duration = Duration::from_millis(3);

/// Of one plugin.
pub(in crate::plugin) struct Quick {
    /// Short calls that are still to be made.
    owed: AtomicU32,
}

impl Default for Quick {
    fn default() -> Self {
        Self { owed: AtomicU32::new(FIRST) }
    }
}

impl Quick {
    pub(in crate::plugin) fn is_earned(&self) -> bool {
        self.owed.load(Ordering::Relaxed) == 0
    }

    /// As after enough short calls: on a busy machine they are not short.
    #[cfg(test)]
    pub(in crate::plugin) fn earn(&self) {
        self.owed.store(0, Ordering::Relaxed);
    }

    /// Notes how long a call has computed.
    pub(in crate::plugin) fn ended(&self, computed: Duration) {
        if computed >= SHORT {
            self.owed.store(AGAIN, Ordering::Relaxed);
        } else if !self.is_earned() {
            let _ = self.owed.try_update(Ordering::Relaxed, Ordering::Relaxed, |owed| owed.checked_sub(1));
        }
    }
}

#[test]
fn it_is_earned_and_lost() {
    let quick = Quick::default();
    for _ in 0..FIRST {
        assert!(!quick.is_earned());
        quick.ended(Duration::from_micros(20));
    }
    assert!(quick.is_earned());
    quick.ended(SHORT);
    for _ in 0..AGAIN {
        assert!(!quick.is_earned());
        quick.ended(Duration::ZERO);
    }
    quick.ended(Duration::ZERO);
    assert!(quick.is_earned());
}
