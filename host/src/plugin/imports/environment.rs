//! `wasi:cli/environment@0.2`: the granted variables; the arguments of a command; no folder.

use wasmtime::component::{HasSelf, Linker};
use wasmtime_wasi::p2::bindings::cli::environment;
pub(super) use wasmtime_wasi::p2::bindings::cli::environment::Host;

use super::state::GuestState;

/// Adds the interface to the linker, replacing the one it has.
pub(super) fn link(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    environment::add_to_linker::<_, HasSelf<GuestState>>(linker, |state| state)?;
    Ok(())
}

impl Host for GuestState {
    fn get_environment(&mut self) -> wasmtime::Result<Vec<(String, String)>> {
        self.granted.deny_unavailable_environment(self.events.as_deref());
        Ok(self.granted.grants.environment().collect())
    }

    fn get_arguments(&mut self) -> wasmtime::Result<Vec<String>> {
        Ok(self.program.as_ref().map(|program| program.arguments.clone()).unwrap_or_default())
    }

    fn initial_cwd(&mut self) -> wasmtime::Result<Option<String>> {
        Ok(None)
    }
}
