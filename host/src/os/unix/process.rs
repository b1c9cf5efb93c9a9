//! Processes that this one starts.

use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

use tokio::process::Command;

/// Starts it without any variable of this process.
pub(crate) fn clear_environment(command: &mut Command) -> &mut Command {
    command.env_clear()
}

/// Whether it was ended for a system call that it may not make.
pub(crate) fn was_forbidden(status: ExitStatus) -> bool {
    status.signal() == Some(rustix::process::Signal::SYS.as_raw())
}
