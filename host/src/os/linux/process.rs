//! This process, its threads and its child processes.

use std::io;
use std::path::PathBuf;

pub(crate) use crate::os::unix::process::{clear_environment, replace_with, replacement_mark, was_killed_by_filter};

/// The path of this program, to start it as a child process: the running file, even if another one has
/// been installed in its place.
///
/// # Errors
/// None here.
pub(crate) fn this_program() -> io::Result<PathBuf> {
    Ok("/proc/self/exe".into())
}

/// Gives the calling thread alone about a third of the scheduling weight of the others, if the system
/// allows it.
pub(crate) fn lower_thread_priority() {
    let _ = rustix::process::setpriority_process(None, 5);
}
