//! Why a call has no outcome: the one table of faults, with their codes and sentences.
//!
//! Never carries wasmtime's own text: it quotes names that the guest chose, and would go
//! straight into a model. That text is only in the host's log.

use std::time::Duration;

use super::abi::GuestError;
use super::id::PluginId;
use super::policy::access::Access;
use super::policy::denial::Denial;
use super::policy::redact::{Redactable, Redactor};
use super::schema::Violation;

/// Why a call has no outcome.
#[derive(Debug, Clone, PartialEq)]
pub enum CallError {
    /// The plugin says so.
    Guest(GuestError),
    /// The arguments break the tool's input schema. The plugin was not asked.
    Input(Vec<Violation>),
    /// The call did not get that far.
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
            Self::Guest(said) => said.redact(redactor),
            // In the host's words.
            Self::Fault(_) | Self::Input(_) => {}
        }
    }
}

/// How a call failed, as the host saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// It took longer than it may.
    Timeout { limit: Duration },
    /// It computed longer than it may.
    Cpu { limit: Duration },
    /// It wanted more than this many bytes of memory.
    Memory { limit: u64 },
    /// It crashed.
    Trap,
    /// Its result has more than this many bytes.
    OutputTooLarge { limit: u64 },
    /// Its result breaks a rule; which one, in words of the host.
    BadOutput(String),
    /// It failed, and it was denied something. `said` is its own word.
    Denied { denial: Denial, said: Option<String> },
    /// Too many calls are waiting.
    Busy,
    /// It failed so often that it is not called for that long.
    Quarantined { left: Duration },
    /// The host itself failed; the details are in its log.
    Host,
}

impl Fault {
    /// A word for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Timeout { .. } => "timeout",
            Self::Cpu { .. } => "cpu",
            Self::Memory { .. } => "memory",
            Self::Trap => "trap",
            Self::OutputTooLarge { .. } => "output-too-large",
            Self::BadOutput(_) => "bad-output",
            Self::Denied { .. } => "denied",
            Self::Busy => "busy",
            Self::Quarantined { .. } => "quarantined",
            Self::Host => "host-error",
        }
    }

    /// The limit that was hit: milliseconds of a time, else bytes.
    pub fn limit(&self) -> Option<u64> {
        match self {
            Self::Timeout { limit } | Self::Cpu { limit } => Some(limit.as_millis() as u64),
            Self::Memory { limit } | Self::OutputTooLarge { limit } => Some(*limit),
            Self::Trap
            | Self::BadOutput(_)
            | Self::Denied { .. }
            | Self::Busy
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
            Self::Timeout { limit } => {
                format!("Plugin '{plugin}' was stopped: it took longer than its limit of {}.", time(*limit))
            }
            Self::Cpu { limit } => {
                format!("Plugin '{plugin}' was stopped: it computed longer than its limit of {}.", time(*limit))
            }
            Self::Memory { limit } => {
                format!("Plugin '{plugin}' was stopped: it needed more than its {} of memory.", size(*limit))
            }
            Self::Trap => format!("Plugin '{plugin}' crashed while it handled this call."),
            Self::OutputTooLarge { limit } => {
                format!("Plugin '{plugin}' returned more than its limit of {}.", size(*limit))
            }
            Self::BadOutput(why) => {
                format!("Plugin '{plugin}' returned something that cannot be passed on: {why}.")
            }
            Self::Denied { denial: Denial { access, lack }, said } => {
                let said = said.as_ref().map_or_else(String::new, |said| format!(" It says: {said}"));
                let access = access.name();
                let why = match lack {
                    Some(lack) => format!("grants cover, but {lack}"),
                    None => "grants do not cover".into(),
                };
                format!("Plugin '{plugin}' failed: it was denied '{access}', which its {why}.{said}")
            }
            Self::Busy => {
                format!("Plugin '{plugin}' is busy: too many calls are waiting. Try again later.")
            }
            Self::Quarantined { left } => {
                // Up to the whole second, so that who waits that long is not too early.
                let seconds = left.as_millis().div_ceil(1000).max(1);
                format!(
                    "Plugin '{plugin}' failed so often that it is not called for a while. Try again in {seconds} s."
                )
            }
            Self::Host => format!("The host failed while it ran plugin '{plugin}'."),
        }
    }
}

fn time(limit: Duration) -> String {
    let ms = limit.as_millis();
    if ms >= 1000 && ms.is_multiple_of(1000) { format!("{} s", ms / 1000) } else { format!("{ms} ms") }
}

fn size(bytes: u64) -> String {
    if bytes >= 1 << 20 && bytes.is_multiple_of(1 << 20) {
        format!("{} MiB", bytes >> 20)
    } else if bytes >= 1 << 10 && bytes.is_multiple_of(1 << 10) {
        format!("{} KiB", bytes >> 10)
    } else {
        format!("{bytes} bytes")
    }
}
