//! What Linux and macOS have in common: owners, modes and kinds of files.

pub(crate) mod limits;
pub(crate) mod output;
pub(super) mod process;
pub(super) mod signals;
pub(super) mod sockets;

use std::fs::{DirBuilder, File, FileType, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use cap_primitives::fs as within;
use cap_primitives::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use rustix::fs::OFlags;
pub(crate) use rustix::io::Errno;

use super::files::{FileError, Links};
use super::private::Rule;
use super::stamp::{self, Identity};

/// Without NONBLOCK, opening a FIFO would wait for someone at its other end; without NOCTTY, a
/// terminal could become that of the process.
pub(super) fn without_waiting(options: &mut OpenOptions, links: Links) -> &OpenOptions {
    let link = if links == Links::NotFollowed { OFlags::NOFOLLOW } else { OFlags::empty() };
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC | link;
    options.custom_flags(flags.bits().cast_signed())
}

/// Why a file was not opened.
pub(super) fn explain(error: io::Error, _: &Path, links: Links) -> FileError {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NXIO) => FileError::NotAFile("a socket or device"),
        Some(Errno::LOOP) if links == Links::NotFollowed => FileError::Link,
        _ => FileError::System(error),
    }
}

/// What it is if it is no regular file.
pub(super) fn other_kind(kind: FileType) -> Option<&'static str> {
    if kind.is_file() {
        return None;
    }
    Some(if kind.is_dir() {
        "a directory"
    } else if kind.is_fifo() {
        "a FIFO"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    })
}

pub(super) fn is_foreign(found: &Metadata, rule: Rule) -> bool {
    let own = this_user();
    match rule {
        Rule::Own => found.uid() != own,
        Rule::Installed => found.uid() != own && found.uid() != 0,
        Rule::Around => false,
    }
}

pub(super) fn others_can_write(found: &Metadata, rule: Rule) -> bool {
    let sticky = found.is_dir() && found.mode() & 0o1000 != 0;
    // A private group, by convention, has the number of its user.
    let private_group = found.gid() == found.uid() && found.gid() == rustix::process::getegid().as_raw();
    let (others, sticky) = match rule {
        Rule::Own => (0o022, false),
        Rule::Around => (0o022, sticky),
        Rule::Installed if private_group => (0o002, sticky),
        Rule::Installed => (0o022, sticky),
    };
    found.mode() & others != 0 && !sticky
}

pub(super) fn for_this_user(options: &mut OpenOptions) -> &mut OpenOptions {
    options.mode(0o600)
}

pub(super) fn folder_for_this_user(folder: &mut DirBuilder) -> &DirBuilder {
    folder.mode(0o700)
}

/// Has a file that was just renamed into this folder on the disk under its new name.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

pub(super) fn look(path: &Path, links: Links) -> io::Result<(Metadata, Identity)> {
    let found = stamp::metadata(path, links)?;
    let identity = Identity(found.dev(), found.ino());
    Ok((found, identity))
}

pub(super) fn identity_of(file: &File) -> io::Result<Identity> {
    let found = file.metadata()?;
    Ok(Identity(found.dev(), found.ino()))
}

/// Whether a new name was given to a file that is there already: nobody will close it.
pub(crate) fn is_linked(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.nlink() > 1 || !found.is_file())
}

/// Whether an open file has no name any more.
pub(crate) fn is_removed(file: &File) -> io::Result<bool> {
    Ok(file.metadata()?.nlink() == 0)
}

/// This user's number, as files have it.
pub(crate) fn this_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Opens a folder; of a link its target.
pub(crate) fn open_folder(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(OFlags::DIRECTORY.bits().cast_signed()).open(path)
}

/// See [`without_waiting`].
pub(crate) fn without_waiting_in(options: &mut within::OpenOptions) {
    options.custom_flags(OFlags::NONBLOCK.bits().cast_signed());
}

pub(crate) fn write_all_at(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    file.write_all_at(bytes, at)
}

pub(super) fn identity_in(found: &within::Metadata) -> Option<Identity> {
    Some(Identity(found.dev(), found.ino()))
}

pub(super) fn names_in(found: &within::Metadata) -> u64 {
    found.nlink()
}

/// What it is if it is no file, folder or link: opening it can block for ever or do things.
pub(crate) fn other_entry(found: &within::Metadata) -> Option<&'static str> {
    let kind = found.file_type();
    if kind.is_fifo() {
        Some("a FIFO")
    } else if kind.is_socket() {
        Some("a socket")
    } else if kind.is_block_device() || kind.is_char_device() {
        Some("a device")
    } else {
        (!kind.is_file() && !kind.is_dir() && !kind.is_symlink()).then_some("something that is no file")
    }
}

/// A file that is also elsewhere, and that its owner, who is not `own`, may not have put here.
pub(crate) fn is_foreign_link(found: &within::Metadata, own: u32) -> bool {
    found.is_file() && found.nlink() > 1 && found.uid() != own
}

/// Which folder it is, and who may do what with it.
pub(super) fn rights(found: &Metadata) -> u32 {
    found.mode()
}
