//! Resource limits of the process: Windows has none of these for a single process.

use std::io;

/// There is no limit.
pub(crate) fn raise_open_files() -> Option<u64> {
    None
}

pub(crate) fn file_size() -> Option<u64> {
    None
}

/// Does nothing.
///
/// # Errors
/// None here.
pub(crate) fn end_with_parent() -> io::Result<()> {
    Ok(())
}

/// Limits nothing.
///
/// # Errors
/// None here.
pub(crate) fn restrict(_cpu_seconds: u64, _files: u64, _address_space: u64) -> io::Result<()> {
    Ok(())
}
