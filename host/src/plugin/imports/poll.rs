//! `wasi:io/poll@0.2`: the engine's implementation, by way of the call's tape, which has what was ready at which moment.
//!
//! A replay waits for just that, so that the guest does everything in the same order. It waits for nothing but the
//! guest's own computing, since all times are over and all answers are there.

use serde_json::Value;
use wasmtime::component::{HasSelf, Linker, Resource};
use wasmtime_wasi::p2::DynPollable;
use wasmtime_wasi::p2::bindings::io::poll::{self, Host, HostPollable};

use super::state::GuestState;
use crate::plugin::tape::kept::Kept;

const POLL: &str = "poll";

/// Adds the interface to the linker, replacing the one it has.
pub(super) fn link(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    poll::add_to_linker::<_, HasSelf<GuestState>>(linker, |state| state)?;
    Ok(())
}

/// What is waited for.
fn awaited(pollables: &[Resource<DynPollable>]) -> Value {
    pollables.iter().map(Resource::rep).collect::<Vec<u32>>().keep()
}

impl Host for GuestState {
    async fn poll(&mut self, pollables: Vec<Resource<DynPollable>>) -> wasmtime::Result<Vec<u32>> {
        let Some(tape) = self.tape.clone() else { return Host::poll(self.table(), pollables).await };
        let awaited = awaited(&pollables);
        let known = tape.ready(POLL, &awaited);
        let Some(known) = known.filter(|known| known.iter().all(|at| (*at as usize) < pollables.len())) else {
            let ready = Host::poll(self.table(), pollables).await?;
            tape.polled(POLL, awaited, &ready);
            return Ok(ready);
        };
        for at in &known {
            let one = Resource::new_borrow(pollables[*at as usize].rep());
            HostPollable::block(self.table(), one).await?;
        }
        Ok(known)
    }
}

impl HostPollable for GuestState {
    async fn block(&mut self, pollable: Resource<DynPollable>) -> wasmtime::Result<()> {
        HostPollable::block(self.table(), pollable).await
    }

    async fn ready(&mut self, pollable: Resource<DynPollable>) -> wasmtime::Result<bool> {
        let Some(tape) = self.tape.clone() else { return HostPollable::ready(self.table(), pollable).await };
        let awaited = awaited(std::slice::from_ref(&pollable));
        match tape.ready("ready", &awaited) {
            Some(ready) if ready.is_empty() => Ok(false),
            Some(_) => {
                HostPollable::block(self.table(), pollable).await?;
                Ok(true)
            }
            None => {
                let ready = HostPollable::ready(self.table(), pollable).await?;
                tape.polled("ready", awaited, if ready { &[0] } else { &[] });
                Ok(ready)
            }
        }
    }

    fn drop(&mut self, pollable: Resource<DynPollable>) -> wasmtime::Result<()> {
        HostPollable::drop(self.table(), pollable)
    }
}
