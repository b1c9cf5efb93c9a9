//! The pin file, `lock.toml`: replaced atomically, by one process at a time.
//!
//! Its content is not interpreted here; a file that cannot be trusted or read is left unchanged.

use std::fs::{self, File, Metadata, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use super::pin::{Pins, VERSION};
use crate::os::changes::Changes;
use crate::os::files::{self, FileError, Links};
use crate::os::private::{self, Distrust, Durability, OpenMode, Rule};

const FILE: &str = "lock.toml";
/// Where the next file is written, only under the lock.
const NEXT: &str = "lock.toml.next";
/// The lock file for writers. The pin file itself is replaced, and a lock on it would go with it.
const TURN: &str = "lock.toml.turn";
/// Bytes; a pin has some hundreds.
const MAX_SIZE: u64 = 4 << 20;
/// Bytes of a large pin.
const ROOM: usize = 4 << 10;
/// Others hold the lock for milliseconds; a stopped process must not block all.
const PATIENCE: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(5);

/// Why the pins cannot be used. Reads after "failed to".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {}", path.display())]
pub struct LockError {
    what: String,
    path: PathBuf,
    pub hint: Option<&'static str>,
}

/// The file and its folder.
#[derive(Debug)]
pub struct Lock {
    folder: PathBuf,
}

impl Lock {
    /// In that folder, which is made when something is first pinned.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What is pinned. Without a file nothing is.
    ///
    /// # Errors
    /// If others could have written the file, or it is not what this version writes.
    pub fn read(&self) -> Result<Pins, LockError> {
        let Some(text) = self.text()? else { return Ok(Pins::default()) };
        let damaged = |what: String| self.error(what, Some("repair it, or move it away; its pins are then lost"));
        let pins: Pins = toml::from_str(&text).map_err(|error| {
            let line = error.span().map_or(0, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
            damaged(format!("read the pins, line {line}: {}", error.message()))
        })?;
        match pins.version {
            VERSION => Ok(pins),
            other => Err(damaged(format!("read pins of format {other}"))),
        }
    }

    /// Changes what is pinned, on the calling thread. The file is written if there is a change,
    /// and is on the disk when this returns.
    ///
    /// # Errors
    /// As [`Lock::read`], or if it cannot be written; the file is then as it was.
    pub fn update<R>(&self, edit: impl FnOnce(&mut Pins) -> R) -> Result<R, LockError> {
        let failed = |error: io::Error| self.unwritable(&error);
        private::create_folder(&self.folder).map_err(failed)?;
        // Dropping it ends the turn.
        let _turn = self.turn().map_err(failed)?;
        let before = self.read()?;
        let mut pins = before.clone();
        let result = edit(&mut pins);
        pins.forget(SystemTime::now());
        if pins != before {
            let text = toml::to_string(&pins).map_err(|error| failed(io::Error::other(error)))?;
            self.replace(&text).map_err(failed)?;
        }
        Ok(result)
    }

    /// Writes the current pins and one more to a file beside it, and deletes that: checks whether
    /// [`Lock::update`] can write.
    ///
    /// # Errors
    /// If it could not.
    pub fn try_write(&self) -> Result<(), LockError> {
        let attempt = || -> io::Result<()> {
            private::create_folder(&self.folder)?;
            let _turn = self.turn()?;
            let there = fs::symlink_metadata(self.folder.join(FILE)).map_or(0, |file| file.len().min(MAX_SIZE));
            let next = self.folder.join(NEXT);
            private::write(&next, &[&vec![b'#'; there as usize + ROOM]], Durability::Synced)?;
            fs::remove_file(next)
        };
        attempt().map_err(|error| self.unwritable(&error))
    }

    /// Of the file, from now on.
    pub(super) fn changes(&self) -> Changes {
        Changes::of(vec![self.folder.join(FILE)], Links::NotFollowed)
    }

    fn text(&self) -> Result<Option<String>, LockError> {
        let failed = |error: FileError| self.error(format!("read the pins: {error}"), None);
        let (file, found) = match files::open(&self.folder.join(FILE), Links::NotFollowed) {
            Err(FileError::System(error)) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(failed)?,
        };
        let folder = fs::symlink_metadata(&self.folder).map_err(|error| failed(error.into()))?;
        let no_folder = Some(("its folder is not a directory", "put the folder itself there"));
        let kind = if folder.is_dir() { None } else { no_folder };
        if let Some((why, hint)) = distrust(&found).or(kind).or_else(|| distrust(&folder)) {
            return Err(self.error(format!("trust the pins: {why}"), Some(hint)));
        }
        files::read_opened_text(file, &found, MAX_SIZE).map(Some).map_err(failed)
    }

    fn turn(&self) -> io::Result<File> {
        let (file, _) = private::open(&self.folder.join(TURN), OpenMode::Lock).map_err(io::Error::other)?;
        let deadline = Instant::now() + PATIENCE;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => thread::sleep(LOOK),
                Err(TryLockError::WouldBlock) => {
                    return Err(io::Error::other("another process does not release the lock"));
                }
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }

    /// Readers see the old file or the new one, also after a crash.
    fn replace(&self, text: &str) -> io::Result<()> {
        let next = self.folder.join(NEXT);
        private::write(&next, &[text.as_bytes()], Durability::Synced)?;
        fs::rename(next, self.folder.join(FILE))?;
        private::sync_folder(&self.folder)
    }

    fn unwritable(&self, error: &io::Error) -> LockError {
        self.error(
            format!("write the pins: {error}"),
            Some("free disk space, or make that folder writable by this user; it is retried automatically"),
        )
    }

    fn error(&self, what: String, hint: Option<&'static str>) -> LockError {
        LockError { what, path: self.folder.join(FILE), hint }
    }
}

/// Why the file may have been written by others, and a hint.
fn distrust(found: &Metadata) -> Option<(&'static str, &'static str)> {
    private::distrust(found, Rule::Own).map(|why| match why {
        Distrust::OtherOwner => {
            ("the file or its folder is owned by another user", "chown both to the user that runs wharf")
        }
        Distrust::OthersWrite => {
            ("other users can write the file or its folder", "check what is in the file, then chmod go-w both")
        }
    })
}

#[cfg(test)]
mod tests;
