//! What was counted until a moment, and the difference of two such moments.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::buckets::Buckets;
use super::server::ServerState;

/// A plugin and its tool, or a user and nothing.
pub(super) type Key = (String, String);

/// All that a source says at a moment.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    pub(super) at: Instant,
    /// Since the source began to count.
    pub(super) counts: BTreeMap<Key, Counts>,
    /// `None`: the source is not a server.
    pub(super) server: Option<ServerState>,
}

/// What only grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Total {
    Calls,
    Errors,
    Faults,
    /// Seconds, as the two that follow.
    Cpu,
    Upstream,
    Queued,
    /// Bytes, as the one that follows.
    Received,
    Sent,
}

const TOTALS: usize = 8;

/// Of one row.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Counts {
    totals: [f64; TOTALS],
    /// The most bytes of memory that a call had; `None`: unknown.
    pub(super) memory: Option<f64>,
    pub(super) durations: Buckets,
}

/// What was counted between two readings.
#[derive(Debug)]
pub(super) struct Interval {
    pub(super) took: Duration,
    pub(super) counts: BTreeMap<Key, Counts>,
    /// The source has begun to count again: what it counts since is what is known.
    pub(super) restarted: bool,
    /// Seconds of processor time of the server.
    pub(super) cpu: f64,
}

impl Counts {
    /// Of nothing yet, with these bounds of durations.
    pub(super) fn with(durations: Buckets) -> Self {
        Self { durations, ..Self::default() }
    }

    pub(super) fn add(&mut self, total: Total, amount: f64) {
        self.totals[total as usize] += amount;
    }

    pub(super) fn get(&self, total: Total) -> f64 {
        self.totals[total as usize]
    }

    pub(super) fn used_memory(&mut self, bytes: f64) {
        self.memory = Some(self.memory.unwrap_or_default().max(bytes));
    }

    pub(super) fn add_all(&mut self, other: &Self) {
        for (own, more) in self.totals.iter_mut().zip(other.totals) {
            *own += more;
        }
        other.memory.into_iter().for_each(|bytes| self.used_memory(bytes));
        self.durations.add_all(&other.durations);
    }

    fn since(&self, before: &Self) -> Self {
        let mut totals = self.totals;
        for (own, before) in totals.iter_mut().zip(before.totals) {
            *own = (*own - before).max(0.0);
        }
        Self { totals, memory: self.memory, durations: self.durations.since(&before.durations) }
    }

    fn are_less_than(&self, before: &Self) -> bool {
        let mut totals = self.totals.iter().zip(before.totals);
        totals.any(|(now, before)| *now < before) || self.durations.are_less_than(&before.durations)
    }
}

impl Reading {
    fn cpu(&self) -> f64 {
        self.server.as_ref().map_or(0.0, |server| server.cpu)
    }

    /// Counters that go down, or are gone, are those of a process that was started since.
    fn is_of_another_process(&self, before: &Self) -> bool {
        let is_less = |(key, before): (&Key, &Counts)| {
            let missing = Counts::default();
            self.counts.get(key).unwrap_or(&missing).are_less_than(before)
        };
        self.cpu() < before.cpu() || before.counts.iter().any(is_less)
    }

    pub(super) fn since(&self, before: &Self) -> Interval {
        let restarted = self.is_of_another_process(before);
        let counts = self.counts.iter().map(|(key, now)| {
            let before = before.counts.get(key).filter(|_| !restarted);
            (key.clone(), before.map_or_else(|| now.clone(), |before| now.since(before)))
        });
        Interval {
            took: self.at.saturating_duration_since(before.at),
            counts: counts.collect(),
            restarted,
            cpu: self.cpu() - if restarted { 0.0 } else { before.cpu() },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::{Duration, Instant};

    use super::{Counts, Reading, Total};

    fn reading(at: Instant, calls: &[(&str, f64)]) -> Reading {
        let counts = calls.iter().map(|(name, calls)| {
            let mut counts = Counts::default();
            counts.add(Total::Calls, *calls);
            (((*name).to_owned(), String::new()), counts)
        });
        Reading { at, counts: counts.collect(), server: None }
    }

    /// Calls in an interval of two seconds, and whether the process was another one.
    fn between(before: &[(&str, f64)], now: &[(&str, f64)]) -> (BTreeMap<String, f64>, bool) {
        let start = Instant::now();
        let interval = reading(start + Duration::from_secs(2), now).since(&reading(start, before));
        assert_eq!(interval.took, Duration::from_secs(2));
        let counts = interval.counts.into_iter().map(|((name, _), counts)| (name, counts.get(Total::Calls)));
        (counts.collect(), interval.restarted)
    }

    fn of(calls: &[(&str, f64)]) -> BTreeMap<String, f64> {
        calls.iter().map(|(name, calls)| ((*name).to_owned(), *calls)).collect()
    }

    #[test]
    fn an_interval_has_what_was_counted_in_it() {
        let (calls, restarted) = between(&[("a", 3.0)], &[("a", 10.0), ("new", 4.0)]);
        assert_eq!((calls, restarted), (of(&[("a", 7.0), ("new", 4.0)]), false));
        assert_eq!(between(&[("a", 3.0)], &[("a", 3.0)]), (of(&[("a", 0.0)]), false));
    }

    #[test]
    fn after_a_restart_all_counters_begin_at_zero() {
        // Also one that has passed its old value already.
        let (calls, restarted) = between(&[("a", 3.0), ("b", 100.0)], &[("a", 5.0), ("b", 1.0)]);
        assert_eq!((calls, restarted), (of(&[("a", 5.0), ("b", 1.0)]), true));
        // One that is gone.
        let (calls, restarted) = between(&[("a", 3.0), ("b", 100.0)], &[("a", 5.0)]);
        assert_eq!((calls, restarted), (of(&[("a", 5.0)]), true));
    }

    #[test]
    fn memory_is_a_peak_and_not_a_sum() {
        let mut all = Counts::default();
        for bytes in [5.0, 9.0, 2.0] {
            let mut counts = Counts::default();
            counts.used_memory(bytes);
            counts.add(Total::Cpu, 1.0);
            all.add_all(&counts);
        }
        assert_eq!((all.memory, all.get(Total::Cpu)), (Some(9.0), 3.0));
    }
}
