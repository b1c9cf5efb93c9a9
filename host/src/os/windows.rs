//! Windows. Links, owners and lists of rights differ from those of Unix; what has no counterpart
//! does nothing, and says so.

mod errno;
pub(crate) mod limits;
pub(crate) mod output;
pub(crate) mod process;
pub(super) mod signals;
pub(super) mod sockets;

use std::fs::{DirBuilder, File, FileType, Metadata, OpenOptions};
use std::io;
use std::os::windows::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use cap_primitives::fs as within;
use cap_primitives::fs::_WindowsByHandle as _;

pub(crate) use errno::Errno;

pub(super) use super::absent::sandbox;
pub(crate) use super::absent::{memory, sealed, service};
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
    let found = within::Metadata::from_file(file)?;
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
    let found = within::Metadata::from_file(file)?;
    Ok(found.number_of_links() == Some(0))
}

/// Nothing is reserved: a write has to show that there is room.
pub(crate) fn reserve(_: &File, _: u64, _: u64) -> io::Result<()> {
    Ok(())
}

/// Files have no number of their owner.
pub(crate) fn this_user() -> u32 {
    0
}

/// Opens a folder; of a link its target.
pub(crate) fn open_folder(path: &Path) -> io::Result<File> {
    let folder = OpenOptions::new().read(true).custom_flags(FOLDERS_TOO).open(path)?;
    if folder.metadata()?.is_dir() { Ok(folder) } else { Err(Errno::NOTDIR.into()) }
}

/// Nothing that is opened waits for anybody.
pub(crate) fn without_waiting_in(_: &mut within::OpenOptions) {}

pub(crate) fn write_all_at(file: &File, mut bytes: &[u8], mut at: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.seek_write(bytes, at)? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            written => (bytes, at) = (&bytes[written..], at + written as u64),
        }
    }
    Ok(())
}

/// Writes at the end as it is; what another process appends at the same moment may be lost.
pub(crate) fn append(file: &File, bytes: &[u8]) -> io::Result<()> {
    write_all_at(file, bytes, file.metadata()?.len())
}

pub(super) fn identity_in(found: &within::Metadata) -> Option<Identity> {
    Some(Identity(found.volume_serial_number()?.into(), found.file_index()?))
}

pub(super) fn names_in(found: &within::Metadata) -> u64 {
    found.number_of_links().map_or(1, u64::from)
}

/// What it is if it is no file, folder or link.
pub(crate) fn other_entry(found: &within::Metadata) -> Option<&'static str> {
    let kind = found.file_type();
    (!kind.is_file() && !kind.is_dir() && !kind.is_symlink()).then_some("something that is no file")
}

/// Nobody can link a file here that he may not change.
pub(crate) fn is_foreign_link(_: &within::Metadata, _: u32) -> bool {
    false
}

/// The attributes of a folder; the list of rights is not among them.
pub(super) fn rights(found: &Metadata) -> u32 {
    found.file_attributes()
}
