//! Keeps a plugin that fails again and again from being called for a while.
//!
//! Counts how calls of clients end; listing is not counted. What it keeps is lost with the
//! program: other content, and other limits or grants, begin anew.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use tokio::time::Instant;

use super::fault::{CallError, Fault};

/// So many faults …
const FAULTS: usize = 5;
/// … within that time open the breaker.
const WINDOW: Duration = Duration::from_secs(60);
/// The first pause. Each trial that fails doubles it.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(5 * 60);

/// One for each loaded plugin.
pub(super) struct Breaker {
    state: Mutex<State>,
    tell: Box<dyn Fn(Duration) + Send + Sync>,
}

enum State {
    /// Calls go through. When the last ones failed.
    Closed(VecDeque<Instant>),
    /// No call goes through before `until`, and then one.
    Open { until: Instant, pause: Duration },
    /// That one is under way.
    Trial { until: Instant, pause: Duration },
}

/// A call that was let through.
struct Admitted<'a> {
    breaker: &'a Breaker,
    trial: bool,
}

impl Breaker {
    /// `tell` hears of each pause, when it begins.
    pub(super) fn new(tell: impl Fn(Duration) + Send + Sync + 'static) -> Self {
        Self { state: Mutex::new(State::Closed(VecDeque::new())), tell: Box::new(tell) }
    }

    /// Makes a call unless there is a pause, and counts how it ends.
    pub(super) async fn around<T>(
        &self,
        call: impl Future<Output = Result<T, CallError>> + Send,
    ) -> Result<T, CallError> {
        let admitted = self.admit(Instant::now())?;
        let outcome = call.await;
        admitted.ended(outcome.as_ref().err(), Instant::now());
        outcome
    }

    fn admit(&self, now: Instant) -> Result<Admitted<'_>, Fault> {
        let mut state = self.state();
        let trial = match *state {
            State::Closed(_) => false,
            State::Open { until, pause } if until <= now => {
                *state = State::Trial { until, pause };
                true
            }
            State::Open { until, .. } => return Err(Fault::Quarantined { left: until - now }),
            // Nobody knows how long it takes; at most as long as a call may.
            State::Trial { until, .. } => {
                return Err(Fault::Quarantined { left: until.saturating_duration_since(now) });
            }
        };
        Ok(Admitted { breaker: self, trial })
    }

    /// Whether a pause has begun, for a call that was let through before and has waited since.
    pub(super) fn still_admits(&self, now: Instant) -> Result<(), Fault> {
        match *self.state() {
            State::Open { until, .. } if until > now => Err(Fault::Quarantined { left: until - now }),
            // A trial may be the call that asks.
            _ => Ok(()),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Admitted<'_> {
    fn ended(self, error: Option<&CallError>, now: Instant) {
        let fault = match error {
            Some(CallError::Fault(fault)) => fault,
            Some(CallError::Guest(_)) | None => return self.went_well(),
        };
        match fault {
            Fault::Timeout { .. }
            | Fault::Cpu { .. }
            | Fault::Memory { .. }
            | Fault::Trap
            | Fault::OutputTooLarge { .. }
            | Fault::BadOutput(_) => self.failed(now),
            // Nothing that the plugin did.
            Fault::Busy | Fault::Quarantined { .. } | Fault::Host => {}
            // It works, and its operator was told what it lacks.
            Fault::Denied { .. } => self.went_well(),
        }
    }

    fn went_well(mut self) {
        if std::mem::take(&mut self.trial) {
            *self.breaker.state() = State::Closed(VecDeque::new());
        }
    }

    fn failed(mut self, now: Instant) {
        let mut state = self.breaker.state();
        let pause = match &mut *state {
            State::Closed(faults) => {
                faults.retain(|fault| now - *fault < WINDOW);
                faults.push_back(now);
                if faults.len() < FAULTS {
                    return;
                }
                FIRST_PAUSE
            }
            State::Trial { pause, .. } if self.trial => (*pause * 2).min(LONGEST_PAUSE),
            // It began before the pause, and tells nothing that is not known.
            State::Open { .. } | State::Trial { .. } => return,
        };
        self.trial = false;
        *state = State::Open { until: now + pause, pause };
        drop(state);
        (self.breaker.tell)(pause);
    }
}

impl Drop for Admitted<'_> {
    /// A trial that was given up, or never got as far as the plugin, leaves its place to the next.
    fn drop(&mut self) {
        if self.trial {
            let mut state = self.breaker.state();
            if let State::Trial { until, pause } = *state {
                *state = State::Open { until, pause };
            }
        }
    }
}

#[cfg(test)]
mod tests;
