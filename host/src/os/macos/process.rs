//! This process, its threads and the processes that it starts.

use std::io;
use std::path::PathBuf;

pub(crate) use crate::os::unix::process::{clear_environment, was_forbidden};

/// To be started once more.
///
/// # Errors
/// The system's.
pub(crate) fn this_program() -> io::Result<PathBuf> {
    std::env::current_exe()
}

/// Priorities are of processes here: the thread has that of the others.
pub(crate) fn yield_to_others() {}
