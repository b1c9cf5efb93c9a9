//! Events of a plugin folder, for the log and the audit log.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use wharf_report::shell_word;

use super::files::Ignored;
use super::names::Warning;
use crate::pins::Decision;
use crate::plugin::{Digest, ListingWarning, LoadError, PluginId};

/// Why a file is not served.
#[derive(Clone, Debug)]
pub struct RefusedFile {
    pub path: PathBuf,
    /// Reads after "failed to".
    pub reason: String,
    pub hint: Option<String>,
    /// The previous version keeps serving.
    pub still_serving: bool,
}

impl RefusedFile {
    pub fn of_ignored(path: PathBuf, reason: &Ignored) -> Self {
        Self { path, reason: reason.to_string(), hint: reason.hint(), still_serving: false }
    }
}

/// What to do about a file that cannot be loaded.
pub fn load_hint(error: &LoadError, file: &Path) -> Option<String> {
    let word = shell_word(file);
    Some(match error {
        LoadError::WritableByOthers => format!("check where the file comes from, then run: chmod go-w {word}"),
        LoadError::ForeignOwner => {
            format!("check where the file comes from, then run: sudo chown \"$(id -un)\" {word}")
        }
        LoadError::Unsigned => format!("sign it: minisign -S -m {word}"),
        error => error.hint()?.to_owned(),
    })
}

/// A version that is held, most often until it is approved.
#[derive(Clone, Debug)]
pub struct Held {
    pub path: PathBuf,
    pub decision: Decision,
    /// Which command to run, or what to change.
    pub hint: String,
    /// The previous version keeps serving.
    pub still_serving: bool,
}

/// An event in the folder.
#[derive(Clone, Debug)]
pub enum FolderEvent {
    /// The number of files found by the first scan.
    Found(usize),
    Loading(PluginId),
    /// Every file that the first scan found is in service or refused.
    FirstScanDone,
    Loaded {
        id: PluginId,
        digest: Digest,
        /// Another version was in service.
        swapped: bool,
        tools: usize,
        took: Duration,
    },
    /// The version may run; `Loaded` follows once it is in service.
    Admitted(Decision),
    Held(Held),
    /// The plugin keeps serving under changed limits, grants or names.
    Reconfigured(PluginId),
    Removed(PluginId),
    /// Its file has the version in service, whatever it had before.
    Unchanged(PluginId),
    Refused(RefusedFile),
    Warned(FolderWarning),
}

/// What is not as a person expects, in a plugin that is served.
#[derive(Clone, Debug)]
pub enum FolderWarning {
    Name(Warning),
    Listing(PluginId, ListingWarning),
    /// The first one's name can be confused with the other's.
    LooksAlike(PluginId, PluginId),
    /// It changed its surface while that was allowed, and is loaded again.
    SurfaceChanged(PluginId),
}

impl fmt::Display for FolderWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(warning) => warning.fmt(f),
            Self::Listing(id, warning) => write!(f, "plugin '{id}': {warning}"),
            Self::LooksAlike(id, other) => write!(f, "plugin '{id}' has a name similar to that of plugin '{other}'"),
            Self::SurfaceChanged(id) => write!(
                f,
                "plugin '{id}' changed its tool descriptions since it was loaded, which is no longer allowed: reloading"
            ),
        }
    }
}
