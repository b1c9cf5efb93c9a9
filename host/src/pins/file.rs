//! The pin file, `lock.toml`: replaced atomically, by one process at a time. Nodes that share a store have it there, as
//! one entry.
//!
//! Its content is not interpreted here. A file that is damaged or that others can write is left unchanged.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use wharf_report::{ShowPath as _, shell_word};

use super::pin::{FORMAT, Pin, Pins};
use crate::os::changes::Changes;
use crate::os::files::{self, FileError, Links};
use crate::os::lock::lock;
use crate::os::paths::absolute;
use crate::os::private::{self, Distrust, Durability, OpenMode, Rule};
use crate::store::{Document, DocumentWatch, StoreError, Unedited};

/// The entry of a store for several nodes.
pub const KEY: &str = "pins";
const FILE_NAME: &str = "lock.toml";
/// The new file before it is renamed; written only under the writers' lock.
const NEXT_FILE: &str = "lock.toml.next";
/// Locked by writers. A lock on the pin file itself would be lost when that is replaced.
const WRITER_LOCK: &str = "lock.toml.turn";
/// Bytes; one pin takes a few hundred.
const MAX_SIZE: u64 = 4 << 20;
/// Bytes from which on pins that no person needs are dropped. What people decide has the rest.
const FULL: usize = 3 << 20;
/// Bytes of a large pin, for write checks.
const LARGE_PIN: usize = 4 << 10;
/// Writers hold the lock for milliseconds; a stopped process must not block the others indefinitely.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// Why the pin file cannot be read or written. Reads after "failed to".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {place}")]
pub struct PinFileError {
    what: String,
    place: String,
    pub hint: Option<String>,
    /// A temporary error: read again later.
    pub temporary: bool,
    /// The file could be read, and not written.
    pub(super) of_writing: bool,
}

/// The pin file and its folder.
#[derive(Debug)]
pub struct PinFile {
    /// For what is only needed on this machine, also if the pins are in the store.
    folder: PathBuf,
    /// The pins of all nodes.
    shared: Option<Document>,
    /// The plugin folder that pins are recorded for.
    plugins: Option<String>,
}

