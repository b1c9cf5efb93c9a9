//! Linux: what it has beside what is in `unix`.

mod calls;
mod files;
pub(crate) mod memory;
pub(crate) mod process;
pub(crate) mod sealed;
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
    pub use super::calls::only_compute;
    pub(crate) use super::files::of_every_program;
    pub use super::files::{keeps_from, no_files, only_files};

    /// Why there is none, where there is none.
    pub(crate) const MISSING: Option<&str> = None;
}

/// The most files that a process may have open, whatever its limit.
pub(super) const MOST_FILES: Option<u64> = None;

/// Whether the system says when a writer has closed a file.
pub(crate) const HEARS_CLOSE: bool = true;

/// Folders of keys that are not called as they are everywhere.
pub(crate) fn key_folders() -> Vec<PathBuf> {
    Vec::new()
}

/// See [`super::limits::only_compute`].
pub(super) fn only_compute(address_space: u64) -> io::Result<()> {
    limits::limit(Resource::As, address_space)?;
    rustix::thread::set_no_new_privs(true)?;
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    Ok(())
}

/// Reserves room on the disk behind that place of a file, where the file system can do that; where
/// it cannot, a write has to show that there is room.
///
/// # Errors
/// If there is none.
pub(crate) fn reserve(file: &File, from: u64, bytes: u64) -> io::Result<()> {
    match rustix::fs::fallocate(file, FallocateFlags::KEEP_SIZE, from, bytes) {
        Err(error @ (Errno::NOSPC | Errno::DQUOT | Errno::FBIG | Errno::ROFS | Errno::IO)) => Err(error.into()),
        _ => Ok(()),
    }
}

/// Writes at the end, wherever that is when the system does it: others may write to the file too.
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
