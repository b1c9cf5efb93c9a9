//! What tells one state of a file, and one file or folder, from another.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::Path;
use std::time::SystemTime;

use super::files::Links;
use super::system;

pub(crate) use super::system::is_linked;

/// Which file or folder it is, under whatever name: device and inode, or what Windows has for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Identity(pub(super) u64, pub(super) u64);

impl Identity {
    /// Of what is there, if it is there.
    pub(crate) fn of(path: &Path, links: Links) -> Option<Self> {
        system::look(path, links).ok().map(|(_, identity)| identity)
    }

    /// Of a folder; `None` where there is none.
    pub(crate) fn of_folder(path: &Path, links: Links) -> Option<Self> {
        system::look(path, links).ok().filter(|(found, _)| found.is_dir()).map(|(_, identity)| identity)
    }

    /// # Errors
    /// If the system does not say.
    pub(crate) fn of_open(file: &File) -> io::Result<Self> {
        system::identity_of(file)
    }
}

/// Equal stamps mean that nobody wrote or replaced the file in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Stamp {
    length: u64,
    modified: Option<SystemTime>,
    identity: Identity,
}

impl Stamp {
    /// `None`: there is no file.
    pub(crate) fn of(path: &Path, links: Links) -> Option<Self> {
        let (found, identity) = system::look(path, links).ok()?;
        Some(Self { length: found.len(), modified: found.modified().ok(), identity })
    }
}

/// Which folder stands somewhere, and who may do what with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FolderState {
    identity: Identity,
    rights: u32,
}

impl FolderState {
    /// Of what a path leads to, if that is there.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let (found, identity) = system::look(path, Links::Followed).ok()?;
        Some(Self { identity, rights: system::rights(&found) })
    }
}

pub(super) fn metadata(path: &Path, links: Links) -> io::Result<Metadata> {
    match links {
        Links::Followed => fs::metadata(path),
        Links::NotFollowed => fs::symlink_metadata(path),
    }
}
