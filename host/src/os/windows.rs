//! Windows. Links, owners and access control differ from Unix; functions without a counterpart do
//! nothing, as their comments say.

mod errno;
pub(crate) mod limits;
pub(crate) mod output;
pub(crate) mod process;
pub(super) mod signals;
pub(super) mod sockets;
pub(crate) mod terminal;

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

/// Whether the watcher reports that a writer has closed a file.
pub(crate) const REPORTS_CLOSE: bool = false;

/// Where programs keep a user's settings.
pub(crate) fn application_settings() -> Option<PathBuf> {
    std::env::var_os("APPDATA").map(PathBuf::from)
}

/// The folders of a user's keys and passwords.
pub(crate) fn key_folders() -> Vec<PathBuf> {
    let below = ["Credentials", "Crypto", "Protect", "SystemCertificates", "Vault"];
    let users = ["APPDATA", "LOCALAPPDATA"].into_iter().filter_map(std::env::var_os).map(PathBuf::from);
    users.flat_map(|folder| below.map(|name| folder.join("Microsoft").join(name))).collect()
}

pub(super) fn set_open_flags(options: &mut OpenOptions, links: Links) -> &OpenOptions {
    options.custom_flags(if links == Links::NotFollowed { LINK_ITSELF } else { 0 })
}

/// The error for a file that could not be opened.
pub(super) fn file_error(error: io::Error, path: &Path, _: Links) -> FileError {
    if error.kind() == io::ErrorKind::PermissionDenied && path.is_dir() {
        return FileError::NotAFile("a directory");
    }
    FileError::System(error)
}

/// Whether symbolic links lead to each other.
pub(super) fn is_link_loop(error: &io::Error) -> bool {
    const ERROR_CANT_RESOLVE_FILENAME: i32 = 1921;
    error.raw_os_error() == Some(ERROR_CANT_RESOLVE_FILENAME)
}

/// Its kind with an article, unless it is a regular file.
pub(super) fn not_a_file(kind: FileType) -> Option<&'static str> {
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

pub(super) fn private_file(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

pub(super) fn private_folder(folder: &mut DirBuilder) -> &DirBuilder {
    folder
}

/// Does nothing: folders cannot be synced, and the file system's journal makes renames durable.
pub(crate) fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

pub(super) fn stat(path: &Path, links: Links) -> io::Result<(Metadata, Identity)> {
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

/// Whether a new directory entry is a link to an existing file, which no writer will close.
pub(crate) fn is_linked(_: &Path) -> bool {
    false
}

/// Whether an open file has been removed.
pub(crate) fn is_removed(file: &File) -> io::Result<bool> {
    let found = within::Metadata::from_file(file)?;
    Ok(found.number_of_links() == Some(0))
}

/// Reserves nothing: a write fails when the disk is full.
pub(crate) fn reserve(_: &File, _: u64, _: u64) -> io::Result<()> {
    Ok(())
}

/// Files have no numeric owner.
pub(crate) fn this_user() -> u32 {
    0
}

/// Opens a folder; follows links.
pub(crate) fn open_folder(path: &Path) -> io::Result<File> {
    let folder = OpenOptions::new().read(true).custom_flags(FOLDERS_TOO).open(path)?;
    if folder.metadata()?.is_dir() { Ok(folder) } else { Err(Errno::NOTDIR.into()) }
}

/// Creates a folder in another one, with the access control list of that one.
pub(crate) fn create_private_folder(dir: &File, name: &Path) -> io::Result<()> {
    within::create_dir(dir, name, &within::DirOptions::new())
}

/// Does nothing: opening a file does not block.
pub(crate) fn set_nonblocking(_: &mut within::OpenOptions) {}

pub(crate) fn write_all_at(file: &File, mut bytes: &[u8], mut at: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.seek_write(bytes, at)? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            written => (bytes, at) = (&bytes[written..], at + written as u64),
        }
    }
    Ok(())
}

/// Appends, but not atomically: a concurrent append of another process may be lost.
pub(crate) fn append(file: &File, bytes: &[u8]) -> io::Result<()> {
    write_all_at(file, bytes, file.metadata()?.len())
}

pub(super) fn entry_identity(found: &within::Metadata) -> Option<Identity> {
    Some(Identity(found.volume_serial_number()?.into(), found.file_index()?))
}

pub(super) fn link_count(found: &within::Metadata) -> u64 {
    found.number_of_links().map_or(1, u64::from)
}

/// Its kind with an article, unless it is a file, folder or link.
pub(crate) fn special_kind(found: &within::Metadata) -> Option<&'static str> {
    let kind = found.file_type();
    (!kind.is_file() && !kind.is_dir() && !kind.is_symlink()).then_some("a special file")
}

/// Only users who may change a file can link it here.
pub(crate) fn is_foreign_link(_: &within::Metadata, _: u32) -> bool {
    false
}

/// The standard library does not provide it.
pub(super) fn changed(_: &Metadata) -> Option<(i64, i64)> {
    None
}

/// The attributes of a folder, without its access control list.
pub(super) fn permissions(found: &Metadata) -> u32 {
    found.file_attributes()
}
