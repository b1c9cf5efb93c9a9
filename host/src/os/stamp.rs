//! Identities of files and folders, and stamps that change when a file is written or replaced.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::Path;
use std::time::SystemTime;

use super::files::Links;
use super::system;

pub(crate) use super::system::is_linked;

/// Identifies a file or folder independently of its names: device and inode, or volume and file index
/// on Windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Identity(pub(super) u64, pub(super) u64);

impl Identity {
    /// `None` if the path does not exist.
    pub(crate) fn of(path: &Path, links: Links) -> Option<Self> {
        system::stat(path, links).ok().map(|(_, identity)| identity)
    }

    /// `None` if the path is not a folder.
    pub(crate) fn of_folder(path: &Path, links: Links) -> Option<Self> {
        system::stat(path, links).ok().filter(|(found, _)| found.is_dir()).map(|(_, identity)| identity)
    }

    /// # Errors
    /// If the file system does not provide it.
    pub(crate) fn of_open(file: &File) -> io::Result<Self> {
        system::identity_of(file)
    }
}

/// Equal stamps mean that the file was not written or replaced in between, nor its permissions changed. On Windows a
/// writer who restores the time of modification is not noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Stamp {
    length: u64,
    modified: Option<SystemTime>,
    /// Of the last change of content, name or permissions, which no program can set; if the system has it.
    changed: Option<(i64, i64)>,
    identity: Identity,
}

impl Stamp {
    /// `None`: there is no file.
    pub(crate) fn of(path: &Path, links: Links) -> Option<Self> {
        let (found, identity) = system::stat(path, links).ok()?;
        let (modified, changed) = (found.modified().ok(), system::changed(&found));
        Some(Self { length: found.len(), modified, changed, identity })
    }
}

/// The identity of the folder at a path, and its permissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FolderState {
    identity: Identity,
    permissions: u32,
}

impl FolderState {
    /// Follows links; `None` if the path does not exist.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let (found, identity) = system::stat(path, Links::Followed).ok()?;
        Some(Self { identity, permissions: system::permissions(&found) })
    }
}

pub(super) fn metadata(path: &Path, links: Links) -> io::Result<Metadata> {
    match links {
        Links::Followed => fs::metadata(path),
        Links::NotFollowed => fs::symlink_metadata(path),
    }
}
