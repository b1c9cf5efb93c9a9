//! This process, its threads and the processes that it starts.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

use tokio::process::Command;

/// To be started once more.
///
/// # Errors
/// The system's.
pub(crate) fn this_program() -> io::Result<PathBuf> {
    std::env::current_exe()
}

/// Starts it without any variable of this process but the one that the system's own libraries
/// cannot do without.
pub(crate) fn clear_environment(command: &mut Command) -> &mut Command {
    command.env_clear().envs(std::env::var_os("SystemRoot").map(|root| ("SystemRoot", root)))
}

/// There are no such filters.
pub(crate) fn was_forbidden(_: ExitStatus) -> bool {
    false
}

/// The thread has the weight of the others.
pub(crate) fn yield_to_others() {}
