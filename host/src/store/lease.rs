//! Entries by which a process says until when it lives, and whether it does, in the eyes of another one.
//!
//! Times are of the clock of whoever writes them, and a clock may be wrong by hours, in either direction. So a lease
//! counts as it stands only where the clocks can agree about it; otherwise it shows nothing, and what does is that
//! somebody renews it.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::Entry;
use super::clock::MAX_SKEW;
use crate::sync::lock;

/// For how long a process counts as alive after it said so, in milliseconds.
pub const LEASE: u64 = 6000;
/// How often it says so.
pub const RENEWAL: Duration = Duration::from_secs(2);
/// How soon it is said again if that failed. Soon: others take this process for dead otherwise, although the store is
/// back.
pub const RETRY: Duration = Duration::from_millis(200);
/// For how long one looks at a lease that is not current before its process counts as dead.
pub const WATCHED: Duration = Duration::from_secs(4);
/// For how long the entry stays after its end, in milliseconds: who removes what has expired may have a clock that is
/// ahead.
const KEPT: u64 = 24 * 3_600_000;
/// Processes that are remembered.
const MOST: usize = 4096;

/// When the entry of a process expires that says now that it lives, in milliseconds since 1970. Until when it lives
/// follows from that.
pub fn expires(now: u64) -> u64 {
    now.saturating_add(LEASE + KEPT)
}

/// Whether the lease shows that its process lives: it has not ended, and could have been written by now. If not, that
/// shows nothing: the process may have died, or not reach the store, or one of the clocks is wrong. `now`: milliseconds
/// since 1970.
pub fn is_current(entry: &Entry, now: u64) -> bool {
    let ends = entry.expires.unwrap_or_default().saturating_sub(KEPT);
    now < ends && ends <= now.saturating_add(LEASE + MAX_SKEW.as_millis() as u64)
}

/// What leases looked like, by key: the version, and since when.
#[derive(Debug, Default)]
pub struct Seen(Mutex<HashMap<String, (u64, Instant)>>);

impl Seen {
    /// Whether the process of a lease is dead. `now` and `at`: when it was asked for, before it was read, since this
    /// process may be stopped for a while just after that.
    pub fn is_dead(&self, entry: &Entry, now: u64, at: Instant) -> bool {
        let mut seen = lock(&self.0);
        if seen.len() >= MOST && !seen.contains_key(&entry.key) {
            seen.clear();
        }
        let (version, since) = seen.entry(entry.key.clone()).or_insert((entry.version, at));
        if *version != entry.version {
            (*version, *since) = (entry.version, at);
        }
        !is_current(entry, now) && at.saturating_duration_since(*since) >= WATCHED
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOURS: u64 = 2 * 3_600_000;

    fn lease(version: u64, now: u64) -> Entry {
        Entry { key: "a".into(), value: Vec::new(), version, expires: Some(expires(now)) }
    }

    #[test]
    fn a_process_is_dead_when_its_lease_has_ended_and_nobody_renews_it() {
        let (seen, began) = (Seen::default(), Instant::now());
        let after = |seconds: u64| (1_000_000 + seconds * 1000, began + Duration::from_secs(seconds));
        let is_dead = |version, at: u64| {
            let (now, at) = after(at);
            seen.is_dead(&lease(version, 1_000_000), now, at)
        };
        assert!(!is_dead(1, 0));
        assert!(!is_dead(1, 5), "it is not over");
        assert!(is_dead(1, 6));
        assert!(!is_dead(2, 7), "somebody renewed it: one of the clocks is wrong");
        assert!(!is_dead(2, 10));
        assert!(is_dead(2, 11));
    }

    /// Also at the first look: it may have been renewed just now.
    #[test]
    fn a_wrong_clock_kills_nobody() {
        for (own, others) in [(0, HOURS), (HOURS, 0)] {
            let (seen, began) = (Seen::default(), Instant::now());
            for renewed in 0..100 {
                let (now, at) = (1_000_000 + renewed * 2000, began + RENEWAL * renewed as u32);
                assert!(!seen.is_dead(&lease(renewed + 1, now + others), now + own, at));
            }
        }
    }

    #[test]
    fn a_wrong_clock_lets_nobody_live_on() {
        for (own, others) in [(0, HOURS), (HOURS, 0), (0, 3000)] {
            let (seen, began) = (Seen::default(), Instant::now());
            let after = |seconds: u64| {
                let (now, at) = (1_000_000 + own + seconds * 1000, began + Duration::from_secs(seconds));
                seen.is_dead(&lease(1, 1_000_000 + others), now, at)
            };
            assert!(!after(0) && !after(3));
            // If the difference is small, the lease is current for a while.
            assert!(after(if others == 3000 { 9 } else { 4 }));
        }
    }

    #[test]
    fn a_lease_is_current_where_clocks_can_agree_about_it() {
        let lease = lease(1, 1_000_000);
        let current = |now| is_current(&lease, now);
        assert!(current(1_000_000) && current(1_005_999) && !current(1_006_000));
        assert!(current(998_000) && !current(997_999), "no clock that is right has written it");
        assert!(!is_current(&Entry { expires: None, ..lease.clone() }, 1_000_000));
    }

    #[test]
    fn a_lease_stays_for_clocks_that_are_ahead() {
        assert!(!lease(1, 1_000_000).has_expired(1_006_000 + 23 * 3_600_000));
    }
}
