//! Checks versions against the pins while plugins are loaded, and pins the admitted ones.
//!
//! The rules are in `decision`.

mod missing;
mod rules;
mod watch;

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use self::rules::{must_be_pinned, pins_to_check};
pub use self::watch::Watch;
use super::decision::{PluginVersion, Reason, Rules, Trust, decide, may_list_with_grants};
use super::file::{PinFile, PinFileError};
use super::pin::{Pin, Pins, Revocation};
use super::verdict::AdmittedAs;
use crate::plugin::{Digest, PluginId, Signatures};
use crate::sync::lock;

/// How long the result of a write check stays valid.
const WRITE_CHECK_TTL: Duration = Duration::from_secs(1);

/// Decides whether a version may be put into service.
pub struct Guard {
    /// `None`: there is no folder for pins.
    file: Option<PinFile>,
    /// Whether admitted versions are pinned; otherwise the file is only read.
    writes: bool,
    rules: Box<dyn Fn(&PluginId) -> Rules + Send + Sync>,
    signatures: Box<dyn Fn() -> Signatures + Send + Sync>,
    /// The last logged error: the same one is not logged twice in a row.
    last_error: Mutex<Option<PinFileError>>,
    /// The pin file could not be read now, and has to be read again.
    unread: AtomicBool,
    /// When the pin file or a test file was last written, and whether that succeeded.
    last_write: Mutex<Option<(Instant, bool)>>,
    /// Plugins whose files were removed, which is not recorded yet.
    missing: Mutex<BTreeSet<PluginId>>,
}

/// The pins as read at one moment. `None`: they cannot be read.
pub type KnownPins = Option<Pins>;

/// A version and its surface.
#[derive(Clone, Debug)]
pub struct ListedVersion {
    pub version: PluginVersion,
    /// From [`crate::plugin::Surface::canonical`].
    pub surface_text: String,
    /// Its file.
    pub path: PathBuf,
}

impl Guard {
    /// Admits every version and pins nothing.
    pub fn permissive() -> Self {
        let dev = |_: &PluginId| Rules { trust: Trust::Dev, ..Rules::default() };
        Self { writes: false, ..Self::new(None, dev, Signatures::default) }
    }

    pub fn new(
        file: Option<PinFile>,
        rules: impl Fn(&PluginId) -> Rules + Send + Sync + 'static,
        signatures: impl Fn() -> Signatures + Send + Sync + 'static,
    ) -> Self {
        let (rules, signatures) = (Box::new(rules), Box::new(signatures));
        let (unread, last_error, last_write) = (AtomicBool::new(false), Mutex::default(), Mutex::default());
        Self { file, writes: true, rules, signatures, last_error, unread, last_write, missing: Mutex::default() }
    }

    /// Also admits every version of one plugin, and pins none of it. What is revoked, or is not the configured pin,
    /// is held all the same.
    pub fn trusting(self, plugin: PluginId) -> Self {
        let rules = self.rules;
        let rules = Box::new(move |id: &PluginId| {
            let own = rules(id);
            if *id == plugin { Rules { trust: Trust::Dev, ..own } } else { own }
        });
        Self { rules, ..self }
    }

    /// Records that folder of plugins in the pins that it writes.
    pub fn for_plugins(self, folder: &Path) -> Self {
        Self { file: self.file.map(|file| file.for_plugins(folder)), ..self }
    }

    /// Turns it into a guard that never writes the pin file.
    pub fn read_only(self) -> Self {
        Self { writes: false, ..self }
    }

    pub fn signatures(&self) -> Signatures {
        (self.signatures)()
    }

    /// Whether the surface of a plugin in service must not change.
    pub fn pins_surface(&self, id: &PluginId, holds_grants: bool) -> bool {
        let rules = (self.rules)(id);
        match rules.trust {
            Trust::Dev => false,
            Trust::Default => holds_grants && !rules.surface_may_change,
            Trust::Strict => !rules.surface_may_change,
        }
    }

    /// The digest that the configuration pins for a plugin.
    pub fn configured_pin(&self, id: &PluginId) -> Option<Digest> {
        (self.rules)(id).configured_pin
    }

    /// Reads the pin file. Callers that decide on several plugins read it once.
    pub fn read_pins(&self) -> KnownPins {
        self.try_read_pins().map_err(|error| self.report(error)).ok()
    }

