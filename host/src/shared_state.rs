//! State as JSON that servers and commands share: a file in the state folder, or an entry of the store for all nodes.
//!
//! Readers see it either before or after a change. Writers take turns. All methods block the calling thread.

use std::path::PathBuf;
use std::time::Duration;
use std::{fmt, fs, io};

use serde::Serialize;
use serde::de::DeserializeOwned;
use wharf_report::ShowPath as _;

use crate::json;
use crate::os::files::read_opened_text;
use crate::os::lock::lock;
use crate::os::private::{self, Durability, OpenMode};
use crate::store::{Document, Unedited};

/// How long a writer waits for its turn.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);

/// Where it is.
#[derive(Debug, Clone)]
pub struct SharedState(Place);

#[derive(Debug, Clone)]
enum Place {
    File(StateFile),
    Store(Document),
}

/// A file, in its folder.
#[derive(Debug, Clone)]
struct StateFile {
    folder: PathBuf,
    name: &'static str,
    max_size: u64,
    durability: Durability,
}

/// The place, as people are told of it.
impl fmt::Display for SharedState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Place::File(file) => write!(f, "{}", file.path().shown()),
            Place::Store(document) => write!(f, "{document}"),
        }
    }
}

impl SharedState {
    /// `max_size`: the bytes that are read at most.
    pub(crate) fn in_file(folder: PathBuf, name: &'static str, max_size: u64, durability: Durability) -> Self {
        Self(Place::File(StateFile { folder, name, max_size, durability }))
    }

    pub(crate) fn in_store(document: Document) -> Self {
        Self(Place::Store(document))
    }

    /// The entry of the store, if it is there.
    pub(crate) fn document(&self) -> Option<&Document> {
        match &self.0 {
            Place::File(_) => None,
            Place::Store(document) => Some(document),
        }
    }

    /// What is missing has the default.
    ///
    /// # Errors
    /// If others can write the file, it is damaged, or the store cannot be used.
    pub fn read<T: DeserializeOwned + Default>(&self) -> io::Result<T> {
        match &self.0 {
            Place::File(file) => file.read(),
            Place::Store(document) => of_entry(document.read().map_err(io::Error::other)?.as_deref()),
        }
    }

    /// Changes what is in it. It is written only if that differs. `edit` may run several times.
    ///
    /// # Errors
    /// That of `edit`, or if it cannot be read or written; it is then unchanged.
    pub fn edit<T, R, E>(&self, mut edit: impl FnMut(&mut T) -> Result<R, E>) -> Result<R, E>
    where
        T: Serialize + DeserializeOwned + Default + Clone + PartialEq,
        E: From<io::Error>,
    {
        let document = match &self.0 {
            Place::File(file) => return file.edit(edit),
            Place::Store(document) => document,
        };
        let edited = document.edit(|value| {
            let before: T = of_entry(value)?;
            let mut after = before.clone();
            let result = edit(&mut after)?;
            let text = (after != before).then(|| serde_json::to_vec(&after).map_err(io::Error::from)).transpose()?;
            Ok((text, result))
        });
        edited.map_err(|unedited| match unedited {
            Unedited::Store(error) => io::Error::other(error).into(),
            Unedited::Edit(error) => error,
        })
    }
}

/// What an entry of the store has.
fn of_entry<T: DeserializeOwned + Default>(value: Option<&[u8]>) -> io::Result<T> {
    let advice = "it is damaged: remove it from the store, and what it had is asked for again";
    value
        .map_or_else(|| Ok(T::default()), parsed)
        .map_err(|error| io::Error::new(error.kind(), format!("{error} ({advice})")))
}

/// The value of an entry or file.
///
/// # Errors
/// If it is damaged.
pub(crate) fn parsed<T: DeserializeOwned>(value: &[u8]) -> io::Result<T> {
    let text = str::from_utf8(value).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    json::read(text).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))
}

impl StateFile {
    fn path(&self) -> PathBuf {
        self.folder.join(self.name)
    }

    fn read<T: DeserializeOwned + Default>(&self) -> io::Result<T> {
        let (file, found) = match private::open(&self.path(), OpenMode::Read).map_err(io::Error::from) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(T::default()),
            opened => opened?,
        };
        parsed(read_opened_text(file, &found, self.max_size)?.as_bytes())
    }

    fn edit<T, R, E>(&self, mut edit: impl FnMut(&mut T) -> Result<R, E>) -> Result<R, E>
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
