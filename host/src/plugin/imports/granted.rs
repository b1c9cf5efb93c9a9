//! What one loaded plugin was granted, with what that leads to; shared by all its calls.
//!
//! Tells the operator what was denied, as the lines that would grant it. What a grant allows
//! in detail is decided where it is used.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use tokio::sync::{OnceCell, Semaphore};
use tokio::task::spawn_blocking;
use wasmtime_wasi_config::WasiConfigVariables;

use super::filesystem::{Closed, Folder, Opened, open_all};
use super::keyvalue::Store;
use super::outbound::Allowed;
use crate::plugin::events::Events;
use crate::plugin::id::PluginId;
use crate::plugin::policy::access::Access;
use crate::plugin::policy::denial::{Denial, Lack};
use crate::plugin::policy::grants::Grants;
use crate::plugin::policy::redact::Redactor;
use crate::plugin::policy::secret::Secret;
use crate::plugin::sandbox::Sandbox;

/// Different denials that are told for each load; a plugin may think of new ones for ever.
const TOLD: usize = 32;

pub(in crate::plugin) struct Granted {
    plugin: PluginId,
    pub(in crate::plugin) grants: Grants,
    pub(in crate::plugin) store: Arc<Store>,
    pub(in crate::plugin) http: Allowed,
    /// `None` for a plugin without secrets.
    pub(in crate::plugin) redactor: Option<Arc<Redactor>>,
    /// What all calls of all plugins may have open.
    pub(in crate::plugin) files: Arc<Semaphore>,
    closed: Arc<Closed>,
    folders: OnceCell<Opened>,
    /// What it finds in `wasi:config/store`.
    pub(in crate::plugin) config: WasiConfigVariables,
    told: Mutex<HashSet<String>>,
}

impl Granted {
    pub(in crate::plugin) fn new(plugin: PluginId, grants: Grants, sandbox: &Sandbox) -> Arc<Self> {
        for secret in &grants.secrets {
            if let Some(Lack { logged, hint, .. }) = secret.lack() {
                tracing::warn!(%plugin, hint, "what needs it is denied: {logged}");
            }
        }
        let granted = Arc::new(Self {
            plugin,
            store: sandbox.store.clone(),
            http: Allowed::new(&grants, sandbox.outbound.clone()),
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
    pub(in crate::plugin) fn deny(&self, events: Option<&Events>, access: Access, line: impl FnOnce() -> String) {
        // A listing may well do without; what fails for want of it is a call.
        if let Some(events) = events {
            events.deny(Denial::without_grant(access));
            self.tell_denied(access, &line());
        }
    }

    /// Notes that the guest was denied something that it is granted, for want of what the grant needs.
    pub(in crate::plugin) fn withhold(&self, events: Option<&Events>, access: Access, lack: &Lack) {
        if let Some(events) = events {
            events.deny(lack.denial(access));
            if self.is_new(&lack.logged) {
                let Lack { logged, hint, .. } = lack;
                tracing::warn!(plugin = %self.plugin, access = access.name(), hint, "denied what it is granted: {logged}");
            }
        }
    }

    /// The same of the secrets that the guest itself may read.
    pub(in crate::plugin) fn withhold_secrets(&self, events: Option<&Events>) {
        for lack in self.grants.secrets.iter().filter(|secret| secret.readable).filter_map(Secret::lack) {
            self.withhold(events, Access::Secrets, &lack);
        }
    }

    /// The same of its folders.
    pub(in crate::plugin) fn withhold_folders(&self, events: Option<&Events>) {
        for lack in self.folders.get().map(|opened| opened.lacks.as_slice()).unwrap_or_default() {
            self.withhold(events, Access::Fs, lack);
        }
    }

    /// Opens the granted folders, if that has not been done; a call does so before it begins.
    pub(in crate::plugin) async fn open_folders(&self) {
        let open = async || {
            if self.grants.folders.is_empty() {
                return Opened::default();
            }
            let (plugin, grants, closed) = (self.plugin.clone(), self.grants.clone(), self.closed.clone());
            let opening = spawn_blocking(move || open_all(&plugin, &grants, &closed));
            opening.await.unwrap_or_else(|error| {
                tracing::error!(plugin = %self.plugin, "open the granted folders: {error}");
                Opened::default()
            })
        };
        self.folders.get_or_init(open).await;
    }

    /// The folders that could be opened.
    pub(in crate::plugin) fn folders(&self) -> &[Arc<Folder>] {
        self.folders.get().map(|opened| opened.given.as_slice()).unwrap_or_default()
    }

    /// Tells the operator, once for each load. `line` of the plugin's grants would allow it.
    pub(in crate::plugin) fn tell_denied(&self, access: Access, line: &str) {
        // The name of a host is the guest's own word.
        let line = self.redactor.as_ref().map_or_else(|| line.to_owned(), |redactor| redactor.text(line));
        if self.is_new(&line) {
            let hint = format!("put `{line}` {}", self.grants.place);
            tracing::warn!(plugin = %self.plugin, access = access.name(), %hint, "denied what it has no grant for");
        }
    }

    /// Whether that was not told yet, and there is room for it.
    fn is_new(&self, what: &str) -> bool {
        let mut told = self.told.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        told.len() < TOLD && told.insert(what.to_owned())
    }
}