    /// The same for what decides on no version: whoever does reports that the pins cannot be read.
    pub fn read_pins_silently(&self) -> KnownPins {
        self.try_read_pins().ok()
    }

    fn try_read_pins(&self) -> Result<Pins, PinFileError> {
        let Some(file) = &self.file else { return Ok(Pins::default()) };
        file.read().inspect_err(|error| {
            self.unread.fetch_or(error.temporary, Ordering::Relaxed);
        })
    }

    /// Whether a version may be listed; `true`: with its plugin's grants.
    ///
    /// # Errors
    /// Why it is held regardless of its surface.
    pub async fn may_list(self: &Arc<Self>, id: &PluginId, version: &PluginVersion) -> Result<bool, Reason> {
        let (guard, id, version) = (self.clone(), id.clone(), version.clone());
        blocking(move || if guard.writes { guard.may_serve(&id, &version) } else { guard.may_run(&id, &version) }).await
    }

    /// Whether a version may run, given what is known about it; `true`: it may use its plugin's grants
    /// while it is listed.
    ///
    /// # Errors
    /// Why it is held.
    pub fn may_run(&self, id: &PluginId, version: &PluginVersion) -> Result<bool, Reason> {
        self.decide_with(&self.read_pins(), id, version)
    }

    /// As [`Guard::may_run`], for a server: the version must also be pinned, so the pin file writable.
    ///
    /// # Errors
    /// Why it is held.
    pub fn may_serve(&self, id: &PluginId, version: &PluginVersion) -> Result<bool, Reason> {
        let known = self.read_pins();
        let trusted = self.decide_with(&known, id, version)?;
        let pin = known.as_ref().and_then(|pins| pins.get(id));
        if must_be_pinned(&(self.rules)(id), pin, version) && !self.is_writable(WRITE_CHECK_TTL) {
            return Err(Reason::PinsUnwritable);
        }
        Ok(trusted)
    }

    /// Whether a version may serve as it is pinned, or, if no version of its content is pinned, need not be pinned first.
    /// `is_claimed`: its surface is what its file says, and not what its code has listed. A person who configured a pin
    /// has seen what its code lists.
    pub async fn may_serve_unpinned(
        self: &Arc<Self>,
        id: &PluginId,
        version: &PluginVersion,
        is_claimed: bool,
    ) -> bool {
        let (guard, id, version) = (self.clone(), id.clone(), version.clone());
        let decide = move || {
            let (known, rules) = (guard.read_pins(), (guard.rules)(&id));
            let pins = pins_to_check(known.as_ref(), &rules, &version)?;
            let pin = pins.get(&id);
            decide(&rules, pin, pins.revocation(&id, version.content), &version)?;
            let pinned = pin.filter(|pin| pin.content == version.content);
            let is_as_pinned = match pinned {
                Some(pin) => Some(pin.surface) == version.surface || rules.surface_may_change && !is_claimed,
                None => !(is_claimed && rules.configured_pin.is_some()),
            };
            Ok(is_as_pinned && !must_be_pinned(&rules, pin, &version))
        };
        blocking(decide).await.unwrap_or(false)
    }

    fn decide_with(&self, known: &KnownPins, id: &PluginId, version: &PluginVersion) -> Result<bool, Reason> {
        let rules = (self.rules)(id);
        let pins = pins_to_check(known.as_ref(), &rules, version)?;
        decide(&rules, pins.get(id), pins.revocation(id, version.content), version)?;
        Ok(may_list_with_grants(&rules, pins.get(id), version.content))
    }

    /// Whether a version that is held for `reason` might be admitted if it were loaded again. An approved
    /// one might, whatever its surface was: listed with its grants it may have another.
    pub fn may_retry(&self, known: &KnownPins, id: &PluginId, version: &PluginVersion, reason: &Reason) -> bool {
        let rules = (self.rules)(id);
        let Ok(pins) = pins_to_check(known.as_ref(), &rules, version) else { return false };
        let with_grants = may_list_with_grants(&rules, pins.get(id), version.content);
        if *reason == Reason::PinsUnwritable {
            if must_be_pinned(&rules, pins.get(id), version) && !self.was_writable() {
                return false;
            }
        } else if !with_grants && version.surface.is_none() {
            return false;
        }
        let unlisted = PluginVersion { surface: None, needs: Default::default(), has_skills: false, ..version.clone() };
        let version = if with_grants { &unlisted } else { version };
        decide(&rules, pins.get(id), pins.revocation(id, version.content), version).is_ok()
    }

