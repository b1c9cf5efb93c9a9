//! The host functions that a guest may import, and the store data that they work on.

mod clocks;
mod config;
mod environment;
pub(in crate::plugin) mod filesystem;
pub(in crate::plugin) mod granted;
mod guest_log;
mod host_calls;
pub(in crate::plugin) mod keyvalue;
pub(in crate::plugin) mod outbound;
mod p3;
pub(in crate::plugin) mod people;
mod poll;
pub(in crate::plugin) mod program;
mod random;
pub(in crate::plugin) mod state;

use wasmtime::component::Linker;

use super::component::engine::EngineKind;
use state::GuestState;

/// Adds the host functions to the linker of an engine of that kind: those of `wharf:plugin`, and WASI 0.2 and 0.3, some
/// parts of which are implemented here.
///
/// # Errors
/// If two of them define the same function.
pub(in crate::plugin) fn link(linker: &mut Linker<GuestState>, engine: EngineKind) -> wasmtime::Result<()> {
    if engine == EngineKind::Asynchronous {
        p3::link(linker)?;
    }
    wasmtime_wasi::p2::add_to_linker_async(linker)?;
    super::abi::link(linker)?;
    // These take the place of the engine's.
    linker.allow_shadowing(true);
    environment::link(linker)?;
    clocks::link(linker)?;
    random::link(linker)?;
    poll::link(linker)?;
    filesystem::bindings::link(linker)?;
    linker.allow_shadowing(false);
    outbound::bindings::link(linker)?;
    keyvalue::bindings::link(linker)?;
    config::link(linker)
}
