//! Files named by people: opened without blocking, and read up to a maximum size.
//!
//! Opening or reading a FIFO blocks until another process writes to it, and a device may never end, so
//! only regular files are read. Owners and modes are checked in `private`.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use wharf_report::ShowPath as _;

use super::paths::with_suffix;
use super::private::Distrust;
use super::system;

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FileError {
    #[error("{0}")]
    System(#[from] io::Error),
    #[error("it is a symbolic link: use the file itself")]
    Link,
    #[error("it is {0}, not a regular file")]
    NotAFile(&'static str),
    #[error("{0}")]
    Untrusted(Distrust),
    /// Others can replace it.
    #[error("its folder {} is not safe: {why}", folder.shown())]
    UntrustedFolder { why: Distrust, folder: PathBuf },
    #[error("it is larger than the limit of {0} bytes")]
    TooLarge(u64),
    #[error("it is not UTF-8 text")]
    NotText,
}

impl FileError {
    /// Whether it is a temporary error: read again later. See [`is_temporary`].
    pub(crate) fn is_temporary(&self) -> bool {
        matches!(self, Self::System(error) if is_temporary(error))
    }
}

/// Whether an error is not about a file's name, content or permissions: the process has no
/// descriptors or memory left, or the disk or the server of a network file system fails.
pub(crate) fn is_temporary(error: &io::Error) -> bool {
    use io::ErrorKind as Kind;
    !system::is_link_loop(error)
        && !matches!(
            error.kind(),
            Kind::NotFound
                | Kind::PermissionDenied
                | Kind::NotADirectory
                | Kind::IsADirectory
                | Kind::InvalidFilename
                | Kind::InvalidInput
                | Kind::InvalidData
                | Kind::Unsupported
        )
}

impl From<FileError> for io::Error {
    fn from(error: FileError) -> Self {
        match error {
            FileError::System(error) => error,
            error => Self::new(io::ErrorKind::PermissionDenied, error.to_string()),
        }
    }
}

/// Whether a symbolic link at the end of a path is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Links {
    Followed,
    /// The link itself is meant; it is not opened.
    NotFollowed,
}

/// Opens a regular file for reading.
pub(crate) fn open(path: &Path, links: Links) -> Result<(File, Metadata), FileError> {
    open_with(OpenOptions::new().read(true), path, links)
}

/// Opens a regular file without blocking.
pub(super) fn open_with(options: &mut OpenOptions, path: &Path, links: Links) -> Result<(File, Metadata), FileError> {
    let opened = system::set_open_flags(options, links).open(path);
    let file = opened.map_err(|error| system::file_error(error, path, links))?;
    let metadata = file.metadata()?;
    match system::not_a_file(metadata.file_type()) {
        None => Ok((file, metadata)),
        Some("a link") => Err(FileError::Link),
        Some(kind) => Err(FileError::NotAFile(kind)),
    }
}

/// The bytes of a file, at most `max_size`; a link is followed.
pub(crate) fn read(path: &Path, max_size: u64) -> Result<Vec<u8>, FileError> {
    let (file, metadata) = open(path, Links::Followed)?;
    read_opened(file, &metadata, max_size)
}

/// As [`read`], for UTF-8 text.
pub(crate) fn read_text(path: &Path, max_size: u64) -> Result<String, FileError> {
    text(read(path, max_size)?)
}

/// The text of a file that was just opened.
pub(crate) fn read_opened_text(file: File, metadata: &Metadata, max_size: u64) -> Result<String, FileError> {
    text(read_opened(file, metadata, max_size)?)
}

pub(super) fn text(bytes: Vec<u8>) -> Result<String, FileError> {
    String::from_utf8(bytes).map_err(|_| FileError::NotText)
}

pub(crate) fn read_opened(file: File, metadata: &Metadata, max_size: u64) -> Result<Vec<u8>, FileError> {
    if metadata.len() > max_size {
        return Err(FileError::TooLarge(max_size));
    }
    let mut bytes = Vec::with_capacity(metadata.len() as usize);
    // It may have grown meanwhile, and files in `/proc` report a length of zero.
    file.take(max_size + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max_size { Err(FileError::TooLarge(max_size)) } else { Ok(bytes) }
}

/// The next content of a file, written beside it. Unless it is put in place, it goes.
pub(crate) struct Replacement {
    path: PathBuf,
    next: PathBuf,
}

impl Replacement {
    /// With the permissions of a new file.
    pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<Self> {
        if fs::symlink_metadata(path).is_ok_and(|found| found.is_dir()) {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let next = with_suffix(path, &format!(".{}.next", std::process::id()));
        let _ = fs::remove_file(&next);
        let mut file = OpenOptions::new().write(true).create_new(true).open(&next)?;
        let written = Self { path: path.to_owned(), next };
        file.write_all(bytes).and_then(|()| file.sync_all())?;
        Ok(written)
    }

    /// Puts it in place at once. A link there is replaced, and none is followed.
    pub(crate) fn commit(self) -> io::Result<()> {
        fs::rename(&self.next, &self.path)
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        // Once it is in place, there is none of that name.
        let _ = fs::remove_file(&self.next);
    }
}

/// Replaces a file at once, as [`Replacement`].
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    Replacement::write(path, bytes)?.commit()
}

#[cfg(test)]
mod tests;
