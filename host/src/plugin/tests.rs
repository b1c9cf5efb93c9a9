//! Loads and calls hostile and harmless components.

mod calls;
mod guest;
mod loads;
mod memory;
mod ready;
mod waiting;

use std::sync::{Arc, OnceLock};

use super::*;
use guest::Guest;

/// One sandbox for all tests: creating the pool takes longer than any of them.
fn sandbox() -> &'static Arc<Sandbox> {
    static SANDBOX: OnceLock<Arc<Sandbox>> = OnceLock::new();
    SANDBOX.get_or_init(|| Sandbox::new(SandboxSettings::default()).expect("a sandbox"))
}

fn id() -> PluginId {
    PluginId::parse("guest").expect("an id")
}

pub(in crate::plugin) async fn load(component: Vec<u8>) -> Result<Plugin, LoadError> {
    load_with(component, Limits::default()).await
}

pub(in crate::plugin) async fn load_with(component: Vec<u8>, limits: Limits) -> Result<Plugin, LoadError> {
    sandbox().load(id(), component, limits, Grants::default()).await
}

pub(in crate::plugin) fn refusal(loaded: Result<Plugin, LoadError>) -> LoadError {
    loaded.map(|_| ()).expect_err("a refusal")
}
