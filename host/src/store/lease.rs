//! Entries by which a process says until when it lives, and whether it does, in the eyes of another one.
//!
//! Times are of the clock of whoever writes them. One that is ahead finds each lease ended, so it also has to see that
//! nobody renews it.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::Entry;
use crate::sync::lock;

/// For how long a process counts as alive after it said so, in milliseconds.
pub const LEASE: u64 = 6000;
/// How often it says so.
pub const RENEWAL: Duration = Duration::from_secs(2);
/// How soon it is said again if that failed. Soon: others take this process for dead otherwise, although the store is
/// back.
pub const RETRY: Duration = Duration::from_millis(200);
/// For how long the entry stays after its end, in milliseconds: who removes what has expired may have a clock that is
/// ahead.
const KEPT: u64 = 3_600_000;
/// For how long one looks at a lease that has ended before its process counts as dead.
const WATCHED: Duration = Duration::from_secs(4);
/// Processes that are remembered.
const MOST: usize = 4096;

/// When the entry of a process expires that says now that it lives, in milliseconds since 1970. Until when it lives
/// follows from that.
pub fn expires(now: u64) -> u64 {
    now.saturating_add(LEASE + KEPT)
}

/// Whether the lease has ended by the clock. `now`: milliseconds since 1970.
pub fn has_ended(entry: &Entry, now: u64) -> bool {
    entry.expires.is_none_or(|expires| expires.saturating_sub(KEPT) <= now)
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
        has_ended(entry, now) && at.saturating_duration_since(*since) >= WATCHED
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    /// Also at the first look: it may have been renewed just now, by a clock that is behind.
    #[test]
    fn a_clock_that_is_ahead_kills_nobody() {
        let (seen, began) = (Seen::default(), Instant::now());
        let ahead = 1_000_000 + 300_000;
        for renewed in 0..100 {
            let (now, at) = (1_000_000 + renewed * 2000, began + RENEWAL * renewed as u32);
            assert!(!seen.is_dead(&lease(renewed + 1, now), now + ahead, at));
        }
    }

    #[test]
    fn a_lease_stays_for_clocks_that_are_ahead() {
        let lease = lease(1, 1_000_000);
        assert!(has_ended(&lease, 1_006_000) && !has_ended(&lease, 1_005_999));
        assert!(!lease.has_expired(1_006_000 + 3_500_000));
    }
}