impl PinFile {
    /// The pin file of that folder, which is created when something is first pinned.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder, shared: None, plugins: None }
    }

    /// The pins of all nodes. `folder`: as for [`PinFile::new`].
    pub fn in_store(folder: PathBuf, document: Document) -> Self {
        Self { folder, shared: Some(document), plugins: None }
    }

    /// Whether other nodes have the same pins.
    pub(super) fn is_shared(&self) -> bool {
        self.shared.is_some()
    }

    /// Records that folder of plugins in the pins that are written from now on.
    pub fn for_plugins(self, folder: &Path) -> Self {
        Self { plugins: absolute(folder).to_str().map(str::to_owned), ..self }
    }

    /// The pin with the place of its file, unless it was made for another plugin folder. Nodes have the same files, each
    /// under a path of its own: of these pins, the place alone is written.
    pub(super) fn with_place(&self, pin: Pin, file: &Path) -> Pin {
        let Some(plugins) = self.plugins.as_ref().filter(|own| pin.folder.as_ref().is_none_or(|of| of == *own)) else {
            return pin;
        };
        let place = absolute(file).strip_prefix(plugins).ok().and_then(Path::to_str).map(str::to_owned);
        Pin { folder: (!self.is_shared()).then(|| plugins.clone()), file: place, ..pin }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Reads the pins. A missing file has none.
    ///
    /// # Errors
    /// If others can write the file, it is damaged or of another format, or the store cannot be used.
    pub fn read(&self) -> Result<Pins, PinFileError> {
        match &self.shared {
            Some(document) => Ok(self.united(document.read().map_err(|error| self.away(&error))?)?.1),
            None => self.parse(self.text()?),
        }
    }

    /// What the store has, and the pins that hold on this machine. Until there are any in the store, those of its file do;
    /// what that revokes holds always.
    fn united(&self, value: Option<Vec<u8>>) -> Result<(Pins, Pins), PinFileError> {
        let mut own = self.of_machine().read()?;
        // The folder may be another one's.
        own.plugins.values_mut().for_each(|pin| pin.folder = None);
        let Some(value) = value else { return Ok((Pins::default(), own)) };
        let stored = self.parse(Some(self.utf8(value)?))?;
        Ok((stored.clone(), stored.and_revoked_by(own)))
    }

    /// The file of this machine, whatever is in the store.
    fn of_machine(&self) -> Self {
        Self { folder: self.folder.clone(), shared: None, plugins: None }
    }

    /// Plugins that a person has approved on this machine, and of which the store has no pin: another node has written
    /// there first.
    ///
    /// # Errors
    /// As [`PinFile::read`].
    pub fn left_behind(&self) -> Result<Vec<String>, PinFileError> {
        if self.shared.is_none() {
            return Ok(Vec::new());
        }
        let (own, pins) = (self.of_machine().read()?, self.read()?);
        let approved = own.plugins.iter().filter(|(_, pin)| pin.approved && pin.gone.is_none());
        Ok(approved.filter(|(name, _)| !pins.plugins.contains_key(*name)).map(|(name, _)| name.clone()).collect())
    }

    fn utf8(&self, value: Vec<u8>) -> Result<String, PinFileError> {
        String::from_utf8(value).map_err(|why| self.error(format!("read the pins: {why}"), None))
    }

    fn parse(&self, text: Option<String>) -> Result<Pins, PinFileError> {
        let Some(text) = text else { return Ok(Pins::default()) };
        let damaged =
            |what: String| self.error(what, Some("repair the file, or move it away to start without pins".into()));
        let mut pins: Pins = toml::from_str(&text).map_err(|error| {
            let line = error.span().map_or(0, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
            damaged(format!("read the pin file, line {line}: {}", error.message()))
        })?;
        if self.is_shared() {
            // From when the pins were those of one machine: the folder may be another one's.
            pins.plugins.values_mut().for_each(|pin| pin.folder = None);
        }
        match pins.version {
            FORMAT => Ok(pins),
            other => Err(damaged(format!("read the pin file: unknown format version {other}"))),
        }
    }

    /// Edits the pins. They are written only if they changed, or if the store has none yet and this machine has; they are
    /// on disk when this returns. `edit` may run several times. Blocks the calling thread.
    ///
    /// # Errors
    /// As [`PinFile::read`], or if they cannot be written; they are then unchanged.
    pub fn update<R>(&self, mut edit: impl FnMut(&mut Pins) -> R) -> Result<R, PinFileError> {
        if let Some(document) = &self.shared {
            return self.update_shared(document, edit);
        }
        let failed = |error: io::Error| self.unwritable(&error);
        private::create_folder(&self.folder).map_err(failed)?;
        let _lock = self.lock_for_writing().map_err(failed)?;
        let before = self.read()?;
        let mut pins = before.clone();
        let result = edit(&mut pins);
        pins.drop_expired(SystemTime::now());
        if pins != before {
            let text = bounded_text(&mut pins).map_err(failed)?;
            self.replace(&text).map_err(failed)?;
        }
        Ok(result)
    }

    fn update_shared<R>(&self, document: &Document, mut edit: impl FnMut(&mut Pins) -> R) -> Result<R, PinFileError> {
        let mut is_first = false;
        let edited = document.edit(|value| {
            let (stored, before) = self.united(value.map(<[u8]>::to_vec))?;
            let mut pins = before.clone();
            let result = edit(&mut pins);
            pins.note_taken_back(&before);
            pins.drop_expired(SystemTime::now());
            // Those of the file alone stay there.
            pins.own.clear();
            let failed = |error: io::Error| self.error(format!("write the pins: {error}"), None);
            let text = (pins != stored).then(|| bounded_text(&mut pins)).transpose().map_err(failed)?;
            is_first = value.is_none() && text.is_some();
            Ok((text.map(String::into_bytes), result))
        });
        if is_first && edited.is_ok() {
            tracing::warn!(
                hint = "to take along those of a machine, empty the store, and run there: wharf store migrate",
                "the first pins were written to the store, so approvals in lock.toml of other machines do not count: {document}"
            );
        }
        edited.map_err(|unedited| match unedited {
            Unedited::Store(error) => PinFileError { of_writing: true, ..self.away(&error) },
            Unedited::Edit(error) => error,
        })
    }

    /// What the file has, as the entry of a store has it.
    ///
    /// # Errors
    /// As [`PinFile::read`].
    pub fn entry(&self) -> Result<Option<Vec<u8>>, PinFileError> {
        let text = self.text()?;
        self.parse(text.clone())?;
        Ok(text.map(String::into_bytes))
    }

    /// Replaces the file by what the entry of a store has. Blocks the calling thread.
    ///
    /// # Errors
    /// If that has no pins, or they cannot be written.
    pub fn put_entry(&self, value: Vec<u8>) -> Result<(), PinFileError> {
        let text = self.utf8(value)?;
        self.parse(Some(text.clone()))?;
        let failed = |error: io::Error| self.unwritable(&error);
        private::create_folder(&self.folder).map_err(failed)?;
        let _lock = self.lock_for_writing().map_err(failed)?;
        self.replace(&text).map_err(failed)
    }

    /// Checks whether [`PinFile::update`] could write: writes a file of the size of the pins and one
    /// more, and deletes it. Of a store it is known that it answers.
    ///
    /// # Errors
    /// If it could not.
    pub fn try_write(&self) -> Result<(), PinFileError> {
        if let Some(document) = &self.shared {
            let read = document.read().map(drop);
            return read.map_err(|error| PinFileError { of_writing: true, ..self.away(&error) });
        }
        let attempt = || -> io::Result<()> {
            private::create_folder(&self.folder)?;
            let _lock = self.lock_for_writing()?;
            let size = fs::symlink_metadata(self.folder.join(FILE_NAME)).map_or(0, |file| file.len().min(MAX_SIZE));
            let next = self.folder.join(NEXT_FILE);
            private::write(&next, &[&vec![b'#'; size as usize + LARGE_PIN]], Durability::Synced)?;
            fs::remove_file(next)
        };
        attempt().map_err(|error| self.unwritable(&error))
    }

    /// Detects changes from now on.
    pub(super) fn changes(&self) -> PinChanges {
        PinChanges {
            file: Changes::of(vec![self.folder.join(FILE_NAME)], Links::NotFollowed),
            shared: self.shared.as_ref().map(Document::watch),
        }
    }

    fn text(&self) -> Result<Option<String>, PinFileError> {
        let failed = |error: FileError| PinFileError {
            temporary: error.is_temporary(),
            ..self.error(format!("read the pin file: {error}"), None)
        };
        let (file, found) = match files::open(&self.folder.join(FILE_NAME), Links::NotFollowed) {
            Err(FileError::System(error)) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(failed)?,
        };
        let folder = fs::symlink_metadata(&self.folder).map_err(|error| failed(error.into()))?;
        let distrusted = |found: &Metadata| private::distrust(found, Rule::Own);
        if let Some(why) = distrusted(&found) {
            return Err(self.untrusted("it", why));
        }
        if !folder.is_dir() {
            let hint = format!("replace it with a directory: {}", self.folder.shown());
            return Err(self.error("read the pin file: its folder is not a directory".into(), Some(hint)));
        }
        if let Some(why) = distrusted(&folder) {
            return Err(self.untrusted("its folder", why));
        }
        files::read_opened_text(file, &found, MAX_SIZE).map(Some).map_err(failed)
    }

    fn lock_for_writing(&self) -> io::Result<File> {
        let (file, _) = private::open(&self.folder.join(WRITER_LOCK), OpenMode::Lock).map_err(io::Error::other)?;
        lock(&file, LOCK_TIMEOUT)?;
        Ok(file)
    }

    /// Readers see either the old file or the new one, also after a crash.
    fn replace(&self, text: &str) -> io::Result<()> {
        let next = self.folder.join(NEXT_FILE);
        private::write(&next, &[text.as_bytes()], Durability::Synced)?;
        fs::rename(next, self.folder.join(FILE_NAME))?;
        private::sync_folder(&self.folder)
    }

    fn unwritable(&self, error: &io::Error) -> PinFileError {
        let hint = "free disk space, or make its folder writable by this user; a server retries by itself";
        let of_writing = true;
        PinFileError { of_writing, ..self.error(format!("write the pin file: {error}"), Some(hint.into())) }
    }

    /// `what` may have been written by others. The hint covers the file and its folder.
    fn untrusted(&self, what: &str, why: Distrust) -> PinFileError {
        let (why, command) = match why {
            Distrust::OtherOwner => ("another user owns", "sudo chown \"$(id -un)\""),
            Distrust::OthersWrite => ("other users can write", "chmod go-w"),
        };
        let (folder, file) = (shell_word(&self.folder), shell_word(&self.folder.join(FILE_NAME)));
        let hint = format!("check the content of the file, then run: {command} {folder} {file}");
        self.error(format!("read the pin file: {why} {what}"), Some(hint))
    }

    /// The store cannot be used now.
    fn away(&self, error: &StoreError) -> PinFileError {
        PinFileError { temporary: true, ..self.error(format!("use the pins: {error}"), None) }
    }

    fn error(&self, what: String, hint: Option<String>) -> PinFileError {
        let place = match &self.shared {
            Some(document) => document.to_string(),
            None => self.folder.join(FILE_NAME).shown().to_string(),
        };
        PinFileError { what, place, hint, temporary: false, of_writing: false }
    }
}

/// See [`PinFile::changes`].
pub(super) struct PinChanges {
    file: Changes,
    shared: Option<DocumentWatch>,
}

impl PinChanges {
    /// Whether the pins may have changed since the last call; the caller must then read them.
    pub(super) fn take(&mut self) -> bool {
        // The file is replaced atomically: there is no need to wait until it is stable.
        let of_file = self.file.take();
        self.shared.as_mut().is_some_and(DocumentWatch::take) || of_file
    }
}

/// The text of the pins, without some of those that were pinned automatically and whose files are gone, if it would be
/// too large: whoever adds files and removes them again could fill the file otherwise.
///
/// # Errors
/// If it has more than [`MAX_SIZE`] bytes all the same, which no server would read.
fn bounded_text(pins: &mut Pins) -> io::Result<String> {
    loop {
        let text = toml::to_string(pins).map_err(io::Error::other)?;
        if text.len() <= FULL || !pins.drop_half_of_gone() {
            return match text.len() as u64 <= MAX_SIZE {
                true => Ok(text),
                false => Err(io::Error::other(format!("it would have more than {} MiB", MAX_SIZE >> 20))),
            };
        }
    }
}

#[cfg(test)]
mod tests;
