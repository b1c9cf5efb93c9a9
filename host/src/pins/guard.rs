//! Holds versions against what is pinned while plugins are loaded, and pins what runs.
//!
//! The rules are in `decision`.

use std::borrow::Cow;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::{Interval, MissedTickBehavior};

use super::decision::{Reason, Rules, Seen, Trust, decide, is_known};
use super::file::{Lock, LockError, Stamp};
use super::pin::{Pin, Pins, names, now};
use super::verdict::Outcome;
use crate::plugin::{Digest, PluginId, Signatures, Signer};

/// Between two looks at the file.
const LOOK: Duration = Duration::from_millis(250);

/// What stands between a file and its service.
pub struct Guard {
    /// `None`: there is no place to remember anything.
    lock: Option<Lock>,
    /// Whether what runs is pinned, or the file is only read.
    pins: bool,
    rules: Box<dyn Fn(&PluginId) -> Rules + Send + Sync>,
    signatures: Box<dyn Fn() -> Signatures + Send + Sync>,
    /// What was last told of a file that cannot be used.
    told: Mutex<Option<LockError>>,
}

/// A version that was asked what it offers.
#[derive(Clone, Debug)]
pub struct Version {
    pub seen: Seen,
    /// As [`crate::plugin::Surface::canonical`] has it.
    pub words: String,
}

impl Guard {
    /// Lets everything run and remembers nothing.
    pub fn open() -> Self {
        let dev = |_: &PluginId| Rules { trust: Trust::Dev, ..Rules::default() };
        Self { pins: false, ..Self::new(None, dev, Signatures::default) }
    }

    pub fn new(
        lock: Option<Lock>,
        rules: impl Fn(&PluginId) -> Rules + Send + Sync + 'static,
        signatures: impl Fn() -> Signatures + Send + Sync + 'static,
    ) -> Self {
        let (rules, signatures) = (Box::new(rules), Box::new(signatures));
        Self { lock, pins: true, rules, signatures, told: Mutex::default() }
    }

    /// Only reads what is pinned.
    pub fn reading(self) -> Self {
        Self { pins: false, ..self }
    }

    pub fn signatures(&self) -> Signatures {
        (self.signatures)()
    }

    /// Whether the words of a plugin are fixed while it serves.
    pub fn fixes_words(&self, id: &PluginId, holds_grants: bool) -> bool {
        let rules = (self.rules)(id);
        match rules.trust {
            Trust::Dev => false,
            Trust::Default => holds_grants && !rules.free_words,
            Trust::Strict => !rules.free_words,
        }
    }

    /// Whether a version may be asked what it offers, and if so whether it may use its
    /// plugin's grants meanwhile.
    ///
    /// # Errors
    /// Why it is held, whatever it would say.
    pub async fn may_ask(self: &Arc<Self>, id: &PluginId, seen: &Seen) -> Result<bool, Reason> {
        let (guard, id, seen) = (self.clone(), id.clone(), seen.clone());
        blocking(move || guard.may_run(&id, &seen)).await
    }

    /// Whether a version may run, as far as was seen of it; and if so whether it may use its
    /// plugin's grants to be asked what it offers.
    ///
    /// # Errors
    /// Why it is held.
    pub fn may_run(&self, id: &PluginId, seen: &Seen) -> Result<bool, Reason> {
        let (rules, known) = ((self.rules)(id), self.read());
        let pins = usable(known.as_ref(), &rules, seen)?;
        decide(&rules, pins.of(id), pins.is_revoked(seen.content), seen)?;
        Ok(is_known(&rules, pins.of(id), seen.content))
    }

    /// Whether a version that was held may be worth another load. One that was approved is,
    /// whatever it said when it was held: it may say other things with its grants.
    pub fn may_retry(&self, id: &PluginId, seen: &Seen) -> bool {
        let (rules, known) = ((self.rules)(id), self.read());
        let Ok(pins) = usable(known.as_ref(), &rules, seen) else { return false };
        let known = is_known(&rules, pins.of(id), seen.content);
        if !known && seen.surface.is_none() {
            return false;
        }
        let unasked = Seen { surface: None, needs: Default::default(), ..seen.clone() };
        let seen = if known { &unasked } else { seen };
        decide(&rules, pins.of(id), pins.is_revoked(seen.content), seen).is_ok()
    }

    /// Whether what serves must stop.
    ///
    /// # Errors
    /// Why it must.
    pub fn may_stay(&self, id: &PluginId, seen: &Seen) -> Result<(), Reason> {
        let rules = (self.rules)(id);
        let pins = self.read().unwrap_or_default();
        match decide(&rules, pins.of(id), pins.is_revoked(seen.content), seen) {
            Err(reason) if reason.stops_service() => Err(reason),
            _ => Ok(()),
        }
    }

    /// Whether versions may run; those that may are pinned when this returns, all in one write.
    /// Of each of them, how it came to run or why it is held.
    pub async fn admit(self: &Arc<Self>, versions: Vec<(PluginId, Version)>) -> Vec<Result<Outcome, Reason>> {
        let (guard, count) = (self.clone(), versions.len());
        let admitted = blocking(move || Ok(guard.admit_all(&versions))).await;
        admitted.unwrap_or_else(|reason| vec![Err(reason); count])
    }

