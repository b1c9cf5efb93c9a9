//! WASI 0.3, for engines of [`EngineKind::Asynchronous`]: the engine's implementation of what needs no grant, and the
//! rules of WASI 0.2 for the rest. Nothing of it goes through a tape: calls of such components are not recorded.
//!
//! [`EngineKind::Asynchronous`]: crate::plugin::component::engine::EngineKind::Asynchronous

use wasmtime::component::{HasSelf, Linker};
use wasmtime_wasi::p3;
use wasmtime_wasi::p3::bindings::cli::environment;

use super::environment as variables;
use super::filesystem;
use super::outbound::bindings;
use super::state::GuestState;

/// Adds the interfaces to the linker.
///
/// # Errors
/// If two of them define the same function.
pub(super) fn link(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    p3::add_to_linker(linker)?;
    // These take the place of the engine's.
    linker.allow_shadowing(true);
    environment::add_to_linker::<_, HasSelf<GuestState>>(linker, |state| state)?;
    filesystem::p3::link(linker)?;
    linker.allow_shadowing(false);
    bindings::link_0_3(linker)
}

impl environment::Host for GuestState {
    fn get_environment(&mut self) -> wasmtime::Result<Vec<(String, String)>> {
        variables::Host::get_environment(self)
    }

    fn get_arguments(&mut self) -> wasmtime::Result<Vec<String>> {
        variables::Host::get_arguments(self)
    }

    fn get_initial_cwd(&mut self) -> wasmtime::Result<Option<String>> {
        Ok(None)
    }
}
