//! The grants of one loaded plugin with the resources behind them; shared by all its calls.
//!
//! Logs denials for the operator, with the configuration lines that would grant the access. What a
//! grant allows in detail is decided where it is used.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use tokio::runtime::Handle;
use tokio::sync::{OnceCell, Semaphore};
use tokio::task::spawn_blocking;
use wasmtime_wasi_config::WasiConfigVariables;

use super::filesystem::{Closed, Folder, Opened, open_all};
use super::keyvalue::Store;
use super::outbound::{Allowed, Outbound};
use crate::plugin::events::Events;
use crate::plugin::id::PluginId;
use crate::plugin::policy::access::Access;
use crate::plugin::policy::denial::{Denial, Lack};
use crate::plugin::policy::grants::Grants;
use crate::plugin::policy::redact::Redactor;
use crate::plugin::policy::secret::Secret;

/// Maximum distinct denials logged per load; a plugin may invent new ones without end.
const MAX_REPORTED: usize = 32;

/// The resources behind grants, shared by all plugins.
pub(in crate::plugin) struct Resources {
    pub(in crate::plugin) store: Arc<Store>,
    pub(in crate::plugin) outbound: Arc<Outbound>,
    /// Folders that no plugin may use.
    pub(in crate::plugin) closed: Arc<Closed>,
    /// Limit of open files and folders, over all calls of all plugins.
    pub(in crate::plugin) files: Arc<Semaphore>,
    /// The runtime on which folders are opened.
    pub(in crate::plugin) runtime: Handle,
}

pub(in crate::plugin) struct Granted {
    plugin: PluginId,
    pub(in crate::plugin) grants: Grants,
    pub(in crate::plugin) store: Arc<Store>,
    pub(in crate::plugin) http: Allowed,
    /// `None` for a plugin without secrets.
    pub(in crate::plugin) redactor: Option<Arc<Redactor>>,
    /// As in [`Resources`].
    pub(in crate::plugin) files: Arc<Semaphore>,
    closed: Arc<Closed>,
    folders: OnceCell<Opened>,
    /// Its entries in `wasi:config/store`.
    pub(in crate::plugin) config: WasiConfigVariables,
    reported: Mutex<HashSet<String>>,
}

impl Granted {
    pub(in crate::plugin) fn new(plugin: PluginId, grants: Grants, resources: &Resources) -> Arc<Self> {
        for secret in &grants.secrets {
            if let Some(Lack { logged, hint, .. }) = secret.lack() {
                tracing::warn!(%plugin, hint, "secret unavailable, its uses are denied: {logged}");
            }
        }
        let granted = Arc::new(Self {
            plugin,
            store: resources.store.clone(),
            http: Allowed::new(&grants, resources.outbound.clone()),
            redactor: Redactor::of(&grants.secrets).map(Arc::new),
            files: resources.files.clone(),
            closed: resources.closed.clone(),
            folders: OnceCell::new(),
            config: grants.configured().collect(),
            reported: Mutex::default(),
            grants,
        });
        // Now, and not at the first call: somebody may be watching the log.
        if !granted.grants.folders.is_empty() {
            let granted = granted.clone();
            resources.runtime.spawn(async move { granted.open_folders().await });
        }
        granted
    }

    /// Records a denied access. `line` of the plugin's grants would allow it.
    pub(in crate::plugin) fn deny(&self, events: Option<&Events>, access: Access, line: impl FnOnce() -> String) {
        // A listing may do without the access; only calls fail because of it.
        if let Some(events) = events {
            events.deny(Denial::without_grant(access));
            self.report_missing_grant(access, &line());
        }
    }

    /// Records that an access was denied although granted, since the grant lacks what it needs.
    pub(in crate::plugin) fn withhold(&self, events: Option<&Events>, access: Access, lack: &Lack) {
        if let Some(events) = events {
            events.deny(lack.denial(access));
            if self.is_new(&lack.logged) {
                let Lack { logged, hint, .. } = lack;
                tracing::warn!(plugin = %self.plugin, access = access.name(), hint, "access denied: grant cannot be used: {logged}");
            }
        }
    }

    /// The same for the secrets that the guest itself may read.
    pub(in crate::plugin) fn withhold_secrets(&self, events: Option<&Events>) {
        for lack in self.grants.secrets.iter().filter(|secret| secret.readable).filter_map(Secret::lack) {
            self.withhold(events, Access::Secrets, &lack);
        }
    }

    /// The same for its folders.
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

    /// Logs a missing grant, once per load. `line` of the plugin's grants would allow the access.
    pub(in crate::plugin) fn report_missing_grant(&self, access: Access, line: &str) {
        // The line may contain a host name, which is text of the guest.
        let line = self.redactor.as_ref().map_or_else(|| line.to_owned(), |redactor| redactor.text(line));
        if self.is_new(&line) {
            let hint = format!("put `{line}` {}", self.grants.place);
            tracing::warn!(plugin = %self.plugin, access = access.name(), %hint, "access denied: missing grant `{}`", access.name());
        }
    }

    /// Whether it was not reported yet, and the maximum is not reached.
    fn is_new(&self, what: &str) -> bool {
        let mut reported = self.reported.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        reported.len() < MAX_REPORTED && reported.insert(what.to_owned())
    }
}

#[cfg(test)]
impl Resources {
    /// Of a host without any configuration.
    pub(in crate::plugin) fn for_tests() -> Self {
        use crate::plugin::threads::Threads;

        static THREADS: std::sync::OnceLock<Threads> = std::sync::OnceLock::new();
        let threads = THREADS.get_or_init(|| Threads::start("test", 1, 1).expect("a thread"));
        Self {
            store: Store::new(None),
            outbound: Outbound::start(Default::default()).expect("a thread"),
            closed: Arc::default(),
            files: Arc::new(Semaphore::new(1)),
            runtime: threads.handle().clone(),
        }
    }
}
