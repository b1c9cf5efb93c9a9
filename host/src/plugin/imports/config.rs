//! `wasi:config/store`: 0.2.0-rc.1 from `wasmtime-wasi-config`, and the same functions
//! of 0.2.0-draft, which older components import.

use wasmtime::StoreContextMut;
use wasmtime::component::{ComponentType, Lift, Linker, Lower};
use wasmtime_wasi_config::{WasiConfig, add_to_linker};

use super::state::State;

/// Never returned: nothing here is fetched from anywhere.
#[derive(ComponentType, Lift, Lower)]
#[component(variant)]
enum ConfigError {
    #[component(name = "upstream")]
    Upstream(String),
    #[component(name = "io")]
    Io(String),
}

/// Adds both versions to the linker.
pub(in crate::plugin) fn link(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    add_to_linker(linker, |state: &mut State| {
        state.granted.withhold_secrets(state.events.as_deref());
        WasiConfig::new(&state.granted.config)
    })?;
    let mut draft = linker.instance("wasi:config/store@0.2.0-draft")?;
    draft.func_wrap("get", |store: StoreContextMut<'_, State>, (key,): (String,)| {
        let state = store.data();
        state.granted.withhold_secrets(state.events.as_deref());
        let found = state.granted.grants.configured().find(|(name, _)| *name == key);
        Ok((Ok::<_, ConfigError>(found.map(|(_, value)| value)),))
    })?;
    draft.func_wrap("get-all", |store: StoreContextMut<'_, State>, (): ()| {
        let state = store.data();
        state.granted.withhold_secrets(state.events.as_deref());
        let all: Vec<(String, String)> = state.granted.grants.configured().collect();
        Ok((Ok::<_, ConfigError>(all),))
    })
}
