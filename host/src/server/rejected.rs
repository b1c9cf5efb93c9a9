//! Records of requests that were not let in. Strangers cause them: so there are only some in each second.

use std::fmt::Display;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::Server;
use crate::audit::{Event, Record};
use crate::sync::lock;

/// Records in each second, of all strangers together.
const RECORDS: u32 = 10;
const WINDOW: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(super) struct Rejected(Mutex<Recorded>);

#[derive(Default)]
struct Recorded {
    /// When the current second began.
    began: Option<Instant>,
    /// The records in it.
    count: u32,
    /// Refusals without a record since the last one.
    omitted: u64,
}

impl Rejected {
    /// Whether a refusal is recorded now; then, how many had no record since the last one.
    fn admit(&self, now: Instant) -> Option<u64> {
        let mut recorded = lock(&self.0);
        if recorded.began.is_none_or(|began| now.duration_since(began) >= WINDOW) {
            (recorded.began, recorded.count) = (Some(now), 0);
        }
        if recorded.count == RECORDS {
            recorded.omitted = recorded.omitted.saturating_add(1);
            return None;
        }
        recorded.count += 1;
        Some(std::mem::take(&mut recorded.omitted))
    }
}

impl Server {
    /// Records that a request from this network was not let in.
    pub fn record_refused(&self, code: &'static str, peer: Option<impl Display>) {
        let audit = &self.settings.audit;
        if !audit.is_on() {
            return;
        }
        if let Some(omitted) = self.rejected.admit(Instant::now()) {
            audit.record(&Record {
                code: Some(code),
                peer: peer.map(|peer| Record::capped(&peer.to_string())),
                omitted: (omitted > 0).then_some(omitted),
                ..Record::new(Event::Refuse)
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::{RECORDS, Rejected, WINDOW};

    #[test]
    fn each_second_has_ten_records_at_most_and_the_next_one_counts_the_others() {
        let (rejected, start) = (Rejected::default(), Instant::now());
        for _ in 0..RECORDS {
            assert_eq!(rejected.admit(start), Some(0));
        }
        let last = start + WINDOW - WINDOW / 1000;
        for _ in 0..1000 {
            assert_eq!(rejected.admit(last), None);
        }
        assert_eq!(rejected.admit(start + WINDOW), Some(1000));
        for _ in 1..RECORDS {
            assert_eq!(rejected.admit(start + WINDOW), Some(0));
        }
        assert_eq!(rejected.admit(start + WINDOW), None);
        assert_eq!(rejected.admit(start + 3 * WINDOW), Some(1));
    }
}
