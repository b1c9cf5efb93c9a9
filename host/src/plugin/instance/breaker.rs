//! A circuit breaker: a plugin that fails repeatedly is not called for a while.
//!
//! Counts the outcomes of clients' calls; listing is not counted. Each caller has its own circuit,
//! since the plugin may fail only on that caller's arguments. All callers are paused only when
//! several are and no other caller's calls succeed. The state belongs to the `PreparedComponent`:
//! new content, limits or grants start with a closed circuit.

mod circuit;

use std::collections::HashMap;
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::time::Instant;

use crate::plugin::fault::{CallError, Fault};
use crate::sync::lock;
use circuit::{Circuit, WINDOW};

/// Callers paused at the same time before the global circuit may open.
const MANY_PAUSED: usize = 3;
/// Callers whose faults are stored. Beyond that, the one whose last fault is oldest is evicted.
const MAX_CALLERS: usize = 256;

/// The circuit breaker of one loaded plugin.
pub(in crate::plugin) struct Breaker {
    /// Whether `state` holds anything; spares the lock for most plugins, which never fail.
    failing: AtomicBool,
    state: Mutex<BreakerState>,
    on_pause: Box<dyn Fn(&Pause) + Send + Sync>,
}

/// The start of a pause.
pub(in crate::plugin) struct Pause {
    pub(in crate::plugin) length: Duration,
    /// Whose calls are rejected; `None`: every caller's.
    pub(in crate::plugin) caller: Option<Arc<str>>,
}

#[derive(Default)]
struct BreakerState {
    /// The global circuit. It never counts faults, so it opens only by `Circuit::open`.
    global: Circuit,
    callers: HashMap<Arc<str>, Failing>,
    /// When a call last succeeded, since a caller first failed.
    last_success: Option<Instant>,
}

/// A caller with faults.
struct Failing {
    circuit: Circuit,
    last: Instant,
}

/// An admitted call.
struct BreakerGuard<'a> {
    breaker: &'a Breaker,
    caller: &'a Arc<str>,
    /// Whether it is the trial call of the caller's circuit, and of the global one.
    is_trial: bool,
    is_global_trial: bool,
}

impl Breaker {
    /// `on_pause` is called at the start of each pause.
    pub(in crate::plugin) fn new(on_pause: impl Fn(&Pause) + Send + Sync + 'static) -> Self {
        Self { failing: AtomicBool::new(false), state: Mutex::default(), on_pause: Box::new(on_pause) }
    }

    /// Runs a call of that caller unless a circuit is open, and counts its outcome.
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

    fn admit<'a>(&'a self, caller: &'a Arc<str>, now: Instant) -> Result<BreakerGuard<'a>, Fault> {
        let mut admitted = BreakerGuard { breaker: self, caller, is_trial: false, is_global_trial: false };
        if !self.failing.load(Ordering::Acquire) {
            return Ok(admitted);
        }
        let mut state = self.state();
        if let Some(left) = state.pause_left(caller, now) {
            return Err(Fault::Quarantined { left });
        }
        admitted.is_global_trial = state.global.begin_trial();
        admitted.is_trial = state.callers.get_mut(caller).is_some_and(|failing| failing.circuit.begin_trial());
        Ok(admitted)
    }

    /// Rejects a call that was admitted and has waited since, if a pause has begun meanwhile.
    pub(in crate::plugin) fn still_admits(&self, caller: &Arc<str>, now: Instant) -> Result<(), Fault> {
        if !self.failing.load(Ordering::Acquire) {
            return Ok(());
        }
        let state = self.state();
        let of_caller = state.callers.get(caller).and_then(|failing| failing.circuit.paused(now));
        match state.global.paused(now).or(of_caller) {
            Some(left) => Err(Fault::Quarantined { left }),
            None => Ok(()),
        }
    }

    fn state(&self) -> MutexGuard<'_, BreakerState> {
        lock(&self.state)
    }
}

