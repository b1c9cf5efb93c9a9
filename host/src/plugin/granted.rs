//! What one loaded plugin was granted, with what that leads to; shared by all its calls.
//!
//! Tells the operator what was denied, as the lines that would grant it. What a grant allows
//! in detail is decided where it is used.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use tokio::sync::{OnceCell, Semaphore};
use tokio::task::spawn_blocking;
use wasmtime_wasi_config::WasiConfigVariables;

use super::filesystem::{Closed, Folder, open_all};
use super::grants::{Access, Grants};
use super::id::PluginId;
use super::keyvalue::Store;
use super::sandbox::Sandbox;

/// Different denials that are told for each load; a plugin may think of new ones for ever.
const TOLD: usize = 32;

pub(super) struct Granted {
    plugin: PluginId,
    pub(super) grants: Grants,
    pub(super) store: Arc<Store>,
    /// What all calls of all plugins may have open.
    pub(super) files: Arc<Semaphore>,
    closed: Arc<Closed>,
    folders: OnceCell<Vec<Arc<Folder>>>,
    /// What it finds in `wasi:config/store`.
    pub(super) config: WasiConfigVariables,
    told: Mutex<HashSet<String>>,
}

impl Granted {
    pub(super) fn new(plugin: PluginId, grants: Grants, sandbox: &Sandbox) -> Arc<Self> {
        let config = grants.config.iter().cloned().collect();
        let granted = Arc::new(Self {
            plugin,
            grants,
            store: sandbox.store.clone(),
            files: sandbox.files.clone(),
            closed: sandbox.closed.clone(),
            folders: OnceCell::new(),
            config,
            told: Mutex::default(),
        });
        // At once, and not at the first call: somebody may be looking at the log.
        if !granted.grants.folders.is_empty() {
            let granted = granted.clone();
            sandbox.guests().spawn(async move { granted.open_folders().await });
        }
        granted
    }

    /// Opens the granted folders, if that has not been done; a call does so before it begins.
    pub(super) async fn open_folders(&self) {
        let open = async || {
            if self.grants.folders.is_empty() {
                return Vec::new();
            }
            let (plugin, grants, closed) = (self.plugin.clone(), self.grants.folders.clone(), self.closed.clone());
            let opening = spawn_blocking(move || open_all(&plugin, &grants, &closed));
            opening.await.unwrap_or_else(|error| {
                tracing::error!(plugin = %self.plugin, "open the granted folders: {error}");
                Vec::new()
            })
        };
        self.folders.get_or_init(open).await;
    }

    /// The folders that could be opened.
    pub(super) fn folders(&self) -> &[Arc<Folder>] {
        self.folders.get().map(Vec::as_slice).unwrap_or_default()
    }

    /// Tells the operator, once for each load. `line` of the plugin's grants would allow it.
    pub(super) fn tell_denied(&self, access: Access, line: &str) {
        let mut told = self.told.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if told.len() < TOLD && told.insert(line.to_owned()) {
            let hint = format!("put `{line}` {}", self.grants.place);
            tracing::warn!(plugin = %self.plugin, access = access.name(), hint, "denied what it has no grant for");
        }
    }
}
