//! What of a plugin folder is not in service, and why: by the events of the folder.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;
use wharf_report::ShowPath as _;

use crate::catalog::{FolderEvent, Held, MAX_PLUGINS, RefusedFile, plugin_of};
use crate::os::paths::absolute;
use crate::sync::lock;
use crate::text::printable;

/// Maximum entries: files over the limit of plugins are refused, too.
const MAX_ENTRIES: usize = 2 * MAX_PLUGINS;

/// A version that is held, or a file that is refused.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Unserved {
    /// `held` or `refused`.
    pub(super) state: &'static str,
    pub(super) reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) code: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) content: Option<String>,
    /// A person may approve it.
    pub(super) approvable: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hint: Option<String>,
    pub(super) file: String,
    #[serde(skip)]
    path: PathBuf,
}

pub(super) struct Board {
    /// The plugin folder, absolute.
    dir: PathBuf,
    /// By the name of the plugin, or the path in the folder of a file that has none.
    unserved: Mutex<BTreeMap<String, Unserved>>,
    revision: AtomicU64,
}

impl Board {
    pub(super) fn of(dir: &Path) -> Self {
        Self { dir: absolute(dir), unserved: Mutex::default(), revision: AtomicU64::new(0) }
    }

    pub(super) fn follow(&self, event: &FolderEvent) {
        let mut unserved = lock(&self.unserved);
        match event {
            FolderEvent::Held(held) => insert(&mut unserved, held.decision.plugin.to_string(), of_held(held)),
            FolderEvent::Refused(refused) => insert(&mut unserved, self.name_of(refused), of_refused(refused)),
            FolderEvent::Loaded { id, .. } | FolderEvent::Removed(id) | FolderEvent::Unchanged(id) => {
                unserved.remove(id.as_ref());
            }
            FolderEvent::Reconfigured(_) | FolderEvent::FirstScanDone => {}
            FolderEvent::Found(_) | FolderEvent::Loading(_) | FolderEvent::Admitted(_) | FolderEvent::Warned(_) => {
                return;
            }
        }
        self.revision.fetch_add(1, Ordering::Relaxed);
    }

    fn name_of(&self, refused: &RefusedFile) -> String {
        let id = plugin_of(&refused.path).and_then(Result::ok);
        let in_folder = refused.path.strip_prefix(&self.dir).unwrap_or(&refused.path);
        id.map_or_else(|| in_folder.shown().to_string(), |id| id.to_string())
    }

    /// Leaves out those whose files are gone, which is no event if they never ran. Blocks the calling thread.
    pub(super) fn forget_gone(&self) {
        let gone = |entry: &Unserved| {
            fs::symlink_metadata(&entry.path).is_err_and(|error| error.kind() == ErrorKind::NotFound)
        };
        let gone: Vec<String> = self.all().into_iter().filter(|(_, entry)| gone(entry)).map(|(name, _)| name).collect();
        let mut unserved = lock(&self.unserved);
        for name in gone {
            unserved.remove(&name);
            self.revision.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(super) fn revision(&self) -> u64 {
        self.revision.load(Ordering::Relaxed)
    }

    pub(super) fn all(&self) -> BTreeMap<String, Unserved> {
        lock(&self.unserved).clone()
    }

    pub(super) fn get(&self, name: &str) -> Option<Unserved> {
        lock(&self.unserved).get(name).cloned()
    }
}

fn insert(unserved: &mut BTreeMap<String, Unserved>, name: String, entry: Unserved) {
    if unserved.len() < MAX_ENTRIES || unserved.contains_key(&name) {
        unserved.insert(name, entry);
    }
}

fn of_held(held: &Held) -> Unserved {
    let reason = held.decision.outcome.as_ref().err();
    Unserved {
        state: "held",
        reason: reason.map(ToString::to_string).unwrap_or_default(),
        code: reason.map(|reason| reason.code()),
        content: Some(held.decision.content.to_string()),
        approvable: reason.is_some_and(|reason| reason.needs_approval() || reason.code() == "revoked"),
        hint: Some(held.hint.clone()),
        file: held.path.shown().to_string(),
        path: held.path.clone(),
    }
}

fn of_refused(refused: &RefusedFile) -> Unserved {
    Unserved {
        state: "refused",
        reason: printable(&refused.reason),
        code: None,
        content: None,
        approvable: false,
        hint: refused.hint.clone(),
        file: refused.path.shown().to_string(),
        path: refused.path.clone(),
    }
}
