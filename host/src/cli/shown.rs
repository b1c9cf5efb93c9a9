//! What a person was shown before a question: it must still hold when the answer takes effect.

use std::path::Path;

use wharf_report::line;

use super::candidate::Candidate;
use super::options::Options;
use super::wiring::lock_failure;
use crate::pins::{ConcurrentChange, PinFile, Pins, PluginVersion};
use crate::plugin::{Digest, PluginId};
use crate::report::Failure;

/// A version that a person is asked about.
pub(super) struct Shown<'a> {
    pub(super) options: &'a Options,
    pub(super) id: &'a PluginId,
    pub(super) path: &'a Path,
    /// The command that shows it again.
    pub(super) again: &'a str,
    pub(super) version: PluginVersion,
    /// Whether its descriptions may change later.
    pub(super) may_change: bool,
}

impl Shown<'_> {
    /// Reads the file and the configuration again.
    ///
    /// # Errors
    /// What changed since, or cannot be read any more.
    pub(super) async fn holds(&self) -> Result<(), String> {
        let Self { id, path, version, .. } = self;
        let config = self.options.config().map_err(|failure| format!("failed to {}", failure.into_parts().0))?;
        let candidate = Candidate::read(&config, path, id).await;
        let now = candidate.map_err(|(reason, _)| format!("failed to {reason}"))?.seen;
        if now.content != version.content {
            return Err(replaced(now.content));
        }
        if now.signer != version.signer {
            return Err("its signature changed".to_owned());
        }
        let listed = |label: &str, grants: Vec<String>| match grants.is_empty() {
            true => None,
            false => Some(format!("{label} {}", line(&grants.join("; ")))),
        };
        let change_lists = |was: bool, is: bool| (is && !was).then(|| "change-lists".to_owned());
        let may_change = config.may_change_lists(id);
        let added = now.granted.difference(&version.granted).cloned().chain(change_lists(self.may_change, may_change));
        let removed =
            version.granted.difference(&now.granted).cloned().chain(change_lists(may_change, self.may_change));
        let changes = [listed("with", added.collect()), listed("without", removed.collect())];
        let changes: Vec<String> = changes.into_iter().flatten().collect();
        if changes.is_empty() { Ok(()) } else { Err(format!("its grants changed: now {}", changes.join(", "))) }
    }

    /// Fails unless all is as it was shown. `seen`: the pins that the person was shown.
    pub(super) async fn check(&self, lock: &PinFile, seen: &Pins) -> Result<(), Failure> {
        self.holds().await.map_err(|what| self.outdated(&what))?;
        let decided = lock.decision_holds(self.id, self.version.content, seen).map_err(lock_failure)?;
        decided.map_err(|change| self.outdated_by(change))
    }

    /// The failure of an approval of what is no longer as it was shown.
    pub(super) fn outdated(&self, what: &str) -> Failure {
        Failure::new(format!("approve this version of {}: since the question, {what}; nothing was approved", self.id))
            .hint(format!("look at it again: {}", self.again))
    }

    pub(super) fn outdated_by(&self, change: ConcurrentChange) -> Failure {
        self.outdated(&change.to_string())
    }
}

/// That a file has other content than before. Reads after "since the question, ".
pub(super) fn replaced(now: Digest) -> String {
    format!("its file was replaced by blake3:{}…", now.short())
}