    /// Whether a version would be held because it was approved for other grants.
    pub fn approved_for_other_grants(
        &self,
        known: &KnownPins,
        id: &PluginId,
        version: &PluginVersion,
    ) -> Option<Reason> {
        let pins = known.as_ref()?;
        let decided = decide(&(self.rules)(id), pins.get(id), pins.revocation(id, version.content), version);
        decided.err().filter(|reason| matches!(reason, Reason::ApprovedForOtherGrants(_)))
    }

    /// Whether a version in service may keep serving.
    ///
    /// # Errors
    /// Why it must stop.
    pub fn may_stay(&self, known: &KnownPins, id: &PluginId, version: &PluginVersion) -> Result<(), Reason> {
        let rules = (self.rules)(id);
        let none = Pins::default();
        let pins = known.as_ref().unwrap_or(&none);
        let (pin, revocation) = (pins.get(id), pins.revocation(id, version.content));
        // A person who revokes a plugin whose approved version is not in service yet means the one that is.
        let was_revoked = revocation == Revocation::OfPlugin && pin.is_none_or(|pin| pins.is_revoked(pin.content));
        match decide(&rules, pin, revocation, version) {
            Err(reason) if reason.stops_service() || was_revoked => Err(reason),
            _ => Ok(()),
        }
    }

    /// The pinned surface of a version in service, if it is not the one that it has.
    pub fn other_surface(&self, known: &KnownPins, id: &PluginId, version: &PluginVersion) -> Option<Digest> {
        let pin = known.as_ref()?.get(id).filter(|pin| pin.content == version.content)?;
        version.surface.is_some_and(|own| own != pin.surface).then_some(pin.surface)
    }

    /// Whether the last write succeeded; `true` if there was none.
    fn was_writable(&self) -> bool {
        self.last_write().is_none_or(|(_, succeeded)| succeeded)
    }

    /// Whether the pin file can be written. A result that is older than `max_age` is checked again.
    fn is_writable(&self, max_age: Duration) -> bool {
        let Some(file) = &self.file else { return false };
        let mut last_write = self.last_write();
        if let Some((when, succeeded)) = *last_write
            && when.elapsed() < max_age
        {
            return succeeded;
        }
        let outcome = if self.writes || file.folder().exists() { file.try_write() } else { Ok(()) };
        *last_write = Some((Instant::now(), outcome.is_ok()));
        drop(last_write);
        match outcome {
            Ok(()) => true,
            Err(error) => {
                self.report(error);
                false
            }
        }
    }

