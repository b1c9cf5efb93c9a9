//! Reads a component's file without trusting the path: never blocks, never follows
//! a link, never reads more than a component may have.
//!
//! Decides nothing about names and watches nothing.

use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use crate::os::files::{self, FileError, Links};
use crate::os::private::{self, Distrust, Rule};
use crate::plugin::error::LoadError;
use crate::plugin::id::Digest;

/// Bytes of the largest component.
pub const MAX_SIZE: u64 = 64 << 20;

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
    read_up_to(path, MAX_SIZE)
}

/// The same with another limit, in bytes.
pub(in crate::plugin) fn read_up_to(path: &Path, limit: u64) -> Result<Vec<u8>, LoadError> {
    let (mut file, before) = open(path)?;
    if before.len() > limit {
        return Err(LoadError::TooLarge { size: before.len(), limit });
    }
    let mut bytes = Vec::with_capacity(before.len() as usize);
    file.by_ref().take(limit + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    let after = stat(&file)?;
    let same = |a: &Metadata, b: &Metadata| a.len() == b.len() && a.modified().ok() == b.modified().ok();
    if bytes.len() as u64 != after.len() || !same(&before, &after) {
        return Err(LoadError::Changed);
    }
    Ok(bytes)
}

/// The digest of a component's file as it is now, if it can be read. On the calling thread.
pub fn content_of(path: &Path) -> Option<Digest> {
    read(path).ok().map(|component| Digest::of(&component))
}

/// Opens a component's file, and checks its type, owner, mode and size.
pub(in crate::plugin) fn open(path: &Path) -> Result<(File, Metadata), LoadError> {
    let (file, metadata) = files::open(path, Links::NotFollowed).map_err(|error| match error {
        FileError::Link => LoadError::Symlink,
        FileError::NotAFile(kind) => LoadError::NotAFile(kind),
        FileError::System(error) => unreadable(error),
        error => LoadError::Unreadable(error.to_string()),
    })?;
    check(&metadata)?;
    Ok((file, metadata))
}

/// Whether other users can replace what is at a path: a file's bytes, or a folder's entries. In a
/// sticky folder they cannot replace this user's entries.
pub fn is_writable_by_others(path: &Path) -> bool {
    // A link's own mode has no meaning.
    let Ok(found) = std::fs::symlink_metadata(path) else { return false };
    !found.is_symlink() && private::others_can_write(&found, Rule::Installed)
}

fn stat(file: &File) -> Result<Metadata, LoadError> {
    file.metadata().map_err(unreadable)
}

fn unreadable(error: io::Error) -> LoadError {
    LoadError::of_system(&error, LoadError::Unreadable, error.to_string())
}

fn check(file: &Metadata) -> Result<(), LoadError> {
    match private::distrust(file, Rule::Installed) {
        Some(Distrust::OtherOwner) => return Err(LoadError::ForeignOwner),
        Some(Distrust::OthersWrite) => return Err(LoadError::WritableByOthers),
        None => {}
    }
    check_size(file.len())
}

/// Whether a component of that many bytes would be read.
///
/// # Errors
/// That it is too large.
pub fn check_size(size: u64) -> Result<(), LoadError> {
    if size > MAX_SIZE { Err(LoadError::TooLarge { size, limit: MAX_SIZE }) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
