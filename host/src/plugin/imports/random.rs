//! `wasi:random@0.2`: the engine's implementation, by way of the call's tape.

use serde_json::Value;
use wasmtime::component::{HasSelf, Linker};
use wasmtime_wasi::WasiView as _;
use wasmtime_wasi::p2::bindings::random::{insecure, insecure_seed, random};

use super::state::GuestState;
use crate::plugin::tape::kept::member;

/// Adds the interfaces to the linker, replacing those it has.
pub(super) fn link(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    random::add_to_linker::<_, HasSelf<GuestState>>(linker, |state| state)?;
    insecure::add_to_linker::<_, HasSelf<GuestState>>(linker, |state| state)?;
    insecure_seed::add_to_linker::<_, HasSelf<GuestState>>(linker, |state| state)?;
    Ok(())
}

fn bytes(length: u64) -> Value {
    member("bytes", length.into())
}

impl random::Host for GuestState {
    fn get_random_bytes(&mut self, length: u64) -> wasmtime::Result<Vec<u8>> {
        self.through("random", bytes(length), |state| state.ctx().ctx.random().get_random_bytes(length))
    }

    fn get_random_u64(&mut self) -> wasmtime::Result<u64> {
        self.through("random", Value::Null, |state| state.ctx().ctx.random().get_random_u64())
    }
}

impl insecure::Host for GuestState {
    fn get_insecure_random_bytes(&mut self, length: u64) -> wasmtime::Result<Vec<u8>> {
        self.through("insecure random", bytes(length), |state| {
            state.ctx().ctx.random().get_insecure_random_bytes(length)
        })
    }

    fn get_insecure_random_u64(&mut self) -> wasmtime::Result<u64> {
        self.through("insecure random", Value::Null, |state| state.ctx().ctx.random().get_insecure_random_u64())
    }
}

impl insecure_seed::Host for GuestState {
    fn insecure_seed(&mut self) -> wasmtime::Result<(u64, u64)> {
        self.through("insecure seed", Value::Null, |state| state.ctx().ctx.random().insecure_seed())
    }
}
