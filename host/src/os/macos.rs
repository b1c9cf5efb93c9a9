//! macOS, beyond what is in `unix`. Other Unix systems are treated as macOS.

pub(crate) mod process;

use std::fs::File;
use std::io;
use std::path::PathBuf;

pub(super) use super::absent::sandbox;
pub(crate) use super::absent::{memory, sealed, service};
pub(crate) use super::unix::*;

/// `OPEN_MAX`: the system rejects higher limits, even if the hard limit is infinite.
pub(super) const MAX_OPEN_FILES: Option<u64> = Some(10_240);

/// FSEvents does not report that a writer closes a file.
pub(crate) const REPORTS_CLOSE: bool = false;

/// Where programs keep a user's settings.
pub(crate) fn application_settings() -> Option<PathBuf> {
    Some(etcetera::home_dir().ok()?.join("Library/Application Support"))
}

/// The folders of keychains.
pub(crate) fn key_folders() -> Vec<PathBuf> {
    let own = etcetera::home_dir().ok().map(|home| home.join("Library/Keychains"));
    own.into_iter().chain(["/Library/Keychains".into()]).collect()
}

/// Does not limit address space, which macOS allocates differently from Linux.
pub(super) fn restrict(_address_space: u64) -> io::Result<()> {
    Ok(())
}

/// It does not.
pub(super) fn end_with_parent() -> io::Result<()> {
    Ok(())
}

/// Reserves nothing: a write fails when the disk is full.
pub(crate) fn reserve(_: &File, _: u64, _: u64) -> io::Result<()> {
    Ok(())
}

/// Appends, but not atomically: a concurrent append of another process may be lost.
pub(crate) fn append(file: &File, bytes: &[u8]) -> io::Result<()> {
    write_all_at(file, bytes, file.metadata()?.len())
}
