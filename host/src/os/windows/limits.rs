//! Limits that the system holds a process to: Windows has none of these for a process by itself.

use std::io;

/// Files are not counted.
pub(crate) fn raise_open_files() -> Option<u64> {
    None
}

pub(crate) fn file_size() -> Option<u64> {
    None
}

/// Nothing is limited.
///
/// # Errors
/// None here.
pub(crate) fn only_compute(_cpu_seconds: u64, _files: u64, _address_space: u64) -> io::Result<()> {
    Ok(())
}