    fn last_write(&self) -> MutexGuard<'_, Option<(Instant, bool)>> {
        lock(&self.last_write)
    }

    fn record_write(&self, succeeded: bool) {
        *self.last_write() = Some((Instant::now(), succeeded));
    }

    /// Reports why the pins could not be edited, and has [`Watch::changed`] wake when they may be.
    fn record_failed_update(&self, error: PinFileError) {
        if error.of_writing {
            self.record_write(false);
        }
        self.unread.fetch_or(error.temporary, Ordering::Relaxed);
        self.report(error);
    }

    /// Decides on versions and pins the admitted ones, all in one write that is on disk when this
    /// returns. One result for each version, in order: how it was admitted, or why it is held.
    pub async fn admit(self: &Arc<Self>, versions: Vec<(PluginId, ListedVersion)>) -> Vec<Result<AdmittedAs, Reason>> {
        let (guard, count) = (self.clone(), versions.len());
        let admitted = blocking(move || Ok(guard.admit_all(&versions))).await;
        admitted.unwrap_or_else(|reason| vec![Err(reason); count])
    }

    fn admit_all(&self, versions: &[(PluginId, ListedVersion)]) -> Vec<Result<AdmittedAs, Reason>> {
        self.unmark_missing(versions.iter().map(|(id, _)| id));
        let known = self.read_pins();
        let mut outcomes = Vec::new();
        let mut unpinned = Vec::new();
        for (at, (id, listed)) in versions.iter().enumerate() {
            let (rules, version) = ((self.rules)(id), &listed.version);
            let decided = pins_to_check(known.as_ref(), &rules, version).and_then(|pins| {
                let outcome = rules.admit(&pins, id, version)?;
                Ok((
                    outcome,
                    rules.trust != Trust::Dev && pins.get(id) != Some(&self.new_pin(&rules, &pins, id, listed)),
                ))
            });
            if let Ok((_, true)) = decided {
                unpinned.push((at, rules, id, listed));
            }
            outcomes.push(decided.map(|(outcome, _)| outcome));
        }
        if !self.writes || unpinned.is_empty() {
            // Another node may have pinned them; what the next version is compared with is on each machine.
            if let (true, Some(file), Some(pins)) = (self.writes, &self.file, &known)
                && file.is_shared()
            {
                file.store_surfaces(surfaces_of(versions, &outcomes), pins);
            }
            return outcomes;
        }
        let Some(file) = &self.file else {
            hold_unpinned(&mut outcomes, &unpinned, &known);
            return outcomes;
        };
        // Another process may have pinned something since: decide again, under the writers' lock.
        let pinned = file.update(|pins| {
            let mut decided = Vec::new();
            for (at, rules, id, listed) in &unpinned {
                let outcome = rules.admit(pins, id, &listed.version);
                if outcome.is_ok() {
                    pins.insert(id, self.new_pin(rules, pins, id, listed));
                }
                decided.push((*at, outcome));
            }
            (decided, pins.clone())
        });
        match pinned {
            Ok((decided, pins)) => {
                self.record_write(true);
                for (at, outcome) in decided {
                    outcomes[at] = outcome;
                }
                file.store_surfaces(surfaces_of(versions, &outcomes), &pins);
            }
            // A full or read-only disk, or a damaged file: versions that must be pinned do not run.
            Err(error) => {
                self.record_failed_update(error);
                hold_unpinned(&mut outcomes, &unpinned, &known);
            }
        }
        outcomes
    }

    fn new_pin(&self, rules: &Rules, pins: &Pins, id: &PluginId, listed: &ListedVersion) -> Pin {
        let pin = rules.new_pin(pins, id, &listed.version);
        match &self.file {
            Some(file) => file.with_place(pin, &listed.path),
            None => pin,
        }
    }

    fn report(&self, error: PinFileError) {
        let mut last_error = lock(&self.last_error);
        if last_error.as_ref() != Some(&error) {
            // A command ends.
            let again = (self.writes && error.temporary).then_some("they are read again until that succeeds");
            tracing::error!(hint = error.hint.as_deref().or(again), "failed to {error}");
            *last_error = Some(error);
        }
    }
}

/// The surfaces of the versions that were admitted.
fn surfaces_of<'v>(
    versions: &'v [(PluginId, ListedVersion)],
    outcomes: &[Result<AdmittedAs, Reason>],
) -> impl Iterator<Item = &'v str> {
    let admitted = versions.iter().zip(outcomes).filter(|(_, outcome)| outcome.is_ok());
    admitted.map(|((_, listed), _)| listed.surface_text.as_str())
}

/// Holds the versions that must be pinned and could not be.
fn hold_unpinned(outcomes: &mut [Result<AdmittedAs, Reason>], unpinned: &[Unpinned], known: &KnownPins) {
    for (at, rules, id, listed) in unpinned {
        let pin = known.as_ref().and_then(|pins| pins.get(id));
        if outcomes[*at].is_ok() && must_be_pinned(rules, pin, &listed.version) {
            outcomes[*at] = Err(Reason::PinsUnwritable);
        }
    }
}

/// A version to be pinned: its index in the request, its rules and id.
type Unpinned<'v> = (usize, Rules, &'v PluginId, &'v ListedVersion);

async fn blocking<R: Send + 'static>(work: impl FnOnce() -> Result<R, Reason> + Send + 'static) -> Result<R, Reason> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(io::Error::from).unwrap_or_else(|error| {
        tracing::error!(%error, "pin check task failed");
        Err(Reason::PinsUnreadable)
    })
}

#[cfg(test)]
mod tests;
