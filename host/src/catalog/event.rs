//! What happens in a plugin folder, as values for people and records.
//!
//! Nothing happens here.

use std::path::PathBuf;
use std::time::Duration;

use crate::pins::Decision;
use crate::plugin::{Digest, PluginId};

/// Why a file is not a plugin in service.
#[derive(Clone, Debug)]
pub struct Refusal {
    pub path: PathBuf,
    /// Reads after "failed to".
    pub reason: String,
    pub hint: Option<String>,
    /// An older version of it goes on serving.
    pub still_serving: bool,
}

/// A version that does not run until a person has decided.
#[derive(Clone, Debug)]
pub struct Held {
    pub path: PathBuf,
    pub decision: Decision,
    /// What a person can do: which command to run.
    pub hint: String,
    /// The version before it goes on serving.
    pub still_serving: bool,
}

impl Held {
    /// The same for those to whom it is one more file that is not served.
    pub fn refusal(&self) -> Refusal {
        let (path, hint) = (self.path.clone(), Some(self.hint.clone()));
        Refusal { path, reason: self.decision.refusal(), hint, still_serving: self.still_serving }
    }
}

/// What happens in the folder, for whoever shows it to people.
#[derive(Clone, Debug)]
pub enum FolderEvent {
    /// The first scan found so many files.
    Found(usize),
    Loading(PluginId),
    /// All that the first scan found is in service or refused.
    Settled,
    Loaded {
        id: PluginId,
        digest: Digest,
        /// Other content of it was in service.
        swapped: bool,
        tools: usize,
        took: Duration,
    },
    /// It may run, and does when it is said to be loaded.
    Admitted(Decision),
    Held(Held),
    /// It serves on under other limits or grants.
    Reconfigured(PluginId),
    Removed(PluginId),
    Refused(Refusal),
    Warned(String),
}
