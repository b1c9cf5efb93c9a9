//! This process, its threads and its child processes.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

use tokio::process::Command;

/// The path of this program, to start it as a child process.
///
/// # Errors
/// The system's.
pub(crate) fn this_program() -> io::Result<PathBuf> {
    std::env::current_exe()
}

/// Starts it with an empty environment, except for the variable that system libraries require.
pub(crate) fn clear_environment(command: &mut Command) -> &mut Command {
    command.env_clear().envs(std::env::var_os("SystemRoot").map(|root| ("SystemRoot", root)))
}

/// There are no such filters.
pub(crate) fn was_killed_by_filter(_: ExitStatus) -> bool {
    false
}

/// Does nothing.
pub(crate) fn lower_thread_priority() {}
