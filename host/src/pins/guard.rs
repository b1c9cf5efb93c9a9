//! Checks versions against the pins while plugins are loaded, and pins those that run.
//!
//! The rules are in `decision`.

use std::borrow::Cow;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use tokio::time::{Interval, MissedTickBehavior};

use super::decision::{Reason, Rules, Seen, Trust, decide, is_known};
use super::file::{Lock, LockError};
use super::pin::{Pin, Pins, names, now};
use super::verdict::Outcome;
use crate::os::changes::Changes;
use crate::plugin::{Digest, PluginId, Signatures, Signer};

/// Interval between checks of the file.
const LOOK: Duration = Duration::from_millis(250);
/// How long a successful write check stays valid.
const FRESH: Duration = Duration::from_secs(1);
/// Between attempts to write a file that cannot be written.
const RETRY: Duration = Duration::from_secs(2);

/// Decides whether a version may be put into service.
pub struct Guard {
    /// `None`: there is no place to store pins.
    lock: Option<Lock>,
    /// Whether what runs is pinned, or the file is only read.
    pins: bool,
    rules: Box<dyn Fn(&PluginId) -> Rules + Send + Sync>,
    signatures: Box<dyn Fn() -> Signatures + Send + Sync>,
    /// The last reported error of the file.
    told: Mutex<Option<LockError>>,
    /// When it was last tried to write the file, and whether that went well.
    tried: Mutex<Option<(Instant, bool)>>,
}

/// A snapshot of the pins. `None`: they cannot be read.
pub type Known = Option<Pins>;

/// A version that was listed.
#[derive(Clone, Debug)]
pub struct Version {
    pub seen: Seen,
    /// As [`crate::plugin::Surface::canonical`] has it.
    pub words: String,
}

