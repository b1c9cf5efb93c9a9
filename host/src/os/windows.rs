//! Windows. Links, owners and lists of rights differ from those of Unix; what has no counterpart
//! does nothing, and says so.

pub(crate) mod limits;
pub(crate) mod output;
pub(crate) mod process;
pub(super) mod signals;
pub(super) mod sockets;

use std::fs::{DirBuilder, File, FileType, Metadata, OpenOptions};
use std::io;
use std::os::windows::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use cap_primitives::fs::_WindowsByHandle as _;

pub(super) use super::absent::sandbox;
pub(crate) use super::absent::{heap, service};
use super::files::{FileError, Links};
use super::private::Rule;
use super::stamp::{self, Identity};

/// Opens a link itself (`FILE_FLAG_OPEN_REPARSE_POINT`).
const LINK_ITSELF: u32 = 0x0020_0000;
/// Opens folders too (`FILE_FLAG_BACKUP_SEMANTICS`).
const FOLDERS_TOO: u32 = 0x0200_0000;

/// Whether the system says when a writer has closed a file.
pub(crate) const HEARS_CLOSE: bool = false;

/// Where the system keeps a user's keys and passwords.
pub(crate) fn key_folders() -> Vec<PathBuf> {
    let below = ["Credentials", "Crypto", "Protect", "SystemCertificates", "Vault"];
    let users = ["APPDATA", "LOCALAPPDATA"].into_iter().filter_map(std::env::var_os).map(PathBuf::from);
    users.flat_map(|folder| below.map(|name| folder.join("Microsoft").join(name))).collect()
}

pub(super) fn without_waiting(options: &mut OpenOptions, links: Links) -> &OpenOptions {
    options.custom_flags(if links == Links::NotFollowed { LINK_ITSELF } else { 0 })
}

/// Why a file was not opened.
pub(super) fn explain(error: io::Error, path: &Path, _: Links) -> FileError {
    if error.kind() == io::ErrorKind::PermissionDenied && path.is_dir() {
        return FileError::NotAFile("a directory");
    }
    FileError::System(error)
}

/// What it is if it is no regular file.
pub(super) fn other_kind(kind: FileType) -> Option<&'static str> {
    if kind.is_file() {
        None
    } else if kind.is_symlink() {
        Some("a link")
    } else {
        Some("a directory")
    }
}

pub(super) fn is_foreign(_: &Metadata, _: Rule) -> bool {
    false
}

pub(super) fn others_can_write(_: &Metadata, _: Rule) -> bool {
    false
}

pub(super) fn for_this_user(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

pub(super) fn folder_for_this_user(folder: &mut DirBuilder) -> &DirBuilder {
    folder
}

/// A folder cannot be synchronised: the file system's own journal sees to renames.
pub(crate) fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

pub(super) fn look(path: &Path, links: Links) -> io::Result<(Metadata, Identity)> {
    let itself = if links == Links::NotFollowed { LINK_ITSELF } else { 0 };
    let file = OpenOptions::new().access_mode(0).custom_flags(FOLDERS_TOO | itself).open(path)?;
    let found = stamp::metadata(path, links)?;
    Ok((found, identity_of(&file)?))
}

pub(super) fn identity_of(file: &File) -> io::Result<Identity> {
    let found = cap_primitives::fs::Metadata::from_file(file)?;
    match (found.volume_serial_number(), found.file_index()) {
        (Some(volume), Some(index)) => Ok(Identity(volume.into(), index)),
        _ => Err(io::ErrorKind::Unsupported.into()),
    }
}

/// Whether a new name was given to a file that is there already: nobody will close it.
pub(crate) fn is_linked(_: &Path) -> bool {
    false
}

/// Whether an open file has no name any more.
pub(crate) fn is_removed(file: &File) -> io::Result<bool> {
    let found = cap_primitives::fs::Metadata::from_file(file)?;
    Ok(found.number_of_links() == Some(0))
}

/// Nothing is reserved: a write has to show that there is room.
pub(crate) fn reserve(_: &File, _: u64, _: u64) -> io::Result<()> {
    Ok(())
}
