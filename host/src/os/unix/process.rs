//! Child processes.

use std::io;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{ExitCode, ExitStatus};

use tokio::process::Command;

/// What the program that [`replace_with`] runs has in common with this one alone: the process.
pub(crate) fn replacement_mark() -> String {
    std::process::id().to_string()
}

/// Runs another program in this process, with the same arguments and one more variable.
///
/// # Errors
/// If it cannot be started; otherwise it does not return.
pub(crate) fn replace_with(program: &Path, (name, mark): (&str, &str)) -> io::Result<ExitCode> {
    Err(std::process::Command::new(program).args(std::env::args_os().skip(1)).env(name, mark).exec())
}

/// Starts it with an empty environment.
pub(crate) fn clear_environment(command: &mut Command) -> &mut Command {
    command.env_clear()
}

/// Whether the system call filter killed it.
pub(crate) fn was_killed_by_filter(status: ExitStatus) -> bool {
    status.signal() == Some(rustix::process::Signal::SYS.as_raw())
}
