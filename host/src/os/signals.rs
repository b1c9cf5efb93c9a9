//! Signals: requests of the system, or of a person at the terminal, to this process.

pub(crate) use super::system::signals::{Signals, survive_file_size_limit};

/// A received signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Received {
    /// Shut down. The exit code is for an immediate exit, without waiting for running work.
    Terminate(i32),
    /// SIGHUP: the terminal was closed, or the configuration is to be reloaded.
    #[cfg_attr(windows, expect(dead_code, reason = "there is no such signal"))]
    HangUp,
}
