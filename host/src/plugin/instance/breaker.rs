//! Keeps a plugin that fails again and again from being called for a while.
//!
//! Counts how calls of clients end; listing is not counted. Each caller's calls are counted apart,
//! since a caller's own arguments may be what the plugin fails at: it is the one that is kept off.
//! All are kept off only when several callers are and nobody else's calls go well. What is known
//! is lost with the program: other content, and other limits or grants, begin anew.

mod circuit;

use std::collections::HashMap;
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::plugin::fault::{CallError, Fault};
use circuit::{Circuit, WINDOW};

/// So many callers that are kept off at the same time …
const SEVERAL: usize = 3;
/// Callers whose faults are remembered. Of more, those whose last one is the longest ago are not.
const CALLERS: usize = 256;

/// One for each loaded plugin.
pub(in crate::plugin) struct Breaker {
    /// Whether `state` holds anything: most plugins never fail.
    failing: AtomicBool,
    state: Mutex<State>,
    tell: Box<dyn Fn(&Pause) + Send + Sync>,
}

/// A pause that begins.
pub(in crate::plugin) struct Pause {
    pub(in crate::plugin) length: Duration,
    /// Whose calls are not made; `None`: nobody's.
    pub(in crate::plugin) caller: Option<Arc<str>>,
}

#[derive(Default)]
struct State {
    /// Of all callers together. It never counts faults, so it opens only by `Circuit::open`.
    all: Circuit,
    callers: HashMap<Arc<str>, Failing>,
    /// When a call last went well, since a caller first failed.
    went_well: Option<Instant>,
}

/// A caller with faults.
struct Failing {
    circuit: Circuit,
    last: Instant,
}

/// A call that was let through.
struct Admitted<'a> {
    breaker: &'a Breaker,
    caller: &'a Arc<str>,
    /// Whether it is the one that tries whether the caller's calls, and everybody's, go well again.
    trial: bool,
    trial_of_all: bool,
}

impl Breaker {
    /// `tell` hears of each pause, when it begins.
    pub(in crate::plugin) fn new(tell: impl Fn(&Pause) + Send + Sync + 'static) -> Self {
        Self { failing: AtomicBool::new(false), state: Mutex::default(), tell: Box::new(tell) }
    }

    /// Makes a call for that caller unless there is a pause, and counts how it ends.
    pub(in crate::plugin) async fn around<T>(
        &self,
        caller: &Arc<str>,
        call: impl Future<Output = Result<T, CallError>> + Send,
    ) -> Result<T, CallError> {
        let admitted = self.admit(caller, Instant::now())?;
        let outcome = call.await;
        admitted.ended(outcome.as_ref().err(), Instant::now());
        outcome
    }

    fn admit<'a>(&'a self, caller: &'a Arc<str>, now: Instant) -> Result<Admitted<'a>, Fault> {
        let mut admitted = Admitted { breaker: self, caller, trial: false, trial_of_all: false };
        if !self.failing.load(Ordering::Acquire) {
            return Ok(admitted);
        }
        let mut state = self.state();
        if let Some(left) = state.left(caller, now) {
            return Err(Fault::Quarantined { left });
        }
        admitted.trial_of_all = state.all.begin_trial();
        admitted.trial = state.callers.get_mut(caller).is_some_and(|failing| failing.circuit.begin_trial());
        Ok(admitted)
    }

    /// Whether a pause has begun, for a call that was let through before and has waited since.
    pub(in crate::plugin) fn still_admits(&self, caller: &Arc<str>, now: Instant) -> Result<(), Fault> {
        if !self.failing.load(Ordering::Acquire) {
            return Ok(());
        }
        let state = self.state();
        let own = state.callers.get(caller).and_then(|failing| failing.circuit.paused(now));
        match state.all.paused(now).or(own) {
            Some(left) => Err(Fault::Quarantined { left }),
            None => Ok(()),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// For how long that caller's calls are not made.
    fn left(&self, caller: &Arc<str>, now: Instant) -> Option<Duration> {
        let own = || self.callers.get(caller).and_then(|failing| failing.circuit.left(now));
        self.all.left(now).or_else(own)
    }

    fn failing(&mut self, caller: &Arc<str>, now: Instant) -> &mut Failing {
        if self.callers.is_empty() {
            self.went_well = None;
        }
        if self.callers.len() >= CALLERS && !self.callers.contains_key(caller) {
            let age = |failing: &Failing| (!failing.circuit.is_closed(), failing.last);
            let oldest = self.callers.iter().min_by_key(|(_, failing)| age(failing));
            if let Some(oldest) = oldest.map(|(name, _)| name.clone()) {
                self.callers.remove(&oldest);
            }
        }
        self.callers.entry(caller.clone()).or_insert_with(|| Failing { circuit: Circuit::default(), last: now })
    }

    /// Whether it is the plugin that fails, and not some caller's calls.
    fn is_general(&self, now: Instant) -> bool {
        let kept_off = self.callers.values().filter(|failing| !failing.circuit.is_closed()).count();
        kept_off >= SEVERAL && self.went_well.is_none_or(|then| now - then >= WINDOW)
    }
}

impl Admitted<'_> {
    fn ended(self, error: Option<&CallError>, now: Instant) {
        let fault = match error {
            Some(CallError::Fault(fault)) => fault,
            Some(CallError::Guest(_)) | None => return self.went_well(now),
            // Nothing that the plugin did.
            Some(CallError::Input(_)) => return,
        };
        match fault {
            Fault::Timeout { .. } | Fault::Cpu { .. } | Fault::Memory { .. } | Fault::Trap | Fault::BadOutput(_) => {
                self.failed(now);
            }
            // Nothing that the plugin did, or as much as it was asked for.
            Fault::OutputTooLarge { .. } | Fault::Busy | Fault::Quarantined { .. } | Fault::Host => {}
            // It works, and its operator was told what it lacks.
            Fault::Denied { .. } => self.went_well(now),
        }
    }

    fn went_well(mut self, now: Instant) {
        if !self.breaker.failing.load(Ordering::Acquire) {
            return;
        }
        let mut state = self.breaker.state();
        state.went_well = Some(now);
        if std::mem::take(&mut self.trial) {
            state.callers.remove(self.caller);
        }
        if std::mem::take(&mut self.trial_of_all) {
            state.all = Circuit::default();
        }
    }

    fn failed(mut self, now: Instant) {
        let mut state = self.breaker.state();
        self.breaker.failing.store(true, Ordering::Release);
        let failing = state.failing(self.caller, now);
        failing.last = now;
        let own = failing.circuit.failed(std::mem::take(&mut self.trial), now);
        let all = if std::mem::take(&mut self.trial_of_all) {
            state.all.failed(true, now)
        } else if own.is_some() && state.all.is_closed() && state.is_general(now) {
            Some(state.all.open(now))
        } else {
            None
        };
        drop(state);
        if let Some(length) = own {
            (self.breaker.tell)(&Pause { length, caller: Some(self.caller.clone()) });
        }
        if let Some(length) = all {
            (self.breaker.tell)(&Pause { length, caller: None });
        }
    }
}

impl Drop for Admitted<'_> {
    /// A trial that was given up, or never got as far as the plugin, leaves its place to the next.
    fn drop(&mut self) {
        if !self.trial && !self.trial_of_all {
            return;
        }
        let mut state = self.breaker.state();
        if self.trial_of_all {
            state.all.give_up_trial();
        }
        if self.trial
            && let Some(failing) = state.callers.get_mut(self.caller)
        {
            failing.circuit.give_up_trial();
        }
    }
}

#[cfg(test)]
mod tests;
