//! This process, its threads and the processes that it starts.

use std::io;
use std::path::PathBuf;

pub(crate) use crate::os::unix::process::{clear_environment, was_forbidden};

/// To be started once more: the very file that runs, whatever was installed in its place since.
///
/// # Errors
/// None here.
pub(crate) fn this_program() -> io::Result<PathBuf> {
    Ok("/proc/self/exe".into())
}

/// Gives the calling thread, and no other, a third of the weight of the others. Where that cannot
/// be had it has the same.
pub(crate) fn yield_to_others() {
    let _ = rustix::process::setpriority_process(None, 5);
}