impl BreakerState {
    /// How long that caller's calls are still rejected.
    fn pause_left(&self, caller: &Arc<str>, now: Instant) -> Option<Duration> {
        let of_caller = || self.callers.get(caller).and_then(|failing| failing.circuit.left(now));
        self.global.left(now).or_else(of_caller)
    }

    fn failing(&mut self, caller: &Arc<str>, now: Instant) -> &mut Failing {
        if self.callers.is_empty() {
            self.last_success = None;
        }
        if self.callers.len() >= MAX_CALLERS && !self.callers.contains_key(caller) {
            let age = |failing: &Failing| (!failing.circuit.is_closed(), failing.last);
            let oldest = self.callers.iter().min_by_key(|(_, failing)| age(failing));
            if let Some(oldest) = oldest.map(|(name, _)| name.clone()) {
                self.callers.remove(&oldest);
            }
        }
        self.callers.entry(caller.clone()).or_insert_with(|| Failing { circuit: Circuit::default(), last: now })
    }

    /// Whether the plugin fails in general, and not only for some callers.
    fn is_general(&self, now: Instant) -> bool {
        let paused = self.callers.values().filter(|failing| !failing.circuit.is_closed()).count();
        paused >= MANY_PAUSED && self.last_success.is_none_or(|then| now - then >= WINDOW)
    }
}

impl BreakerGuard<'_> {
    fn ended(self, error: Option<&CallError>, now: Instant) {
        let fault = match error {
            Some(CallError::Fault(fault)) => fault,
            Some(CallError::Guest(_)) | None => return self.succeeded(now),
            // Not the plugin's fault.
            Some(CallError::Input(_)) => return,
        };
        match fault {
            Fault::Timeout { .. } | Fault::Cpu { .. } | Fault::Memory { .. } | Fault::Trap(_) | Fault::BadOutput(_) => {
                self.failed(now);
            }
            // Not the plugin's fault, or as much output as it was asked for.
            Fault::OutputTooLarge { .. }
            | Fault::Busy
            | Fault::SharedMemory
            | Fault::Compiling
            | Fault::NotLoaded
            | Fault::Quarantined { .. }
            | Fault::Host => {}
            // It works; the missing grant was logged for the operator.
            Fault::Denied { .. } => self.succeeded(now),
        }
    }

    fn succeeded(mut self, now: Instant) {
        if !self.breaker.failing.load(Ordering::Acquire) {
            return;
        }
        let mut state = self.breaker.state();
        state.last_success = Some(now);
        if std::mem::take(&mut self.is_trial) {
            state.callers.remove(self.caller);
        }
        if std::mem::take(&mut self.is_global_trial) {
            state.global = Circuit::default();
        }
    }

    fn failed(mut self, now: Instant) {
        let mut state = self.breaker.state();
        self.breaker.failing.store(true, Ordering::Release);
        let failing = state.failing(self.caller, now);
        failing.last = now;
        let of_caller = failing.circuit.failed(std::mem::take(&mut self.is_trial), now);
        let global = if std::mem::take(&mut self.is_global_trial) {
            state.global.failed(true, now)
        } else if of_caller.is_some() && state.global.is_closed() && state.is_general(now) {
            Some(state.global.open(now))
        } else {
            None
        };
        drop(state);
        if let Some(length) = of_caller {
            (self.breaker.on_pause)(&Pause { length, caller: Some(self.caller.clone()) });
        }
        if let Some(length) = global {
            (self.breaker.on_pause)(&Pause { length, caller: None });
        }
    }
}

impl Drop for BreakerGuard<'_> {
    /// A trial that was dropped, or never reached the plugin, leaves the trial to the next call.
    fn drop(&mut self) {
        if !self.is_trial && !self.is_global_trial {
            return;
        }
        let mut state = self.breaker.state();
        if self.is_global_trial {
            state.global.cancel_trial();
        }
        if self.is_trial
            && let Some(failing) = state.callers.get_mut(self.caller)
        {
            failing.circuit.cancel_trial();
        }
    }
}

#[cfg(test)]
mod tests;