impl Guard {
    /// Lets everything run and pins nothing.
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
        Self { lock, pins: true, rules, signatures, told: Mutex::default(), tried: Mutex::default() }
    }

    /// Reads the pins only.
    pub fn reading(self) -> Self {
        Self { pins: false, ..self }
    }

    pub fn signatures(&self) -> Signatures {
        (self.signatures)()
    }

    /// Whether the surface of a plugin must not change while it serves.
    pub fn fixes_words(&self, id: &PluginId, holds_grants: bool) -> bool {
        let rules = (self.rules)(id);
        match rules.trust {
            Trust::Dev => false,
            Trust::Default => holds_grants && !rules.free_words,
            Trust::Strict => !rules.free_words,
        }
    }

    /// The digest that the configuration pins for a plugin.
    pub fn by_hand(&self, id: &PluginId) -> Option<Digest> {
        (self.rules)(id).by_hand
    }

    /// What is pinned now. A round of decisions reads it once.
    pub fn known(&self) -> Known {
        let Some(lock) = &self.lock else { return Some(Pins::default()) };
        lock.read().map_err(|error| self.tell(error)).ok()
    }

    /// Whether a version may be listed, and if so whether it may use its plugin's grants meanwhile.
    ///
    /// # Errors
    /// Why it is held, whatever its surface.
    pub async fn may_ask(self: &Arc<Self>, id: &PluginId, seen: &Seen) -> Result<bool, Reason> {
        let (guard, id, seen) = (self.clone(), id.clone(), seen.clone());
        blocking(move || if guard.pins { guard.may_serve(&id, &seen) } else { guard.may_run(&id, &seen) }).await
    }

    /// Whether a version may run, as far as is known of it; and if so whether it may use its plugin's
    /// grants to be listed.
    ///
    /// # Errors
    /// Why it is held.
    pub fn may_run(&self, id: &PluginId, seen: &Seen) -> Result<bool, Reason> {
        self.judge_with(&self.known(), id, seen)
    }

    /// The same for a server, which must pin it first.
    ///
    /// # Errors
    /// Why it is held.
    pub fn may_serve(&self, id: &PluginId, seen: &Seen) -> Result<bool, Reason> {
        let known = self.known();
        let trusted = self.judge_with(&known, id, seen)?;
        let pin = known.as_ref().and_then(|pins| pins.of(id));
        if must_be_pinned(&(self.rules)(id), pin, seen) && !self.can_write(FRESH) {
            return Err(Reason::NotKept);
        }
        Ok(trusted)
    }

    fn judge_with(&self, known: &Known, id: &PluginId, seen: &Seen) -> Result<bool, Reason> {
        let rules = (self.rules)(id);
        let pins = usable(known.as_ref(), &rules, seen)?;
        decide(&rules, pins.of(id), pins.is_revoked(seen.content), seen)?;
        Ok(is_known(&rules, pins.of(id), seen.content))
    }

    /// Whether a version held for that reason may be worth another load. An approved one is, whatever
    /// its surface when it was held: with its grants the surface may differ.
    pub fn may_retry(&self, known: &Known, id: &PluginId, seen: &Seen, reason: &Reason) -> bool {
        let rules = (self.rules)(id);
        let Ok(pins) = usable(known.as_ref(), &rules, seen) else { return false };
        let known = is_known(&rules, pins.of(id), seen.content);
        if *reason == Reason::NotKept {
            if must_be_pinned(&rules, pins.of(id), seen) && !self.could_write() {
                return false;
            }
        } else if !known && seen.surface.is_none() {
            return false;
        }
        let unasked = Seen { surface: None, needs: Default::default(), ..seen.clone() };
        let seen = if known { &unasked } else { seen };
        decide(&rules, pins.of(id), pins.is_revoked(seen.content), seen).is_ok()
    }

    /// Whether a version in service must stop.
    ///
    /// # Errors
    /// Why it must.
    pub fn may_stay(&self, known: &Known, id: &PluginId, seen: &Seen) -> Result<(), Reason> {
        let rules = (self.rules)(id);
        let none = Pins::default();
        let pins = known.as_ref().unwrap_or(&none);
        match decide(&rules, pins.of(id), pins.is_revoked(seen.content), seen) {
            Err(reason) if reason.stops_service() => Err(reason),
            _ => Ok(()),
        }
    }

    /// Whether the file could be written when that was last tried.
    fn could_write(&self) -> bool {
        self.tried().is_none_or(|(_, went_well)| went_well)
    }

    /// Whether the file can be written; checked unless it was within that time. Without a place to
    /// store pins it cannot.
    fn can_write(&self, within: Duration) -> bool {
        let Some(lock) = &self.lock else { return false };
        let mut tried = self.tried();
        if let Some((when, went_well)) = *tried
            && when.elapsed() < within
        {
            return went_well;
        }
        let outcome = if self.pins || lock.folder().exists() { lock.try_write() } else { Ok(()) };
        *tried = Some((Instant::now(), outcome.is_ok()));
        drop(tried);
        match outcome {
            Ok(()) => true,
            Err(error) => {
                self.tell(error);
                false
            }
        }
    }

    fn tried(&self) -> MutexGuard<'_, Option<(Instant, bool)>> {
        self.tried.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn note_write(&self, went_well: bool) {
        *self.tried() = Some((Instant::now(), went_well));
    }

    /// Whether versions may run; those that may are pinned when this returns, all in one write.
    /// Of each of them, how it came to run or why it is held.
    pub async fn admit(self: &Arc<Self>, versions: Vec<(PluginId, Version)>) -> Vec<Result<Outcome, Reason>> {
        let (guard, count) = (self.clone(), versions.len());
        let admitted = blocking(move || Ok(guard.admit_all(&versions))).await;
        admitted.unwrap_or_else(|reason| vec![Err(reason); count])
    }

    fn admit_all(&self, versions: &[(PluginId, Version)]) -> Vec<Result<Outcome, Reason>> {
        let known = self.known();
        let mut outcomes = Vec::new();
        let mut unpinned = Vec::new();
        for (at, (id, Version { seen, words })) in versions.iter().enumerate() {
            let rules = (self.rules)(id);
            let judged = usable(known.as_ref(), &rules, seen).and_then(|pins| {
                let outcome = rules.judge(&pins, id, seen)?;
                Ok((outcome, rules.trust != Trust::Dev && pins.of(id) != Some(&rules.pin(&pins, id, seen))))
            });
            if let Ok((_, true)) = judged {
                unpinned.push((at, rules, id, seen, words.as_str()));
            }
            outcomes.push(judged.map(|(outcome, _)| outcome));
        }
        if !self.pins || unpinned.is_empty() {
            return outcomes;
        }
        let Some(lock) = &self.lock else {
            hold_unkept(&mut outcomes, &unpinned, &known);
            return outcomes;
        };
        // Another process may have pinned something meanwhile: decide again, under the lock.
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
                self.note_write(true);
                for (at, outcome) in again {
                    outcomes[at] = outcome;
                }
                let admitted = unpinned.iter().filter(|(at, ..)| outcomes[*at].is_ok());
                lock.keep_surfaces(admitted.map(|(.., words)| *words), &pins);
            }
            // A full or read-only disk: versions that must be pinned do not run.
            Err(error) => {
                self.note_write(false);
                self.tell(error);
                hold_unkept(&mut outcomes, &unpinned, &known);
            }
        }
        outcomes
    }

    /// Notes that the files of plugins are gone.
    pub fn miss(self: &Arc<Self>, ids: Vec<PluginId>) {
        let guard = self.clone();
        tokio::task::spawn_blocking(move || {
            let Some(lock) = guard.lock.as_ref().filter(|_| guard.pins) else { return };
            let pinned = |pins: &Pins| ids.iter().any(|id| pins.of(id).is_some());
            if lock.read().is_ok_and(|pins| pinned(&pins))
                && let Err(error) = lock.update(|pins| ids.iter().for_each(|id| pins.miss(id)))
            {
                guard.tell(error);
            }
        });
    }

    /// Wakes when the pins change, and when they can be written again.
    pub fn watch(self: &Arc<Self>) -> Watch {
        let mut looks = tokio::time::interval(LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        Watch { guard: self.clone(), looks, file: self.lock.as_ref().map(Lock::changes), unwritable: false }
    }

    fn tell(&self, error: LockError) {
        let mut told = self.told.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if told.as_ref() != Some(&error) {
            tracing::error!(hint = error.hint, "failed to {error}");
            *told = Some(error);
        }
    }
}

