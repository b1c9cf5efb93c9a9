//! What one loaded plugin was granted, with what that leads to; shared by all its calls.
//!
//! Tells the operator what was denied, as the lines that would grant it. What a grant allows
//! in detail is decided where it is used.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use super::events::Events;
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
    told: Mutex<HashSet<String>>,
}

impl Granted {
    pub(super) fn new(plugin: PluginId, grants: Grants, sandbox: &Sandbox) -> Arc<Self> {
        for secret in &grants.secrets {
            if let Some(why) = secret.missing() {
                tracing::warn!(%plugin, "took what needs the secret '{}' as not granted: it {why}", secret.name);
            }
        }
        Arc::new(Self {
            plugin,
            http: Allowed::new(&grants.http, |name| grants.secret(name), sandbox.outbound.clone()),
            redactor: Redactor::of(&grants.secrets).map(Arc::new),
            grants,
            store: sandbox.store.clone(),
            told: Mutex::default(),
        })
    }

    /// Notes that a guest was denied something, which a line of its grants would allow.
    pub(super) fn deny(&self, events: Option<&Events>, access: Access, line: impl FnOnce() -> String) {
        // A listing may well do without; what fails for want of it is a call.
        if let Some(events) = events {
            events.deny(access);
            self.tell_denied(access, &line());
        }
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
