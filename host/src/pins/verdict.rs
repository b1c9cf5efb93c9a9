//! The decision on a version, as text for a person or a record.

use std::path::Path;

use super::decision::{Reason, Seen};
use crate::plugin::{Digest, PluginId, Signer};

/// How a version came to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is the first one: approved on first use.
    First,
    /// It is the pinned one.
    Same,
    /// It updates the pinned one, and needs no approval.
    Followed {
        /// Its surface changed.
        other_words: bool,
    },
}

/// The decision on a version, for a person or a record.
#[derive(Clone, Debug)]
pub struct Decision {
    pub plugin: PluginId,
    pub content: Digest,
    /// `None`: it was not listed.
    pub surface: Option<Digest>,
    pub signer: Option<Signer>,
    /// Why it is held, or how it came to run.
    pub outcome: Result<Outcome, Reason>,
}

impl Decision {
    pub fn new(plugin: PluginId, seen: &Seen, outcome: Result<Outcome, Reason>) -> Self {
        Self { plugin, content: seen.content, surface: seen.surface, signer: seen.signer.clone(), outcome }
    }

    /// The machine-readable code.
    pub fn event(&self) -> &'static str {
        match &self.outcome {
            Ok(Outcome::First) => "first_use",
            Ok(Outcome::Same) => "same",
            Ok(Outcome::Followed { other_words: false }) => "followed",
            Ok(Outcome::Followed { other_words: true }) => "followed_with_other_words",
            Err(_) => "hold",
        }
    }

    /// Why it is held; reads after "failed to".
    pub fn refusal(&self) -> String {
        self.outcome.as_ref().err().map_or_else(String::new, |reason| format!("run it without approval: {reason}"))
    }

    /// A hint for the operator. `folder` is where the plugin's file is.
    pub fn hint(&self, folder: &Path) -> String {
        let command = self.command(folder);
        match &self.outcome {
            Err(Reason::NotTheOnePinned | Reason::NoLock | Reason::NotKept) => command,
            _ => format!("to see the changes: wharf status {}; {command}", shell_word(folder)),
        }
    }

    /// The same, where the changes are already shown.
    pub fn command(&self, folder: &Path) -> String {
        let id = &self.plugin;
        match &self.outcome {
            Err(Reason::NotTheOnePinned) => format!("change or remove `pin` under [plugins.{id}] in the configuration"),
            Err(Reason::NoLock) => "see the log for what is wrong with the pin file".into(),
            Err(Reason::NotKept) => format!(
                "free disk space for $XDG_STATE_HOME/wharf, or make it writable by this user, and it runs within seconds; \
                 or pin it by hand: pin = \"blake3:{}\" under [plugins.{id}] in the configuration",
                self.content
            ),
            _ => format!("to approve it: {}", approval(id, Some(folder))),
        }
    }
}

/// The command that approves the version in a folder, which is the user's own if it is not given.
pub fn approval(id: &PluginId, folder: Option<&Path>) -> String {
    folder.map_or_else(|| format!("wharf approve {id}"), |folder| format!("wharf approve {id} {}", shell_word(folder)))
}

/// A path quoted as one shell word that is not an option.
pub fn shell_word(path: &Path) -> String {
    let mut path = path.display().to_string();
    if path.starts_with('-') {
        path.insert_str(0, "./");
    }
    let plain = |c: char| c.is_alphanumeric() || "/._-+@%".contains(c);
    if path.chars().all(plain) { path } else { format!("'{}'", path.replace('\'', "'\\''")) }
}
