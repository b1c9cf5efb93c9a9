//! The pin file, `lock.toml`: replaced atomically, by one process at a time.
//!
//! Its content is not interpreted here; a file that cannot be trusted or read is left unchanged.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;

use super::pin::{Pins, VERSION};
use crate::files::{self, FileError};

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

/// Identifies one state of the file: it is replaced, never modified.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Stamp(u64, Option<SystemTime>, u64);

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
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder).map_err(failed)?;
        // Dropping it releases the lock.
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
            DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
            let _turn = self.turn()?;
            let there = fs::symlink_metadata(self.folder.join(FILE)).map_or(0, |file| file.len().min(MAX_SIZE));
            self.write_next(&vec![b'#'; there as usize + ROOM])?;
            fs::remove_file(self.folder.join(NEXT))
        };
        attempt().map_err(|error| self.unwritable(&error))
    }

    pub(super) fn stamp(&self) -> Option<Stamp> {
        let file = fs::symlink_metadata(self.folder.join(FILE)).ok()?;
        Some(Stamp(file.ino(), file.modified().ok(), file.len()))
    }

    fn text(&self) -> Result<Option<String>, LockError> {
        let failed = |error: FileError| self.error(format!("read the pins: {error}"), None);
        let (file, found) = match files::open(&self.folder.join(FILE), OFlags::NOFOLLOW) {
            Err(FileError::System(error)) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(failed)?,
        };
        let folder = fs::symlink_metadata(&self.folder).map_err(|error| failed(error.into()))?;
        let no_folder = Some(("its folder is not a directory", "put the folder itself there"));
        let kind = if folder.is_dir() { None } else { no_folder };
        if let Some((why, hint)) = distrust(&found).or(kind).or_else(|| distrust(&folder)) {
            return Err(self.error(format!("trust the pins: {why}"), Some(hint)));
        }
        files::rest_of_text(file, &found, MAX_SIZE).map(Some).map_err(failed)
    }

    fn turn(&self) -> io::Result<File> {
        // As for reading: opening a FIFO would block until its other end is opened.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(flags.bits() as i32)
            .open(self.folder.join(TURN))?;
        let deadline = Instant::now() + PATIENCE;
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(file),
                Err(Errno::WOULDBLOCK) if Instant::now() < deadline => thread::sleep(LOOK),
                Err(Errno::WOULDBLOCK) => return Err(io::Error::other("another process does not release the lock")),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Readers see the old file or the new one, also after a crash.
    fn replace(&self, text: &str) -> io::Result<()> {
        self.write_next(text.as_bytes())?;
        fs::rename(self.folder.join(NEXT), self.folder.join(FILE))?;
        File::open(&self.folder)?.sync_all()
    }

    fn write_next(&self, bytes: &[u8]) -> io::Result<()> {
        let next = self.folder.join(NEXT);
        // Left there by a process that was killed.
        let _ = fs::remove_file(&next);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&next)?;
        let written = file.write_all(bytes).and_then(|()| file.sync_all());
        if written.is_err() {
            // Do not leave a partial file on a full disk.
            let _ = fs::remove_file(&next);
        }
        written
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
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Some(("the file or its folder is owned by another user", "chown both to the user that runs wharf"));
    }
    if found.mode() & 0o022 != 0 {
        return Some((
            "other users can write the file or its folder",
            "check what is in the file, then chmod go-w both",
        ));
    }
    None
}

#[cfg(test)]
mod tests;
