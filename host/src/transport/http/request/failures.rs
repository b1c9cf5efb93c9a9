//! Counts wrong tokens by network, so that guessing them is slow.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::sync::lock;

/// Failures of one network per second; beyond that, 429.
const FAILURES: u32 = 10;
const WINDOW: Duration = Duration::from_secs(1);
/// Maximum networks whose failures are tracked. Beyond that, failures of other networks get 429.
pub(super) const MAX_TRACKED: usize = 4096;

/// By network: when the current second began, and the failures since.
#[derive(Default)]
pub(super) struct Failures(Mutex<HashMap<Option<IpAddr>, (Instant, u32)>>);

impl Failures {
    /// Counts a failure of a network; whether it has had too many in this second.
    pub(super) fn are_too_many(&self, network: Option<IpAddr>) -> bool {
        let now = Instant::now();
        let is_past = |started: Instant| now.duration_since(started) >= WINDOW;
        let mut failures = lock(&self.0);
        if failures.len() >= MAX_TRACKED {
            failures.retain(|_, (started, _)| !is_past(*started));
            if failures.len() >= MAX_TRACKED && !failures.contains_key(&network) {
                return true;
            }
        }
        let (started, count) = failures.entry(network).or_insert((now, 0));
        if is_past(*started) {
            (*started, *count) = (now, 0);
        }
        *count += 1;
        *count > FAILURES
    }

    #[cfg(test)]
    pub(super) fn tracked(&self) -> usize {
        lock(&self.0).len()
    }
}
