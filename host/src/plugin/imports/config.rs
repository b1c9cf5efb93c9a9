//! `wasi:config/store`: 0.2.0-rc.1 from `wasmtime-wasi-config`, and the same functions
//! of 0.2.0-draft, which older components import.

use wasmtime::StoreContextMut;
use wasmtime::component::{ComponentType, Lift, Linker, Lower};
use wasmtime_wasi_config::{WasiConfig, add_to_linker};

use super::state::GuestState;

/// Never returned: the values are local.
#[derive(ComponentType, Lift, Lower)]
#[component(variant)]
enum ConfigError {
    #[component(name = "upstream")]
    Upstream(String),
    #[component(name = "io")]
    Io(String),
}

/// Adds both versions to the linker.
pub(in crate::plugin) fn link(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    add_to_linker(linker, |state: &mut GuestState| {
        state.granted.deny_unavailable_secrets(state.events.as_deref());
        WasiConfig::new(&state.granted.config)
    })?;
    let mut draft = linker.instance("wasi:config/store@0.2.0-draft")?;
    draft.func_wrap("get", |store: StoreContextMut<'_, GuestState>, (key,): (String,)| {
        let state = store.data();
        state.granted.deny_unavailable_secrets(state.events.as_deref());
        let found = state.granted.grants.configured().find(|(name, _)| *name == key);
        Ok((Ok::<_, ConfigError>(found.map(|(_, value)| value)),))
    })?;
    draft.func_wrap("get-all", |store: StoreContextMut<'_, GuestState>, (): ()| {
        let state = store.data();
        state.granted.deny_unavailable_secrets(state.events.as_deref());
        let all: Vec<(String, String)> = state.granted.grants.configured().collect();
        Ok((Ok::<_, ConfigError>(all),))
    })
}
