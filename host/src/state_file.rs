//! A file of JSON in the state folder, which servers and commands share.
//!
//! Readers see either the old file or the new one. Writers take turns, by a lock on a file beside it. All methods block
//! the calling thread.

use std::path::PathBuf;
use std::time::Duration;
use std::{fs, io};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::json;
use crate::os::files::read_opened_text;
use crate::os::lock::lock;
use crate::os::private::{self, Durability, OpenMode};

/// How long a writer waits for its turn.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);

/// A file, in its folder.
#[derive(Debug, Clone)]
pub struct StateFile {
    folder: PathBuf,
    name: &'static str,
    max_size: u64,
    durability: Durability,
}

impl StateFile {
    /// `max_size`: the bytes that are read at most.
    pub(crate) fn new(folder: PathBuf, name: &'static str, max_size: u64, durability: Durability) -> Self {
        Self { folder, name, max_size, durability }
    }

    pub fn path(&self) -> PathBuf {
        self.folder.join(self.name)
    }

    /// A missing file has the default.
    ///
    /// # Errors
    /// If others can write the file, or it is damaged.
    pub fn read<T: DeserializeOwned + Default>(&self) -> io::Result<T> {
        let (file, found) = match private::open(&self.path(), OpenMode::Read).map_err(io::Error::from) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(T::default()),
            opened => opened?,
        };
        let text = read_opened_text(file, &found, self.max_size)?;
        json::read(&text).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))
    }

    /// Changes what is in it. The file is written only if that differs.
    ///
    /// # Errors
    /// That of `edit`, or if the file cannot be read or written; it is then unchanged.
    pub fn edit<T, R, E>(&self, edit: impl FnOnce(&mut T) -> Result<R, E>) -> Result<R, E>
    where
        T: Serialize + DeserializeOwned + Default + Clone + PartialEq,
        E: From<io::Error>,
    {
        private::create_trusted_folder(&self.folder)?;
        let turn = self.folder.join(format!("{}.turn", self.name));
        let (turn, _) = private::open(&turn, OpenMode::Lock).map_err(io::Error::from)?;
        lock(&turn, LOCK_TIMEOUT)?;
        let before: T = self.read()?;
        let mut after = before.clone();
        let result = edit(&mut after)?;
        if after != before {
            let text = serde_json::to_vec(&after).map_err(io::Error::from)?;
            let next = self.folder.join(format!("{}.next", self.name));
            private::write(&next, &[&text], self.durability)?;
            fs::rename(next, self.path())?;
        }
        Ok(result)
    }
}
