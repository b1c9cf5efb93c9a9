//! Events of a plugin folder, for logs and records.

use std::path::PathBuf;
use std::time::Duration;

use crate::pins::Decision;
use crate::plugin::{Digest, PluginId};

/// Why a file is not served.
#[derive(Clone, Debug)]
pub struct Refusal {
    pub path: PathBuf,
    /// Reads after "failed to".
    pub reason: String,
    pub hint: Option<String>,
    /// The previous version keeps serving.
    pub still_serving: bool,
}

/// A version that is pending approval.
#[derive(Clone, Debug)]
pub struct Held {
    pub path: PathBuf,
    pub decision: Decision,
    /// What a person can do: which command to run.
    pub hint: String,
    /// The previous version keeps serving.
    pub still_serving: bool,
}

impl Held {
    /// The same as a refusal, for callers that do not distinguish the two.
    pub fn refusal(&self) -> Refusal {
        let (path, hint) = (self.path.clone(), Some(self.hint.clone()));
        Refusal { path, reason: self.decision.refusal(), hint, still_serving: self.still_serving }
    }
}

/// An event in the folder.
#[derive(Clone, Debug)]
pub enum FolderEvent {
    /// The number of files found by the first scan.
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
    /// It may run; `Loaded` follows when it does.
    Admitted(Decision),
    Held(Held),
    /// It keeps serving under other limits or grants.
    Reconfigured(PluginId),
    Removed(PluginId),
    Refused(Refusal),
    Warned(String),
}
