//! From the error that ended a call to the fault that its caller gets.

use std::any::Any;

use super::PreparedComponent;
use crate::plugin::fault::{Fault, TrapKind};
use crate::plugin::imports::state::GuestState;
use crate::plugin::instance::cause::{self, Cause};
use crate::text;

/// Maximum logged lines of a backtrace.
const FRAMES: usize = 40;

impl PreparedComponent {
    /// The fault that callers see for an error; its text goes to the log only.
    pub(super) fn fault(&self, cause: Cause, error: &wasmtime::Error, state: &GuestState) -> Fault {
        let plugin = &self.id;
        let text = text::quote(&cause::reason(error), 2048);
        match cause {
            Cause::Guest(TrapKind::HostFunction | TrapKind::Other) | Cause::Abi => {
                tracing::info!(target: "wharf::plugin", %plugin, "call stopped: {text}");
            }
            // It is in the fault.
            _ => tracing::debug!(target: "wharf::plugin", %plugin, "call stopped: {text}"),
        }
        self.log_frames(error);
        state.set_crashed();
        if state.cpu.exceeded() {
            return self.out_of_cpu();
        }
        match cause {
            Cause::OutputTooLarge => Fault::OutputTooLarge { limit: self.limits.output },
            Cause::PoolFull => Fault::Busy,
            _ if state.quota.over_limit() => Fault::Memory { limit: self.limits.memory },
            _ if state.quota.refused() => Fault::SharedMemory,
            Cause::Guest(kind) => Fault::Trap(kind),
            Cause::Abi => Fault::BadOutput("a value that violates the component ABI".into()),
            Cause::Host => {
                tracing::error!(target: "wharf::plugin", %plugin, "failed to create an instance: {text}");
                Fault::Host
            }
        }
    }

    /// Logs where the guest was stopped, in the terms of WebAssembly: functions have names only if the
    /// component was not stripped.
    fn log_frames(&self, error: &wasmtime::Error) {
        if !tracing::enabled!(target: "guest::frames", tracing::Level::DEBUG) {
            return;
        }
        let (plugin, frames) = (&self.id, cause::frames(error).unwrap_or_default());
        for frame in frames.lines().take(FRAMES) {
            let frame = text::quote(frame, 256);
            tracing::debug!(target: "guest::frames", %plugin, "guest: {frame}");
        }
    }
}

/// A panic in a host function: contained to the call, but a bug of the host.
pub(super) fn panicked<R, E: From<Fault>>(_: Box<dyn Any + Send>) -> Result<R, E> {
    tracing::error!(target: "wharf::plugin", "host panic during call");
    Err(Fault::Host.into())
}
