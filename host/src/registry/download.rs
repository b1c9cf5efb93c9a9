//! A blob on its way into a file: hashed while it arrives, never larger than it is to be, and gone on with later.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use super::digest::{Hasher, Sha256};
use super::error::RegistryError;
use crate::os::paths::with_suffix;
use crate::os::private;

/// A file of that digest and size, as far as it was received.
pub(super) struct Download {
    path: PathBuf,
    file: File,
    hasher: Hasher,
    length: u64,
    digest: Sha256,
    size: u64,
}

impl Download {
    /// Goes on with what an earlier attempt left beside that file.
    pub(super) fn open(path: &Path, digest: Sha256, size: u64) -> Result<Self, RegistryError> {
        if let Some(folder) = path.parent() {
            private::create_folder(folder)?;
        }
        let part = with_suffix(path, ".part");
        let mut file = match private::create(&part) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let (_, _) = private::open(&part, private::OpenMode::Read).map_err(io::Error::from)?;
                OpenOptions::new().read(true).write(true).open(&part)?
            }
            Err(error) => return Err(error.into()),
        };
        let mut hasher = Hasher::default();
        let mut length = 0;
        if file.metadata()?.len() <= size && file.metadata()?.len() > 0 {
            let mut buffer = vec![0; 64 << 10];
            loop {
                let read = file.read(&mut buffer)?;
                if read == 0 {
                    break;
                }
                hasher.update(&buffer[..read]);
                length += read as u64;
            }
        } else {
            file.set_len(0)?;
        }
        Ok(Self { path: path.to_owned(), file, hasher, length, digest, size })
    }

    pub(super) fn length(&self) -> u64 {
        self.length
    }

    pub(super) fn is_whole(&self) -> bool {
        self.length == self.size
    }

    /// Begins again, for a server that sends all of it.
    pub(super) fn restart(&mut self) -> Result<(), RegistryError> {
        self.file.set_len(0)?;
        self.file.seek(SeekFrom::Start(0))?;
        (self.hasher, self.length) = (Hasher::default(), 0);
        Ok(())
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), RegistryError> {
        self.length += bytes.len() as u64;
        if self.length > self.size {
            self.remove();
            let what = format!("the download has more than the {} bytes that its manifest says", self.size);
            return Err(RegistryError::Changed(what));
        }
        self.hasher.update(bytes);
        Ok(self.file.write_all(bytes)?)
    }

    /// Puts it in its place, if its digest is right.
    pub(super) fn finish(mut self) -> Result<(), RegistryError> {
        let found = std::mem::take(&mut self.hasher).finish();
        if found != self.digest {
            self.remove();
            return Err(RegistryError::Changed(format!("the download is {found}, and not {}", self.digest)));
        }
        self.file.sync_all()?;
        match fs::rename(with_suffix(&self.path, ".part"), &self.path) {
            // Another process downloaded the same, and was first.
            Err(error) if error.kind() == io::ErrorKind::NotFound && self.path.is_file() => Ok(()),
            renamed => Ok(renamed?),
        }
    }

    fn remove(&self) {
        // It would be gone on with.
        let _ = fs::remove_file(with_suffix(&self.path, ".part"));
    }
}
