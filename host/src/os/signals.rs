//! What the system, or a person at the terminal, asks of a process.

pub(crate) use super::system::signals::{Signals, survive_file_size_limit};

/// One signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// To end. With what exit code if it does not wait for what is under way.
    End(i32),
    /// That the terminal is gone, or to read again what was read at the start (SIGHUP).
    #[cfg_attr(windows, expect(dead_code, reason = "there is no such signal"))]
    HangUp,
}
