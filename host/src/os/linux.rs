//! Linux, beyond what is in `unix`.

mod landlock;
pub(crate) mod memory;
pub(crate) mod process;
pub(crate) mod sealed;
mod seccomp;
pub(crate) mod service;

use std::fs::File;
use std::io;
use std::path::PathBuf;

use rustix::fs::FallocateFlags;
use rustix::io::ReadWriteFlags;
use rustix::process::Resource;

pub(crate) use super::unix::*;

/// The OS sandbox.
pub(super) mod sandbox {
    pub use super::landlock::{denies, deny_files, restrict_files, restrict_to, system_paths};
    pub use super::seccomp::{deny_syscalls, filter_syscalls};

    /// Why there is none, on systems without one.
    pub(crate) const UNSUPPORTED: Option<&str> = None;
}

/// The system's own maximum of open files per process, besides the limit.
pub(super) const MAX_OPEN_FILES: Option<u64> = None;

/// Whether the watcher reports that a writer has closed a file.
pub(crate) const REPORTS_CLOSE: bool = true;

/// Where programs keep a user's settings.
pub(crate) fn application_settings() -> Option<PathBuf> {
    use etcetera::BaseStrategy as _;
    Some(etcetera::choose_base_strategy().ok()?.config_dir())
}

/// Folders of keys, besides those that have the same name on every system.
pub(crate) fn key_folders() -> Vec<PathBuf> {
    Vec::new()
}

/// See [`super::limits::restrict`].
pub(super) fn restrict(address_space: u64) -> io::Result<()> {
    limits::limit(Resource::As, address_space)?;
    rustix::thread::set_no_new_privs(true)?;
    end_with_parent()
}

/// See [`super::limits::end_with_parent`].
pub(super) fn end_with_parent() -> io::Result<()> {
    Ok(rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?)
}

/// Reserves disk space from an offset of a file on. Does nothing where the file system cannot reserve;
/// a write fails there when the disk is full.
///
/// # Errors
/// If there is no space.
pub(crate) fn reserve(file: &File, from: u64, bytes: u64) -> io::Result<()> {
    match rustix::fs::fallocate(file, FallocateFlags::KEEP_SIZE, from, bytes) {
        Err(error @ (Errno::NOSPC | Errno::DQUOT | Errno::FBIG | Errno::ROFS | Errno::IO)) => Err(error.into()),
        _ => Ok(()),
    }
}

/// Appends atomically: other processes may append to the same file.
pub(crate) fn append(file: &File, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match rustix::io::pwritev2(file, &[io::IoSlice::new(bytes)], 0, ReadWriteFlags::APPEND) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
