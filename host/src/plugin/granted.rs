//! What one loaded plugin was granted, with what that leads to; shared by all its calls.
//!
//! Tells the operator what was denied, as the lines that would grant it. What a grant allows
//! in detail is decided where it is used.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

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
    told: Mutex<HashSet<String>>,
}

impl Granted {
    pub(super) fn new(plugin: PluginId, grants: Grants, sandbox: &Sandbox) -> Arc<Self> {
        Arc::new(Self { plugin, grants, store: sandbox.store.clone(), told: Mutex::default() })
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
