//! Why a call has no outcome: the one table of faults, with their codes and sentences.
//!
//! Never contains wasmtime's own text, which quotes names that the guest chose and would reach a
//! model. That text is only in the host's log.

mod trap;

use std::time::Duration;

use super::abi::GuestError;
use super::id::PluginId;
use super::policy::access::Access;
use super::policy::denial::Denial;
use super::policy::redact::{Redactable, Redactor};
use super::schema::Violation;

pub use trap::TrapKind;

/// Why a call has no outcome.
#[derive(Debug, Clone, PartialEq)]
pub enum CallError {
    /// The plugin returned an error.
    Guest(GuestError),
    /// The arguments violate the tool's input schema. The plugin was not called.
    Input(Vec<Violation>),
    /// The call failed before it returned.
    Fault(Fault),
}

impl From<Fault> for CallError {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl Redactable for CallError {
    fn redact(&mut self, redactor: &Redactor) {
        match self {
            Self::Guest(error) => error.redact(redactor),
            // Written by the host.
            Self::Fault(_) | Self::Input(_) => {}
        }
    }
}

/// How a call failed, as observed by the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// It exceeded its time limit.
    Timeout { limit: Duration, of_task: bool },
    /// It exceeded its CPU time limit.
    Cpu { limit: Duration, of_task: bool },
    /// It exceeded its memory limit, in bytes.
    Memory { limit: u64 },
    /// It crashed.
    Trap(TrapKind),
    /// Its result exceeds this many bytes.
    OutputTooLarge { limit: u64 },
    /// Its result is invalid; the reason is written by the host.
    BadOutput(String),
    /// It failed after an access was denied. `message` is the plugin's own message.
    Denied { denial: Denial, message: Option<String> },
    /// Too many calls are waiting.
    Busy,
    /// The memory of all running calls together is used up; its own limit was not reached.
    SharedMemory,
    /// Its code was still being compiled at the end of the wait.
    Compiling,
    /// Its code was awaited, and it was not put into service.
    NotLoaded,
    /// It is quarantined for that long after repeated failures.
    Quarantined { left: Duration },
    /// Internal host error; the details are in its log.
    Host,
}

impl Fault {
    /// The machine-readable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Timeout { .. } => "timeout",
            Self::Cpu { .. } => "cpu",
            Self::Memory { .. } => "memory",
            Self::Trap(_) => "trap",
            Self::OutputTooLarge { .. } => "output-too-large",
            Self::BadOutput(_) => "bad-output",
            Self::Denied { .. } => "denied",
            Self::Busy | Self::SharedMemory => "busy",
            Self::Compiling => "compiling",
            Self::NotLoaded => "not-loaded",
            Self::Quarantined { .. } => "quarantined",
            Self::Host => "host-error",
        }
    }

    /// The exceeded limit: milliseconds of a time, otherwise bytes.
    pub fn limit(&self) -> Option<u64> {
        match self {
            Self::Timeout { limit, .. } | Self::Cpu { limit, .. } => Some(limit.as_millis() as u64),
            Self::Memory { limit } | Self::OutputTooLarge { limit } => Some(*limit),
            Self::Trap(_)
            | Self::BadOutput(_)
            | Self::Denied { .. }
            | Self::Busy
            | Self::SharedMemory
            | Self::Compiling
            | Self::NotLoaded
            | Self::Quarantined { .. }
            | Self::Host => None,
        }
    }

    /// The kind of access that was denied.
    pub fn access(&self) -> Option<Access> {
        match self {
            Self::Denied { denial, .. } => Some(denial.access),
            _ => None,
        }
    }

    /// A sentence for people and models.
    pub fn sentence(&self, plugin: &PluginId) -> String {
        match self {
            Self::Timeout { limit, of_task } => {
                let (limit, of) = (time(*limit), if *of_task { "tasks" } else { "limits" });
                format!("Plugin '{plugin}' was stopped: it exceeded its time limit of {limit} (`{of}.timeout`).")
            }
            Self::Cpu { limit, of_task } => {
                let (limit, of) = (time(*limit), if *of_task { "tasks" } else { "limits" });
                format!("Plugin '{plugin}' was stopped: it exceeded its CPU time limit of {limit} (`{of}.cpu`).")
            }
            Self::Memory { limit } => {
                let limit = size(*limit);
                format!("Plugin '{plugin}' was stopped: it exceeded its memory limit of {limit} (`limits.memory`).")
            }
            Self::Trap(kind) => format!("Plugin '{plugin}' crashed while it handled this call: {kind}."),
            Self::OutputTooLarge { limit } => {
                format!("Plugin '{plugin}' returned a result over its limit of {} (`limits.output`).", size(*limit))
            }
            Self::BadOutput(why) => {
                format!("Plugin '{plugin}' returned an invalid result: {why}.")
            }
            Self::Denied { denial: Denial { access, problem }, message } => {
                let message = message.as_ref().map_or_else(String::new, |message| format!(" Its message: {message}"));
                let access = access.name();
                match problem {
                    Some(problem) => {
                        format!("Plugin '{plugin}' failed: grant `{access}` cannot be used: {problem}.{message}")
                    }
                    None => format!("Plugin '{plugin}' failed: missing grant `{access}`.{message}"),
                }
            }
            Self::Busy => {
                format!("Plugin '{plugin}' is busy: too many calls are waiting. Try again later.")
            }
            Self::SharedMemory => {
                format!(
                    "Plugin '{plugin}' was stopped: all running calls together use up the server's memory for them. \
                     Try again later."
                )
            }
            Self::Compiling => format!("Plugin '{plugin}' is still being compiled. Try again later."),
            Self::NotLoaded => {
                format!("Plugin '{plugin}' is not in service any more; the server's log has the reason.")
            }
            Self::Quarantined { left } => {
                // Rounded up, so that a client that waits that long is not too early.
                let seconds = left.as_millis().div_ceil(1000).max(1);
                format!("Plugin '{plugin}' is temporarily disabled after repeated failures. Try again in {seconds} s.")
            }
            Self::Host => format!("Internal host error while running plugin '{plugin}'."),
        }
    }
}

fn time(limit: Duration) -> String {
    let ms = limit.as_millis();
    if ms >= 1000 && ms.is_multiple_of(1000) { format!("{} s", ms / 1000) } else { format!("{ms} ms") }
}

/// A number of bytes, for people.
pub(in crate::plugin) fn size(bytes: u64) -> String {
    if bytes >= 1 << 20 && bytes.is_multiple_of(1 << 20) {
        format!("{} MiB", bytes >> 20)
    } else if bytes >= 1 << 10 && bytes.is_multiple_of(1 << 10) {
        format!("{} KiB", bytes >> 10)
    } else {
        format!("{bytes} bytes")
    }
}
