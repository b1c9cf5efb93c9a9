//! Files that people name: opened without waiting for anybody, and read to a bound.
//!
//! A FIFO stops whoever opens or reads it until somebody writes there, and a device may never
//! end: only regular files are read. Who may have written one is not looked at here.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::OFlags;
use rustix::io::Errno;

/// Why nothing was read, and what to do.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FileError {
    #[error("{0}")]
    System(#[from] io::Error),
    #[error("{0} is in its place: use a regular file")]
    NotAFile(&'static str),
    #[error("more than {0} bytes are in its place: use a smaller file")]
    TooLarge(u64),
    #[error("other bytes than UTF-8 are in its place: use a text file")]
    NotText,
}

/// Opens a regular file to read it. `more`: flags beside those that keep it from waiting, as
/// `NOFOLLOW`; without that a link is followed.
pub(crate) fn open(path: &Path, more: OFlags) -> Result<(File, Metadata), FileError> {
    // Without NONBLOCK, opening a FIFO would wait for someone to write to it; without NOCTTY, a
    // terminal could become that of the process.
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC | more;
    let opened = OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path);
    let file = opened.map_err(|error| match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NXIO) => FileError::NotAFile("a socket or device"),
        _ => FileError::System(error),
    })?;
    let metadata = file.metadata()?;
    let kind = metadata.file_type();
    if kind.is_file() {
        return Ok((file, metadata));
    }
    Err(FileError::NotAFile(if kind.is_dir() {
        "a directory"
    } else if kind.is_fifo() {
        "a FIFO"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    }))
}

/// The bytes of a file, `most` at most; a link is followed.
pub(crate) fn read(path: &Path, most: u64) -> Result<Vec<u8>, FileError> {
    let (file, metadata) = open(path, OFlags::empty())?;
    rest(file, &metadata, most)
}

/// The same of a text.
pub(crate) fn read_text(path: &Path, most: u64) -> Result<String, FileError> {
    text(read(path, most)?)
}

/// The text of a file that was just opened.
pub(crate) fn rest_of_text(file: File, metadata: &Metadata, most: u64) -> Result<String, FileError> {
    text(rest(file, metadata, most)?)
}

fn text(bytes: Vec<u8>) -> Result<String, FileError> {
    String::from_utf8(bytes).map_err(|_| FileError::NotText)
}

fn rest(file: File, metadata: &Metadata, most: u64) -> Result<Vec<u8>, FileError> {
    if metadata.len() > most {
        return Err(FileError::TooLarge(most));
    }
    let mut bytes = Vec::with_capacity(metadata.len() as usize);
    // It may have grown meanwhile, and files of the kernel's own say that they have none.
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most { Err(FileError::TooLarge(most)) } else { Ok(bytes) }
}

#[cfg(test)]
mod tests;
