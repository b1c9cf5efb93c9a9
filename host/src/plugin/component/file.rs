//! Reads a component's file without trusting what is there: never blocks, never follows
//! a link, never reads more than a component may have.
//!
//! Decides nothing about names and watches nothing.

use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::files::{self, FileError};
use crate::plugin::error::LoadError;
use crate::plugin::id::Digest;

/// Bytes of the largest component.
pub(in crate::plugin) const MAX_SIZE: u64 = 64 << 20;

/// Reads a component. The file must be a regular one that belongs to this user (or root)
/// and that others cannot write.
///
/// # Errors
/// What is wrong with the file, each with its own [`LoadError`].
pub async fn read_component(path: impl AsRef<Path>) -> Result<Vec<u8>, LoadError> {
    let path: PathBuf = path.as_ref().to_owned();
    match tokio::task::spawn_blocking(move || read(&path)).await {
        Ok(read) => read,
        Err(error) => Err(LoadError::Host(error.to_string())),
    }
}

/// The same on the calling thread.
pub(in crate::plugin) fn read(path: &Path) -> Result<Vec<u8>, LoadError> {
    read_most(path, MAX_SIZE)
}

/// The same for a file of which `most` bytes are enough.
pub(in crate::plugin) fn read_most(path: &Path, most: u64) -> Result<Vec<u8>, LoadError> {
    let (mut file, before) = open(path)?;
    if before.len() > most {
        return Err(LoadError::TooLarge { size: before.len(), limit: most });
    }
    let mut bytes = Vec::with_capacity(before.len() as usize);
    file.by_ref().take(most + 1).read_to_end(&mut bytes).map_err(|error| LoadError::Unreadable(error.to_string()))?;
    let after = stat(&file)?;
    let same = |a: &Metadata, b: &Metadata| a.len() == b.len() && a.modified().ok() == b.modified().ok();
    if bytes.len() as u64 != after.len() || !same(&before, &after) {
        return Err(LoadError::Changed);
    }
    Ok(bytes)
}

/// What is in a component's file now, if it can be read. On the calling thread.
pub fn content_of(path: &Path) -> Option<Digest> {
    read(path).ok().map(|component| Digest::of(&component))
}

/// Opens a file that may be read.
pub(in crate::plugin) fn open(path: &Path) -> Result<(File, Metadata), LoadError> {
    let is_link = |error: &io::Error| error.raw_os_error().map(Errno::from_raw_os_error) == Some(Errno::LOOP);
    let (file, metadata) = files::open(path, OFlags::NOFOLLOW).map_err(|error| match error {
        FileError::System(error) if is_link(&error) => LoadError::Symlink,
        FileError::NotAFile(kind) => LoadError::NotAFile(kind),
        error => LoadError::Unreadable(error.to_string()),
    })?;
    check(&metadata)?;
    Ok((file, metadata))
}

/// A group does not count as others if it is the user's own, as the convention of private
/// groups has it: of the user's number. Where it holds, files are made group-writable.
fn writable_by_others(file: &Metadata) -> bool {
    let private_group = file.gid() == file.uid() && file.gid() == rustix::process::getegid().as_raw();
    let others = if private_group { 0o002 } else { 0o022 };
    file.mode() & others != 0
}

/// Whether others can put something in the place of what is at a path: of a file its bytes, of a
/// folder what is in it. In a sticky folder they cannot replace what is mine.
pub fn is_writable_by_others(path: &Path) -> bool {
    // A link's own mode says nothing.
    let Ok(found) = std::fs::symlink_metadata(path) else { return false };
    let sticky = found.is_dir() && found.mode() & 0o1000 != 0;
    !found.is_symlink() && !sticky && writable_by_others(&found)
}

fn stat(file: &File) -> Result<Metadata, LoadError> {
    file.metadata().map_err(|error| LoadError::Unreadable(error.to_string()))
}

fn check(file: &Metadata) -> Result<(), LoadError> {
    if file.uid() != 0 && file.uid() != rustix::process::geteuid().as_raw() {
        return Err(LoadError::ForeignOwner);
    }
    if writable_by_others(file) {
        return Err(LoadError::WritableByOthers);
    }
    if file.len() > MAX_SIZE {
        return Err(LoadError::TooLarge { size: file.len(), limit: MAX_SIZE });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
