//! Files that people name: opened without waiting for anybody, and read to a bound.
//!
//! A FIFO stops whoever opens or reads it until somebody writes there, and a device may never
//! end: only regular files are read. Who may have written one is not looked at here.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::path::Path;

use super::private::Distrust;
use super::system;

/// Why nothing was read, and what to do.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FileError {
    #[error("{0}")]
    System(#[from] io::Error),
    #[error("a link is in its place: use the file itself")]
    Link,
    #[error("{0} is in its place: use a regular file")]
    NotAFile(&'static str),
    #[error("{0}")]
    Untrusted(Distrust),
    #[error("more than {0} bytes are in its place: use a smaller file")]
    TooLarge(u64),
    #[error("other bytes than UTF-8 are in its place: use a text file")]
    NotText,
}

impl From<FileError> for io::Error {
    fn from(error: FileError) -> Self {
        match error {
            FileError::System(error) => error,
            error => Self::new(io::ErrorKind::PermissionDenied, error.to_string()),
        }
    }
}

/// What a link at the end of a path stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Links {
    /// The file that it leads to.
    Followed,
    /// Itself; it is not opened.
    NotFollowed,
}

/// Opens a regular file to read it.
pub(crate) fn open(path: &Path, links: Links) -> Result<(File, Metadata), FileError> {
    open_with(OpenOptions::new().read(true), path, links)
}

/// Opens a regular file; waits for nobody.
pub(super) fn open_with(options: &mut OpenOptions, path: &Path, links: Links) -> Result<(File, Metadata), FileError> {
    let opened = system::without_waiting(options, links).open(path);
    let file = opened.map_err(|error| system::explain(error, path, links))?;
    let metadata = file.metadata()?;
    match system::other_kind(metadata.file_type()) {
        None => Ok((file, metadata)),
        Some("a link") => Err(FileError::Link),
        Some(kind) => Err(FileError::NotAFile(kind)),
    }
}

/// The bytes of a file, `most` at most; a link is followed.
pub(crate) fn read(path: &Path, most: u64) -> Result<Vec<u8>, FileError> {
    let (file, metadata) = open(path, Links::Followed)?;
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
