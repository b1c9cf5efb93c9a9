//! macOS: what it has beside what is in `unix`. Other systems like Unix are taken for it.

pub(crate) mod process;

use std::fs::File;
use std::io;
use std::path::PathBuf;

pub(super) use super::absent::sandbox;
pub(crate) use super::absent::{memory, sealed, service};
pub(crate) use super::unix::*;

/// `OPEN_MAX`: a limit beyond that is refused, also where the hard limit is none.
pub(super) const MOST_FILES: Option<u64> = Some(10_240);

/// FSEvents does not say when a writer closes a file.
pub(crate) const HEARS_CLOSE: bool = false;

/// Where keychains are.
pub(crate) fn key_folders() -> Vec<PathBuf> {
    let own = etcetera::home_dir().ok().map(|home| home.join("Library/Keychains"));
    own.into_iter().chain(["/Library/Keychains".into()]).collect()
}

/// Address space is not limited here: it is not asked for in the way of Linux.
pub(super) fn only_compute(_address_space: u64) -> io::Result<()> {
    Ok(())
}

/// Nothing is reserved: a write has to show that there is room.
pub(crate) fn reserve(_: &File, _: u64, _: u64) -> io::Result<()> {
    Ok(())
}

/// Writes at the end as it is; what another process appends at the same moment may be lost.
pub(crate) fn append(file: &File, bytes: &[u8]) -> io::Result<()> {
    write_all_at(file, bytes, file.metadata()?.len())
}
