//! What one loaded plugin was granted, with what that leads to; shared by all its calls.
//!
//! Tells the operator what was denied, as the lines that would grant it. What a grant allows
//! in detail is decided where it is used.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use tokio::sync::{OnceCell, Semaphore};
use tokio::task::spawn_blocking;
use wasmtime_wasi_config::WasiConfigVariables;

use super::events::Events;
use super::filesystem::{Closed, Folder, open_all};
use super::grants::{Access, Grants};
use super::id::PluginId;
use super::keyvalue::Store;
use super::outbound::Allowed;
use super::redact::Redactor;
use super::sandbox::Sandbox;

/// Different denials that are told for each load; a plugin may think of new ones for ever.
const TOLD: usize = 32;

pub(super) struct Granted {
    plugin: PluginId,
    pub(super) grants: Grants,
    pub(super) store: Arc<Store>,
    pub(super) http: Allowed,
    /// `None` for a plugin without secrets.
    pub(super) redactor: Option<Arc<Redactor>>,
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
        for secret in &grants.secrets {
            if let Some(why) = secret.missing() {
                tracing::warn!(%plugin, "took what needs the secret '{}' as not granted: it {why}", secret.name);
            }
        }
        let granted = Arc::new(Self {
            plugin,
            store: sandbox.store.clone(),
            http: Allowed::new(&grants.http, |name| grants.secret(name), sandbox.outbound.clone()),
            redactor: Redactor::of(&grants.secrets).map(Arc::new),
            files: sandbox.files.clone(),
            closed: sandbox.closed.clone(),
            folders: OnceCell::new(),
            config: grants.configured().collect(),
            told: Mutex::default(),
            grants,
        });
        // At once, and not at the first call: somebody may be looking at the log.
        if !granted.grants.folders.is_empty() {
            let granted = granted.clone();
            sandbox.guests().spawn(async move { granted.open_folders().await });
        }
        granted
    }

    /// Notes that a guest was denied something, which a line of its grants would allow.
    pub(super) fn deny(&self, events: Option<&Events>, access: Access, line: impl FnOnce() -> String) {
        // A listing may well do without; what fails for want of it is a call.
        if let Some(events) = events {
            events.deny(access);
            self.tell_denied(access, &line());
        }
    }

    /// Opens the granted folders, if that has not been done; a call does so before it begins.
    pub(super) async fn open_folders(&self) {
        let open = async || {
            if self.grants.folders.is_empty() {
                return Vec::new();
            }
            let (plugin, grants, closed) = (self.plugin.clone(), self.grants.clone(), self.closed.clone());
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
        // The name of a host is the guest's own word.
        let line = self.redactor.as_ref().map_or_else(|| line.to_owned(), |redactor| redactor.text(line));
        let mut told = self.told.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if told.len() < TOLD && told.insert(line.clone()) {
            let hint = format!("put `{line}` {}", self.grants.place);
            tracing::warn!(plugin = %self.plugin, access = access.name(), %hint, "denied what it has no grant for");
        }
    }
}
