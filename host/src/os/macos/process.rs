//! This process, its threads and its child processes.

use std::io;
use std::path::PathBuf;

pub(crate) use crate::os::unix::process::{clear_environment, replace_with, replacement_mark, was_killed_by_filter};

/// The path of this program, to start it as a child process.
///
/// # Errors
/// The system's.
pub(crate) fn this_program() -> io::Result<PathBuf> {
    std::env::current_exe()
}

/// Does nothing: priorities belong to processes here, not to threads.
pub(crate) fn lower_thread_priority() {}
