//! `wasi:clocks@0.2`: the engine's implementation, by way of the call's tape. A replay tells the recorded times, and
//! does not wait.

use serde_json::Value;
use wasmtime::component::{HasSelf, Linker, Resource};
use wasmtime_wasi::clocks::WasiClocksView as _;
use wasmtime_wasi::p2::bindings::clocks::monotonic_clock::{self, Duration, Instant};
use wasmtime_wasi::p2::bindings::clocks::wall_clock::{self, Datetime};
use wasmtime_wasi::p2::{DynPollable, Pollable, subscribe};

use super::state::GuestState;

/// Adds the interfaces to the linker, replacing those it has.
pub(super) fn link(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    wall_clock::add_to_linker::<_, HasSelf<GuestState>>(linker, |state| state)?;
    monotonic_clock::add_to_linker::<_, HasSelf<GuestState>>(linker, |state| state)?;
    Ok(())
}

impl wall_clock::Host for GuestState {
    fn now(&mut self) -> wasmtime::Result<Datetime> {
        let (seconds, nanoseconds) = self.through("clock", Value::Null, |state| {
            let Datetime { seconds, nanoseconds } = wall_clock::Host::now(&mut state.clocks())?;
            Ok((seconds, nanoseconds))
        })?;
        Ok(Datetime { seconds, nanoseconds })
    }

    fn resolution(&mut self) -> wasmtime::Result<Datetime> {
        wall_clock::Host::resolution(&mut self.clocks())
    }
}

impl monotonic_clock::Host for GuestState {
    fn now(&mut self) -> wasmtime::Result<Instant> {
        self.through("stopwatch", Value::Null, |state| monotonic_clock::Host::now(&mut state.clocks()))
    }

    fn resolution(&mut self) -> wasmtime::Result<Instant> {
        monotonic_clock::Host::resolution(&mut self.clocks())
    }

    fn subscribe_instant(&mut self, when: Instant) -> wasmtime::Result<Resource<DynPollable>> {
        match self.replays() {
            true => self.past(),
            false => self.clocks().subscribe_instant(when),
        }
    }

    fn subscribe_duration(&mut self, duration: Duration) -> wasmtime::Result<Resource<DynPollable>> {
        match self.replays() {
            true => self.past(),
            false => self.clocks().subscribe_duration(duration),
        }
    }
}

impl GuestState {
    /// A time that is over.
    fn past(&mut self) -> wasmtime::Result<Resource<DynPollable>> {
        let past = self.table().push(Past)?;
        subscribe(self.table(), past)
    }
}

struct Past;

#[async_trait::async_trait]
impl Pollable for Past {
    /// Gives way, so that a guest which only looks at clocks does not hold up what it waits for.
    async fn ready(&mut self) {
        tokio::task::yield_now().await;
    }
}
