//! The store of one call, with the limits that wasmtime enforces.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use wasmtime::{Store, UpdateDeadline};

use super::PreparedComponent;
use crate::plugin::events::Events;
use crate::plugin::imports::state::GuestState;
use crate::plugin::limits::cpu::CpuMeter;
use crate::plugin::limits::quota::Quota;

/// Maximum handles of component resources in a store.
const COMPONENT_HANDLES: usize = 4096;
/// Epoch ticks until a guest first yields: the first tick may come at once, so it is the second.
pub(super) const TICKS: u64 = 2;
/// Cost of lifting a result in addition to its bytes.
const LIFT_SLACK: u64 = 64 << 10;

impl PreparedComponent {
    /// Bytes that may be lifted, for a result that takes `times` the allowed output.
    pub(super) fn lift_limit(&self, times: u64) -> usize {
        let bytes = self.limits.output.saturating_mul(times).saturating_add(LIFT_SLACK);
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }

    pub(super) fn store(
        &self,
        cpu: Arc<CpuMeter>,
        events: Option<Arc<Events>>,
        cancelled: CancellationToken,
    ) -> Store<GuestState> {
        let quota = Quota::new(self.runtime.memory.clone(), self.limits.memory);
        let granted = self.granted.clone();
        let state = GuestState::new(self.id.clone(), quota, cpu, self.limits.log, events, cancelled, granted);
        let mut store = Store::new(&self.runtime.engine, state);
        store.limiter(|state| &mut state.quota);
        store.set_hostcall_fuel(self.lift_limit(1));
        store.set_max_component_handles(COMPONENT_HANDLES);
        store.set_epoch_deadline(TICKS);
        // Touches nothing of the store but its data (RUSTSEC-2026-0223). Not plain `Yield`:
        // that puts the task in front of its worker's queue, where it starves the others.
        store.epoch_deadline_callback(|store| {
            if store.data().cpu.check() {
                return Ok(UpdateDeadline::Interrupt);
            }
            Ok(UpdateDeadline::YieldCustom(1, Box::pin(tokio::task::yield_now())))
        });
        store
    }
}
