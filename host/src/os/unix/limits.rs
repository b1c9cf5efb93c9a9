//! Limits that the system holds a process to.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::os::system;

/// Raises how many files may be open to what the system allows. Gives how many that are, if there
/// is a limit.
pub(crate) fn raise_open_files() -> Option<u64> {
    let limit = getrlimit(Resource::Nofile);
    // What is no limit at all is refused by systems that have one of their own.
    let most = match (limit.maximum, system::MOST_FILES) {
        (Some(hard), Some(most)) => Some(hard.min(most)),
        (hard, most) => hard.or(most),
    };
    let is_more = |most: Option<u64>| limit.current.is_some_and(|now| most.is_none_or(|most| most > now));
    if is_more(most)
        && let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: most, maximum: limit.maximum })
    {
        tracing::debug!(%error, ?limit, "the limit of open files stays as it is");
    }
    getrlimit(Resource::Nofile).current
}

/// Bytes of the largest file that this process may write, if there is a limit.
pub(crate) fn file_size() -> Option<u64> {
    getrlimit(Resource::Fsize).current
}

/// Limits what this process takes from here on: it computes for so long, and has that many files
/// open; there is no core dump of it. Where address space can be limited, that is; where it is
/// possible, the process ends with the one that started it and is given no more rights.
///
/// # Errors
/// If the system refuses a limit.
pub(crate) fn only_compute(cpu_seconds: u64, files: u64, address_space: u64) -> io::Result<()> {
    limit(Resource::Core, 0)?;
    limit(Resource::Cpu, cpu_seconds)?;
    limit(Resource::Nofile, files)?;
    system::only_compute(address_space)?;
    // Politeness only: without it the work is done all the same.
    let _ = rustix::process::nice(10);
    Ok(())
}

pub(in crate::os) fn limit(resource: Resource, to: u64) -> io::Result<()> {
    Ok(setrlimit(resource, Rlimit { current: Some(to), maximum: Some(to) })?)
}
