//! One circuit: it opens after a number of faults within a time window.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// This many faults …
const FAULTS: usize = 5;
/// … within this time open the circuit.
pub(super) const WINDOW: Duration = Duration::from_secs(60);
/// The first pause. Each failed trial doubles it.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(5 * 60);

pub(super) enum Circuit {
    /// Calls are admitted. Holds the times of the last faults.
    Closed(VecDeque<Instant>),
    /// Calls are rejected until `until`; then one is admitted as a trial.
    Open { until: Instant, pause: Duration },
    /// The trial is running.
    Trial { until: Instant, pause: Duration },
}

impl Default for Circuit {
    fn default() -> Self {
        Self::Closed(VecDeque::new())
    }
}

impl Circuit {
    pub(super) fn is_closed(&self) -> bool {
        matches!(self, Self::Closed(_))
    }

    /// How long calls are still rejected.
    pub(super) fn left(&self, now: Instant) -> Option<Duration> {
        match *self {
            // The trial takes an unknown time, at most the call's timeout.
            Self::Trial { until, .. } => Some(until.saturating_duration_since(now)),
            _ => self.paused(now),
        }
    }

    /// The same, for a call that may itself be the trial.
    pub(super) fn paused(&self, now: Instant) -> Option<Duration> {
        match *self {
            Self::Open { until, .. } if until > now => Some(until - now),
            _ => None,
        }
    }

    /// Marks the call that is admitted now as the trial, if the circuit is open.
    pub(super) fn begin_trial(&mut self) -> bool {
        let Self::Open { until, pause } = *self else { return false };
        *self = Self::Trial { until, pause };
        true
    }

    pub(super) fn cancel_trial(&mut self) {
        if let Self::Trial { until, pause } = *self {
            *self = Self::Open { until, pause };
        }
    }

    /// Opens the circuit, for the returned time.
    pub(super) fn open(&mut self, now: Instant) -> Duration {
        *self = Self::Open { until: now + FIRST_PAUSE, pause: FIRST_PAUSE };
        FIRST_PAUSE
    }

    /// Counts a fault. Returns the length of the pause, if it starts one.
    pub(super) fn failed(&mut self, trial: bool, now: Instant) -> Option<Duration> {
        match self {
            Self::Closed(faults) => {
                faults.retain(|fault| now - *fault < WINDOW);
                faults.push_back(now);
                (faults.len() >= FAULTS).then(|| self.open(now))
            }
            Self::Trial { pause, .. } if trial => {
                let pause = (*pause * 2).min(LONGEST_PAUSE);
                *self = Self::Open { until: now + pause, pause };
                Some(pause)
            }
            // The call began before the pause, so its fault changes nothing.
            Self::Open { .. } | Self::Trial { .. } => None,
        }
    }
}
