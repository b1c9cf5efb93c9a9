//! Resource limits of the process.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::os::system;

/// Raises the limit of open files to the hard limit. Returns the resulting limit, if there is one.
pub(crate) fn raise_open_files() -> Option<u64> {
    let limit = getrlimit(Resource::Nofile);
    // A system with its own maximum rejects an infinite limit.
    let target = match (limit.maximum, system::MAX_OPEN_FILES) {
        (Some(hard), Some(max)) => Some(hard.min(max)),
        (hard, max) => hard.or(max),
    };
    let is_raise = limit.current.is_some_and(|current| target.is_none_or(|target| target > current));
    if is_raise && let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: target, maximum: limit.maximum }) {
        tracing::debug!(%error, ?limit, "cannot raise the limit of open files");
    }
    getrlimit(Resource::Nofile).current
}

/// The maximum size of a file that this process may write, in bytes, if there is a limit.
pub(crate) fn file_size() -> Option<u64> {
    getrlimit(Resource::Fsize).current
}

/// No file is written of this process's memory when it crashes. On Linux it ends with the thread that started it,
/// whatever it does.
///
/// # Errors
/// If the system rejects it.
pub(crate) fn end_with_parent() -> io::Result<()> {
    limit(Resource::Core, 0)?;
    system::end_with_parent()
}

/// Limits CPU time, open files and, where the system supports it, address space (in bytes); disables
/// core dumps. On Linux the process also ends with its parent, and gains no privileges.
///
/// # Errors
/// If the system rejects a limit.
pub(crate) fn restrict(cpu_seconds: u64, files: u64, address_space: u64) -> io::Result<()> {
    limit(Resource::Core, 0)?;
    limit(Resource::Cpu, cpu_seconds)?;
    limit(Resource::Nofile, files)?;
    system::restrict(address_space)?;
    // Optional: it works without a lower priority.
    let _ = rustix::process::nice(10);
    Ok(())
}

pub(in crate::os) fn limit(resource: Resource, to: u64) -> io::Result<()> {
    Ok(setrlimit(resource, Rlimit { current: Some(to), maximum: Some(to) })?)
}
