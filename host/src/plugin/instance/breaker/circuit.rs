//! Faults within a time, and the pauses that they bring about.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// So many faults …
const FAULTS: usize = 5;
/// … within that time open it.
pub(super) const WINDOW: Duration = Duration::from_secs(60);
/// The first pause. Each trial that fails doubles it.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(5 * 60);

pub(super) enum Circuit {
    /// Calls go through. When the last ones failed.
    Closed(VecDeque<Instant>),
    /// No call goes through before `until`, and then one.
    Open { until: Instant, pause: Duration },
    /// That one is under way.
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

    /// For how long no call goes through.
    pub(super) fn left(&self, now: Instant) -> Option<Duration> {
        match *self {
            // Nobody knows how long it takes; at most as long as a call may.
            Self::Trial { until, .. } => Some(until.saturating_duration_since(now)),
            _ => self.paused(now),
        }
    }

    /// The same, for a call that may be the trial.
    pub(super) fn paused(&self, now: Instant) -> Option<Duration> {
        match *self {
            Self::Open { until, .. } if until > now => Some(until - now),
            _ => None,
        }
    }

    /// Whether the call that goes through now is a trial.
    pub(super) fn begin_trial(&mut self) -> bool {
        let Self::Open { until, pause } = *self else { return false };
        *self = Self::Trial { until, pause };
        true
    }

    pub(super) fn give_up_trial(&mut self) {
        if let Self::Trial { until, pause } = *self {
            *self = Self::Open { until, pause };
        }
    }

    /// Opens it, for the time that is returned.
    pub(super) fn open(&mut self, now: Instant) -> Duration {
        *self = Self::Open { until: now + FIRST_PAUSE, pause: FIRST_PAUSE };
        FIRST_PAUSE
    }

    /// Counts a fault; the pause that it brings about.
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
            // It began before the pause, and tells nothing that is not known.
            Self::Open { .. } | Self::Trial { .. } => None,
        }
    }
}
