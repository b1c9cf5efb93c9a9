//! What a person decided, written only if it is about what the person was shown.

use std::collections::BTreeSet;
use std::fmt;

use super::file::{PinFile, PinFileError};
use super::guard::ListedVersion;
use super::pin::{Pin, Pins};
use crate::plugin::{Digest, PluginId};

/// What changed between a question and its answer. Reads after "since the question, ".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConcurrentChange {
    Revoked,
    /// Another version of the plugin than the one that was shown as pinned.
    Pinned(Digest),
}

impl fmt::Display for ConcurrentChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Revoked => f.write_str("this version was revoked"),
            Self::Pinned(content) => write!(f, "another version was pinned, blake3:{}…", content.short()),
        }
    }
}

impl PinFile {
    /// Pins a version that a person approved with its grants. `seen`: the pins that the person was shown. Blocks the
    /// calling thread.
    ///
    /// # Errors
    /// As [`PinFile::update`]. The inner error is what changed since; nothing is written then.
    pub fn approve(
        &self,
        id: &PluginId,
        version: &ListedVersion,
        seen: &Pins,
    ) -> Result<Result<(), ConcurrentChange>, PinFileError> {
        let content = version.version.content;
        let approved = self.decide(seen, id, content, |pins| {
            let approved_grants = Some(version.version.granted.clone());
            let pin = Pin { approved_grants, ..Pin::new(&version.version, true) };
            pins.approve(id, self.with_place(pin, &version.path));
            pins.clone()
        })?;
        Ok(approved.map(|pins| self.store_surfaces([&*version.surface_text], &pins)))
    }

    /// Extends the approval of a version by grants, as [`PinFile::approve`].
    ///
    /// # Errors
    /// As [`PinFile::approve`].
    pub fn extend_approval(
        &self,
        id: &PluginId,
        content: Digest,
        grants: &BTreeSet<String>,
        seen: &Pins,
    ) -> Result<Result<(), ConcurrentChange>, PinFileError> {
        self.decide(seen, id, content, |pins| pins.extend_approval(id, content, grants))
    }

    /// Whether a decision on a version would still be about what was shown.
    ///
    /// # Errors
    /// As [`PinFile::read`]. The inner error is what changed since.
    pub fn decision_holds(
        &self,
        id: &PluginId,
        content: Digest,
        seen: &Pins,
    ) -> Result<Result<(), ConcurrentChange>, PinFileError> {
        Ok(self.read()?.changed_since(seen, id, content).map_or(Ok(()), Err))
    }

    /// Checked under the writers' lock: until then another process may revoke the version, or pin another one.
    fn decide<R>(
        &self,
        seen: &Pins,
        id: &PluginId,
        content: Digest,
        mut edit: impl FnMut(&mut Pins) -> R,
    ) -> Result<Result<R, ConcurrentChange>, PinFileError> {
        self.update(|pins| match pins.changed_since(seen, id, content) {
            Some(change) => Err(change),
            None => Ok(edit(pins)),
        })
    }
}

impl Pins {
    /// What changed that concerns a decision on that version.
    fn changed_since(&self, seen: &Self, id: &PluginId, content: Digest) -> Option<ConcurrentChange> {
        if self.is_revoked(content) && !self.revocations(content).eq(seen.revocations(content)) {
            return Some(ConcurrentChange::Revoked);
        }
        let now = self.get(id).map(|pin| pin.content).filter(|now| *now != content)?;
        (seen.get(id).map(|pin| pin.content) != Some(now)).then_some(ConcurrentChange::Pinned(now))
    }
}

#[cfg(test)]
mod tests;
