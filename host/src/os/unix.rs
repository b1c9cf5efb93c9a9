//! Common to Linux and macOS: owners, modes and kinds of files.

pub(crate) mod limits;
pub(crate) mod output;
pub(super) mod process;
pub(super) mod signals;
pub(super) mod sockets;
pub(crate) mod terminal;

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

/// Without NONBLOCK, opening a FIFO would wait for its other end; without NOCTTY, a terminal could
/// become the controlling terminal of the process.
pub(super) fn set_open_flags(options: &mut OpenOptions, links: Links) -> &OpenOptions {
    let link = if links == Links::NotFollowed { OFlags::NOFOLLOW } else { OFlags::empty() };
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC | link;
    options.custom_flags(flags.bits().cast_signed())
}

/// The error for a file that could not be opened.
pub(super) fn file_error(error: io::Error, _: &Path, links: Links) -> FileError {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NXIO) => FileError::NotAFile("a socket or device"),
        Some(Errno::LOOP) if links == Links::NotFollowed => FileError::Link,
        _ => FileError::System(error),
    }
}

/// Whether symbolic links lead to each other.
pub(super) fn is_link_loop(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::LOOP.raw_os_error())
}

/// Its kind with an article, unless it is a regular file.
pub(super) fn not_a_file(kind: FileType) -> Option<&'static str> {
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
        Rule::Container => false,
    }
}

pub(super) fn others_can_write(found: &Metadata, rule: Rule) -> bool {
    let sticky = found.is_dir() && found.mode() & 0o1000 != 0;
    // By convention, a private group has the id of its user.
    let private_group = found.gid() == found.uid() && found.gid() == rustix::process::getegid().as_raw();
    let (others, sticky) = match rule {
        Rule::Own => (0o022, false),
        Rule::Container => (0o022, sticky),
        Rule::Installed if private_group => (0o002, sticky),
        Rule::Installed => (0o022, sticky),
    };
    found.mode() & others != 0 && !sticky
}

pub(super) fn private_file(options: &mut OpenOptions) -> &mut OpenOptions {
    options.mode(0o600)
}

pub(super) fn private_folder(folder: &mut DirBuilder) -> &DirBuilder {
    folder.mode(0o700)
}

/// Makes renames into this folder durable.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

pub(super) fn stat(path: &Path, links: Links) -> io::Result<(Metadata, Identity)> {
    let found = stamp::metadata(path, links)?;
    let identity = Identity(found.dev(), found.ino());
    Ok((found, identity))
}

pub(super) fn identity_of(file: &File) -> io::Result<Identity> {
    let found = file.metadata()?;
    Ok(Identity(found.dev(), found.ino()))
}

/// Whether a new directory entry is a link to an existing file, which no writer will close.
pub(crate) fn is_linked(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.nlink() > 1 || !found.is_file())
}

/// Whether an open file has been removed.
pub(crate) fn is_removed(file: &File) -> io::Result<bool> {
    Ok(file.metadata()?.nlink() == 0)
}

/// The effective user id, as in file metadata.
pub(crate) fn this_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Opens a folder; follows links.
pub(crate) fn open_folder(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(OFlags::DIRECTORY.bits().cast_signed()).open(path)
}

/// Creates a folder in another one, for this user alone.
pub(crate) fn create_private_folder(dir: &File, name: &Path) -> io::Result<()> {
    let mut options = within::DirOptions::new();
    within::DirBuilderExt::mode(&mut options, 0o700);
    within::create_dir(dir, name, &options)
}

/// See [`set_open_flags`].
pub(crate) fn set_nonblocking(options: &mut within::OpenOptions) {
    options.custom_flags(OFlags::NONBLOCK.bits().cast_signed());
}

pub(crate) fn write_all_at(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    file.write_all_at(bytes, at)
}

pub(super) fn entry_identity(found: &within::Metadata) -> Option<Identity> {
    Some(Identity(found.dev(), found.ino()))
}

pub(super) fn link_count(found: &within::Metadata) -> u64 {
    found.nlink()
}

/// Its kind with an article, unless it is a file, folder or link: opening it can block forever or have
/// side effects.
pub(crate) fn special_kind(found: &within::Metadata) -> Option<&'static str> {
    let kind = found.file_type();
    if kind.is_fifo() {
        Some("a FIFO")
    } else if kind.is_socket() {
        Some("a socket")
    } else if kind.is_block_device() || kind.is_char_device() {
        Some("a device")
    } else {
        (!kind.is_file() && !kind.is_dir() && !kind.is_symlink()).then_some("a special file")
    }
}

/// Whether it is a hard link to a file of another user than `own`: anyone may have created the link.
pub(crate) fn is_foreign_link(found: &within::Metadata, own: u32) -> bool {
    found.is_file() && found.nlink() > 1 && found.uid() != own
}

/// Seconds and nanoseconds of the last change of content, name or permissions.
pub(super) fn changed(found: &Metadata) -> Option<(i64, i64)> {
    Some((found.ctime(), found.ctime_nsec()))
}

pub(super) fn permissions(found: &Metadata) -> u32 {
    found.mode()
}