    fn admit_all(&self, versions: &[(PluginId, Version)]) -> Vec<Result<Outcome, Reason>> {
        let known = self.read();
        let mut outcomes = Vec::new();
        let mut unpinned = Vec::new();
        for (at, (id, Version { seen, words })) in versions.iter().enumerate() {
            let rules = (self.rules)(id);
            let judged = usable(known.as_ref(), &rules, seen).and_then(|pins| {
                let outcome = rules.judge(&pins, id, seen)?;
                Ok((outcome, rules.trust != Trust::Dev && pins.of(id) != Some(&rules.pin(&pins, id, seen))))
            });
            if let Ok((_, true)) = judged {
                unpinned.push((at, rules, id, seen, words));
            }
            outcomes.push(judged.map(|(outcome, _)| outcome));
        }
        let Some(lock) = self.lock.as_ref().filter(|_| self.pins && !unpinned.is_empty()) else { return outcomes };
        // Another process may have pinned something meanwhile: they are judged again, in turn.
        let pinned = lock.update(|pins| {
            let mut again = Vec::new();
            for (at, rules, id, seen, _) in &unpinned {
                let outcome = rules.judge(pins, id, seen);
                if outcome.is_ok() {
                    let pin = rules.pin(pins, id, seen);
                    pins.put(id, pin);
                }
                again.push((*at, outcome));
            }
            (again, pins.clone())
        });
        match pinned {
            Ok((again, pins)) => {
                for (at, outcome) in again {
                    outcomes[at] = outcome;
                }
                let admitted = unpinned.iter().filter(|(at, ..)| outcomes[*at].is_ok());
                lock.keep_surfaces(admitted.map(|(.., words)| words.as_str()), &pins);
            }
            // A full or read-only disk: what ran unasked before does so again.
            Err(error) => self.tell(error),
        }
        outcomes
    }

    /// Notes that a plugin's file is gone.
    pub fn miss(self: &Arc<Self>, id: PluginId) {
        let guard = self.clone();
        tokio::task::spawn_blocking(move || {
            let Some(lock) = guard.lock.as_ref().filter(|_| guard.pins) else { return };
            if lock.read().is_ok_and(|pins| pins.of(&id).is_some())
                && let Err(error) = lock.update(|pins| pins.miss(&id))
            {
                guard.tell(error);
            }
        });
    }

    /// Wakes when other things are pinned.
    pub fn watch(self: &Arc<Self>) -> Watch {
        let mut looks = tokio::time::interval(LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        Watch { guard: self.clone(), looks, seen: self.stamp() }
    }

    fn stamp(&self) -> Option<Stamp> {
        self.lock.as_ref()?.stamp()
    }

    /// What is pinned, if that can be known.
    fn read(&self) -> Option<Pins> {
        let Some(lock) = &self.lock else { return Some(Pins::default()) };
        lock.read().map_err(|error| self.tell(error)).ok()
    }

    fn tell(&self, error: LockError) {
        let mut told = self.told.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if told.as_ref() != Some(&error) {
            tracing::error!(hint = error.hint, "failed to {error}");
            *told = Some(error);
        }
    }
}

/// What a version is held against. If what is pinned cannot be known, only those go on that need
/// no pin.
fn usable<'p>(known: Option<&'p Pins>, rules: &Rules, seen: &Seen) -> Result<Cow<'p, Pins>, Reason> {
    let free = rules.trust == Trust::Dev || rules.by_hand.is_some();
    let drops_in = rules.trust == Trust::Default && seen.grants.is_empty();
    match known {
        Some(pins) => Ok(Cow::Borrowed(pins)),
        None if free || drops_in => Ok(Cow::Owned(Pins::default())),
        None => Err(Reason::NoLock),
    }
}

impl Rules {
    fn judge(&self, pins: &Pins, id: &PluginId, seen: &Seen) -> Result<Outcome, Reason> {
        let pin = pins.of(id);
        decide(self, pin, pins.is_revoked(seen.content), seen)?;
        let other_words = pin.is_some_and(|pin| Some(pin.surface) != seen.surface);
        Ok(match pin {
            None => Outcome::First,
            Some(pin) if pin.content == seen.content && !other_words => Outcome::Same,
            Some(_) => Outcome::Followed { other_words },
        })
    }

    /// The pin of a version that runs; equal to the one that is there if nothing is to be written.
    fn pin(&self, pins: &Pins, id: &PluginId, seen: &Seen) -> Pin {
        let old = pins.of(id).filter(|old| old.content == seen.content);
        // What a person approved stays so, whatever it may say now.
        let approved = self.by_hand.is_some() || (self.free_words && old.is_some_and(|old| old.approved));
        let new = Pin::of(seen, approved);
        match old {
            Some(old) if old.surface == new.surface && old.signer == new.signer => Pin { gone: None, ..old.clone() },
            _ => new,
        }
    }
}

impl Pin {
    /// The pin of a version as it is seen. One that was not asked says nothing.
    pub fn of(seen: &Seen, approved: bool) -> Self {
        Self {
            content: seen.content,
            surface: seen.surface.unwrap_or_else(|| Digest::of(b"")),
            needs: names(&seen.needs),
            grants: names(&seen.grants),
            signer: seen.signer.as_ref().map(Signer::to_string),
            approved,
            time: now(),
            gone: None,
        }
    }
}

/// See [`Guard::watch`].
pub struct Watch {
    guard: Arc<Guard>,
    looks: Interval,
    seen: Option<Stamp>,
}

impl Watch {
    /// Cancel-safe.
    pub async fn changed(&mut self) {
        loop {
            self.looks.tick().await;
            let now = self.guard.stamp();
            if now != self.seen {
                self.seen = now;
                return;
            }
        }
    }
}

async fn blocking<R: Send + 'static>(work: impl FnOnce() -> Result<R, Reason> + Send + 'static) -> Result<R, Reason> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(io::Error::from).unwrap_or_else(|error| {
        tracing::error!(%error, "a look at the pins ended abnormally");
        Err(Reason::NoLock)
    })
}

#[cfg(test)]
mod tests;
