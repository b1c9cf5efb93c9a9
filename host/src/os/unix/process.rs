//! Child processes.

use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

use tokio::process::Command;

/// Starts it with an empty environment.
pub(crate) fn clear_environment(command: &mut Command) -> &mut Command {
    command.env_clear()
}

/// Whether the system call filter killed it.
pub(crate) fn was_killed_by_filter(status: ExitStatus) -> bool {
    status.signal() == Some(rustix::process::Signal::SYS.as_raw())
}