/// The pins that a version is checked against. If they cannot be read, only versions that need no pin
/// may run.
fn usable<'p>(known: Option<&'p Pins>, rules: &Rules, seen: &Seen) -> Result<Cow<'p, Pins>, Reason> {
    let free = rules.trust == Trust::Dev || rules.by_hand.is_some();
    let drops_in = rules.trust == Trust::Default && seen.grants.is_empty();
    match known {
        Some(pins) => Ok(Cow::Borrowed(pins)),
        None if free || drops_in => Ok(Cow::Owned(Pins::default())),
        None => Err(Reason::NoLock),
    }
}

/// Whether a version may serve only when it is pinned: it holds grants, and the configuration does not
/// pin which version may have them.
fn must_be_pinned(rules: &Rules, pin: Option<&Pin>, seen: &Seen) -> bool {
    let free = rules.trust == Trust::Dev || rules.by_hand.is_some() || seen.grants.is_empty();
    !free && pin.is_none_or(|pin| pin.content != seen.content)
}

/// Holds those that must be pinned and are not.
fn hold_unkept(outcomes: &mut [Result<Outcome, Reason>], unpinned: &[Unpinned], known: &Known) {
    for (at, rules, id, seen, _) in unpinned {
        let pin = known.as_ref().and_then(|pins| pins.of(id));
        if outcomes[*at].is_ok() && must_be_pinned(rules, pin, seen) {
            outcomes[*at] = Err(Reason::NotKept);
        }
    }
}

/// The index of a requested version, and the pin it gets.
type Unpinned<'v> = (usize, Rules, &'v PluginId, &'v Seen, &'v str);

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
        // An approved version stays approved, even if its surface changed.
        let approved = self.by_hand.is_some() || (self.free_words && old.is_some_and(|old| old.approved));
        let new = Pin::of(seen, approved);
        match old {
            Some(old) if old.surface == new.surface && old.signer == new.signer => Pin { gone: None, ..old.clone() },
            _ => new,
        }
    }
}

impl Pin {
    /// The pin of a version as it is known. One that was not listed has an empty surface.
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
    file: Option<Changes>,
    /// They could not be written at the last look.
    unwritable: bool,
}

impl Watch {
    /// Cancel-safe.
    pub async fn changed(&mut self) {
        loop {
            self.looks.tick().await;
            if !self.guard.could_write() {
                self.unwritable = true;
                let guard = self.guard.clone();
                // A check that is no longer awaited has still updated the guard.
                let _ = tokio::task::spawn_blocking(move || guard.can_write(RETRY)).await;
            }
            let again = self.guard.could_write() && std::mem::take(&mut self.unwritable);
            if again {
                tracing::info!("the pin file is writable again");
                *self.guard.told.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = None;
            }
            // It is replaced whole: there is no need to wait until it rests.
            let file = self.file.as_mut();
            if file.is_some_and(Changes::take) || again {
                return;
            }
        }
    }
}

async fn blocking<R: Send + 'static>(work: impl FnOnce() -> Result<R, Reason> + Send + 'static) -> Result<R, Reason> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(io::Error::from).unwrap_or_else(|error| {
        tracing::error!(%error, "pin check task failed");
        Err(Reason::NoLock)
    })
}

#[cfg(test)]
mod tests;
