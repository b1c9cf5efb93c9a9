//! Applies the rules of a plugin to a version: the pins it is checked against, how it is admitted, and its new pin.

use std::borrow::Cow;

use crate::pins::decision::{PluginVersion, Reason, Rules, Trust, decide};
use crate::pins::pin::{Pin, Pins, names, now};
use crate::pins::verdict::AdmittedAs;
use crate::plugin::{Digest, PluginId, Signer};

impl Rules {
    pub(super) fn admit(&self, pins: &Pins, id: &PluginId, version: &PluginVersion) -> Result<AdmittedAs, Reason> {
        // The pin is that of a server elsewhere if this one pins nothing.
        let pin = pins.get(id).filter(|_| self.trust != Trust::Dev);
        decide(self, pin, pins.revocation(id, version.content), version)?;
        let Some(pin) = pin else { return Ok(AdmittedAs::FirstUse) };
        let surface_changed = Some(pin.surface) != version.surface;
        let is_pinned = pin.content == version.content && (self.surface_may_change || !surface_changed);
        Ok(if is_pinned { AdmittedAs::Unchanged } else { AdmittedAs::Updated { surface_changed } })
    }

    /// The pin of an admitted version; equal to the existing one if nothing has to be written.
    pub(super) fn new_pin(&self, pins: &Pins, id: &PluginId, version: &PluginVersion) -> Pin {
        let old = pins.get(id).filter(|old| old.content == version.content);
        // A version whose surface may change stays approved, with the surface that was: other versions are compared with
        // that, and so is this one when it may not change any more.
        let kept = old.filter(|_| self.surface_may_change);
        let approved = self.configured_pin.is_some() || kept.is_some_and(|old| old.approved);
        let approved_grants = old.and_then(|old| old.approved_grants.clone());
        let new = Pin { approved_grants, ..Pin::new(version, approved) };
        let new = Pin { surface: kept.map_or(new.surface, |old| old.surface), ..new };
        match old {
            Some(old) if old.surface == new.surface && old.signer == new.signer => Pin { gone: None, ..old.clone() },
            _ => new,
        }
    }
}

impl Pin {
    /// Pins a version. One that was not listed gets the digest of an empty surface.
    pub fn new(version: &PluginVersion, approved: bool) -> Self {
        Self {
            content: version.content,
            surface: version.surface.unwrap_or_else(|| Digest::of(b"")),
            needs: names(&version.needs),
            grants: names(&version.grants),
            signer: version.signer.as_ref().map(Signer::to_string),
            approved,
            approved_grants: None,
            folder: None,
            file: None,
            time: now(),
            gone: None,
        }
    }
}

/// The pins that a version is checked against. If they cannot be read, only versions that need no pin
/// pass, checked against none.
pub(super) fn pins_to_check<'p>(
    known: Option<&'p Pins>,
    rules: &Rules,
    version: &PluginVersion,
) -> Result<Cow<'p, Pins>, Reason> {
    let ignores_pins = rules.trust == Trust::Dev || rules.configured_pin.is_some();
    let needs_none = rules.trust == Trust::Default && !rules.guard_changes(version);
    match known {
        Some(pins) => Ok(Cow::Borrowed(pins)),
        None if ignores_pins || needs_none => Ok(Cow::Owned(Pins::default())),
        None => Err(Reason::PinsUnreadable),
    }
}

/// Whether a version may serve only once it is pinned: the plugin holds grants or carries skills, and the configuration
/// does not pin the version that may use them.
pub(super) fn must_be_pinned(rules: &Rules, pin: Option<&Pin>, version: &PluginVersion) -> bool {
    let needs_none = rules.trust == Trust::Dev || rules.configured_pin.is_some();
    // What is served unpinned could be another text at each start.
    let is_guarded = !version.grants.is_empty() || version.has_skills;
    is_guarded && !needs_none && pin.is_none_or(|pin| pin.content != version.content)
}
