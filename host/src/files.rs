//! [`crate::os::files`] as components are read.

use std::fs::{File, Metadata};
use std::path::Path;

use crate::os::files::Links;
pub(crate) use crate::os::files::{FileError, read_text};

pub(crate) fn open(path: &Path, _: rustix::fs::OFlags) -> Result<(File, Metadata), FileError> {
    crate::os::files::open(path, Links::NotFollowed).map_err(|error| match error {
        FileError::Link => FileError::System(rustix::io::Errno::LOOP.into()),
        error => error,
    })
}
