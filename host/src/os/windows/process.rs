//! This process, its threads and its child processes.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, ExitStatus};

use tokio::process::Command;

use super::signals::Signals;

/// What the program that [`replace_with`] runs has in common with this one. A process has no number in common with those
/// that it starts.
pub(crate) fn replacement_mark() -> String {
    "1".to_owned()
}

/// Runs another program with the same arguments and one more variable, and waits for it: Windows cannot replace a
/// program. Ctrl-C reaches both, so this one only waits. If this process is killed, the other one ends when its stdin
/// does.
///
/// # Errors
/// If it cannot be started.
pub(crate) fn replace_with(program: &Path, (name, mark): (&str, &str)) -> io::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let status = runtime.block_on(async {
        let mut signals = Signals::listen()?;
        let mut child = Command::new(program).args(std::env::args_os().skip(1)).env(name, mark).spawn()?;
        loop {
            tokio::select! {
                status = child.wait() => return status,
                _ = signals.next() => {}
            }
        }
    })?;
    // An exit code of Windows has 32 bits: one that does not fit must not become a success.
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}

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
