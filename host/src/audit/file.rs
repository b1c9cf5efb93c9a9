//! The file of the log: one for all processes of a user, appended to under a lock.
//!
//! The lock is on a separate file, since the log itself is rotated. Each batch checks the file again:
//! another process may have appended to it, or something else may have moved or changed it, which is
//! recorded.

use std::fs::{self, File, Metadata};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use wharf_report::ShowPath as _;

use super::AuditSettings;
use super::chain;
use super::line::{Link, MAX_LINE};
use crate::os::files::{self, FileError, Links};
use crate::os::lock::lock;
use crate::os::paths::{folder_of, with_suffix};
use crate::os::private::{self, Distrust, OpenMode, Rule};
use crate::os::stamp::Identity;
use crate::os::{self, limits};

/// The suffix of the lock file.
const LOCK: &str = ".lock";

/// Bytes read first to find the last line of a file.
const TAIL_SIZE: u64 = 4 << 10;

/// Bytes reserved for the records of all concurrent calls, about 160 of up to 600 bytes.
const RESERVE: u64 = 256 << 10;
/// As [`RESERVE`], with arguments and results.
const RESERVE_BODIES: u64 = 8 << 20;

/// Why the log cannot be opened or written. Reads after "failed to".
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("open the audit log: {0}")]
    Io(#[from] io::Error),
    #[error("open the audit log: {why}: {}", .path.shown())]
    Untrusted {
        path: PathBuf,
        why: &'static str,
        /// The command that repairs this, to which the path has to be appended.
        repair: Option<&'static str>,
    },
    #[error("lock the audit log: {error}: {}", .path.shown())]
    Locked { path: PathBuf, error: io::Error },
    #[error("reserve space for the audit log: {error}: {}", .path.shown())]
    NoSpace { path: PathBuf, error: io::Error },
}

/// The log file.
pub(super) struct LogFile {
    path: PathBuf,
    lock: File,
    size: u64,
    files: u32,
    /// The state of the file after this process last wrote to it.
    last_write: Option<LastWrite>,
    /// Bytes that are kept allocated after the end, so that records of running calls can be written even
    /// if the disk gets full. 0: none.
    reserve: u64,
    /// The file that space was last reserved in, and the end of that.
    reserved: Option<(Identity, u64)>,
    /// The file last written to, if space is reserved in it.
    current: Option<File>,
}

#[derive(Clone, Copy)]
struct LastWrite {
    file: Identity,
    length: u64,
    last: Link,
}

/// The state of the file before a batch.
pub(super) struct FoundState {
    /// The last line was incomplete, and was removed.
    pub(super) incomplete: bool,
    pub(super) altered: Option<Altered>,
}

/// Something else changed what this process had written.
pub(super) struct Altered {
    pub(super) why: &'static str,
    /// The last record that this process wrote.
    pub(super) last: Link,
}

impl OpenError {
    /// The command that repairs the cause or shows it, and the path that it is to be run with.
    pub fn repair(&self) -> Option<(&'static str, &Path)> {
        match self {
            Self::Untrusted { path, repair, .. } => repair.map(|command| (command, path.as_path())),
            Self::Locked { path, .. } => Some(("lsof", path)),
            Self::Io(_) | Self::NoSpace { .. } => None,
        }
    }
}

impl LogFile {
    pub(super) fn open(settings: &AuditSettings) -> Result<Self, OpenError> {
        let path = settings.path.clone();
        if let Some(folder) = folder_of(&path) {
            private::create_folder(folder).map_err(|error| at(folder, &error))?;
        }
        let (lock, _) = open(&with_suffix(&path, LOCK))?;
        open(&path)?;
        let reserve = match (settings.required, settings.bodies) {
            (false, _) => 0,
            (true, false) => RESERVE,
            (true, true) => RESERVE_BODIES,
        };
        let files = settings.files.max(2);
        Ok(Self { path, lock, size: settings.size, files, last_write: None, reserve, reserved: None, current: None })
    }

    /// Appends complete lines. `lines` gets the link of the last line, which it advances, the buffer to
    /// append to, and the state of the file. If this fails, the file is unchanged.
    ///
    /// # Errors
    /// If the file cannot be opened or written, another process holds its lock for `timeout`, or other
    /// users can write it.
    pub(super) fn append(
        &mut self,
        timeout: Duration,
        lines: impl FnOnce(&mut Link, &mut Vec<u8>, &FoundState),
    ) -> Result<(), OpenError> {
        // If the lock file was replaced, other processes lock the new one.
        if os::is_removed(&self.lock)? {
            (self.lock, _) = open(&self.lock_path())?;
        }
        lock(&self.lock, timeout).map_err(|error| OpenError::Locked { path: self.lock_path(), error })?;
        let appended = self.append_locked(lines);
        // On an error, the lock ends with the process at the latest.
        let _ = self.lock.unlock();
        appended
    }

    fn append_locked(&mut self, lines: impl FnOnce(&mut Link, &mut Vec<u8>, &FoundState)) -> Result<(), OpenError> {
        let (mut file, mut found) = open(&self.path)?;
        let mut identity = Identity::of_open(&file)?;
        let same = |last_write: &LastWrite| (last_write.file, last_write.length) == (identity, found.len());
        let (mut link, complete, altered) = match self.last_write {
            Some(last_write) if same(&last_write) => (last_write.last, found.len(), None),
            last_write => {
                let end = self.end(&mut file, found.len())?;
                let why = match last_write {
                    _ if end.is_none() => Some("its last line is longer than any record"),
                    Some(last_write) => self.altered(&last_write, &mut file, &found)?,
                    None => None,
                };
                if end.is_none() {
                    // Kept as it is, for a person to look at; the chain begins again.
                    self.rotate()?;
                    (file, found) = open(&self.path)?;
                    identity = Identity::of_open(&file)?;
                }
                let (link, complete) = end.unwrap_or((Link::START, 0));
                let last = last_write.map_or(Link::START, |last_write| last_write.last);
                (link, complete, why.map(|why| Altered { why, last }))
            }
        };
        let incomplete = complete < found.len();
        if incomplete {
            file.set_len(complete)?;
        }
        let mut bytes = Vec::new();
        lines(&mut link, &mut bytes, &FoundState { incomplete, altered });
        if let Err(error) = file.write_all(&bytes) {
            // Truncating also frees the reserved space.
            self.reserved = None;
            file.set_len(complete)?;
            return Err(error.into());
        }
        let length = complete + bytes.len() as u64;
        self.last_write = Some(LastWrite { file: identity, length, last: link });
        if length >= self.size {
            if self.reserve > 0 {
                file.set_len(length)?;
            }
            if let Err(error) = self.rotate() {
                tracing::warn!("failed to rotate the audit log, it keeps growing: {error}: {}", self.path.shown());
            }
        }
        self.current = (self.reserve > 0).then_some(file);
        Ok(())
    }

    /// How the file was changed since this process wrote to it, other than by processes that append to it
    /// and rotate it.
    fn altered(&self, last_write: &LastWrite, file: &mut File, found: &Metadata) -> io::Result<Option<&'static str>> {
        let is_same = |file: &File| Identity::of_open(file).map(|file| file == last_write.file);
        let holds = |file: &mut File, found: &Metadata| -> io::Result<bool> {
            let tail = if found.len() < last_write.length { Tail::Empty } else { tail(file, last_write.length)? };
            Ok(tail.link() == last_write.last)
        };
        if is_same(file)? {
            let shorter = found.len() < last_write.length;
            return Ok(match holds(file, found)? {
                true => None,
                false if shorter => Some("it was truncated"),
                false => Some("records in it were changed"),
            });
        }
        let mut rotated = 0;
        for number in 1..self.files {
            let Ok((mut file, found)) = files::open(&generation(&self.path, number), Links::Followed) else { continue };
            if is_same(&file)? {
                return Ok((!holds(&mut file, &found)?).then_some("records were changed after rotation"));
            }
            rotated += 1;
        }
        // The oldest file is deleted by rotation. An empty file does not matter.
        let was_rotated_out = rotated == self.files - 1 || last_write.last == Link::START;
        Ok((!was_rotated_out).then_some("it was removed, moved or replaced"))
    }

    /// Reserves disk space for the next lines, if the file system supports that.
    ///
    /// # Errors
    /// If there is no space.
    pub(super) fn reserve(&mut self) -> Result<(), OpenError> {
        let (Some(file), Some(last_write)) = (&self.current, &self.last_write) else { return Ok(()) };
        let enough =
            |(file, end): (Identity, u64)| file == last_write.file && end >= last_write.length + self.reserve / 2;
        if self.reserved.is_some_and(enough) {
            return Ok(());
        }
        let end = last_write.length + self.reserve;
        let reserved = match limits::file_size() {
            Some(limit) if end > limit => Err(io::ErrorKind::FileTooLarge.into()),
            _ => os::reserve(file, last_write.length, self.reserve),
        };
        match reserved {
            Ok(()) => {
                self.reserved = Some((last_write.file, end));
                Ok(())
            }
            Err(error) => Err(OpenError::NoSpace { path: self.path.clone(), error }),
        }
    }

    /// The link of the last complete line, and where it ends. In an empty file: that of the last rotated
    /// file, and 0. `None`: the last line is longer than any record.
    fn end(&self, file: &mut File, length: u64) -> io::Result<Option<(Link, u64)>> {
        match tail(file, length)? {
            Tail::Overlong => return Ok(None),
            Tail::Empty => {}
            line @ Tail::Line { end, .. } => return Ok(Some((line.link(), end))),
        }
        let before = match files::open(&generation(&self.path, 1), Links::Followed) {
            Ok((mut before, found)) => tail(&mut before, found.len())?,
            Err(FileError::System(error)) if error.kind() == io::ErrorKind::NotFound => Tail::Empty,
            Err(error) => return Err(io::Error::other(error)),
        };
        Ok(Some((before.link(), 0)))
    }

    fn lock_path(&self) -> PathBuf {
        with_suffix(&self.path, LOCK)
    }

    /// Rotates the files; the oldest one is overwritten.
    fn rotate(&self) -> io::Result<()> {
        for number in (1..self.files).rev() {
            let younger = if number == 1 { self.path.clone() } else { generation(&self.path, number - 1) };
            match fs::rename(younger, generation(&self.path, number)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Also links to a line that is not a record: [`super::verify`] reports that break.
fn link(line: &[u8]) -> Link {
    chain::link(line).unwrap_or(Link { seq: 0, hash: blake3::hash(line) })
}

/// What a file ends with.
enum Tail {
    /// It has no complete line.
    Empty,
    /// The last complete line without its line break, and the position after that.
    Line { text: Vec<u8>, end: u64 },
    /// That line, or the incomplete one after it, is longer than any record.
    Overlong,
}

impl Tail {
    fn link(&self) -> Link {
        match self {
            Self::Line { text, .. } => link(text),
            Self::Empty | Self::Overlong => Link::START,
        }
    }
}

/// Reads a file from its end, and no more than two lines have.
fn tail(file: &mut File, length: u64) -> io::Result<Tail> {
    let mut size = TAIL_SIZE;
    loop {
        let start = length.saturating_sub(size);
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(start))?;
        (&mut *file).take(length - start).read_to_end(&mut bytes)?;
        let last = memchr::memrchr(b'\n', &bytes);
        // Of the lines that begin in these bytes.
        let incomplete = bytes.len() - last.map_or(0, |last| last + 1);
        if incomplete >= MAX_LINE {
            return Ok(Tail::Overlong);
        }
        if let Some(last) = last {
            let before = memchr::memrchr(b'\n', &bytes[..last]);
            if let Some(from) = before.map(|at| at + 1).or((start == 0).then_some(0)) {
                let overlong = last + 1 - from > MAX_LINE;
                let line = || Tail::Line { text: bytes[from..last].to_vec(), end: start + last as u64 + 1 };
                return Ok(if overlong { Tail::Overlong } else { line() });
            }
            if last >= MAX_LINE {
                return Ok(Tail::Overlong);
            }
        } else if start == 0 {
            return Ok(Tail::Empty);
        }
        size *= 4;
    }
}

/// Opens or creates a file for appending that no other user can write, in a folder where no other user
/// can replace it.
fn open(path: &Path) -> Result<(File, Metadata), OpenError> {
    let untrusted = |path: &Path, why, repair| OpenError::Untrusted { path: path.to_owned(), why, repair };
    if let Some(folder) = folder_of(path) {
        let found = fs::metadata(folder).map_err(|error| at(folder, &error))?;
        if private::distrust(&found, Rule::Container).is_some() {
            return Err(untrusted(folder, "other users can write to its folder", Some("chmod go-w")));
        }
    }
    private::open(path, OpenMode::Append).map_err(|error| match error {
        FileError::NotAFile(_) => untrusted(path, "it is not a regular file", None),
        FileError::Untrusted(Distrust::OtherOwner) => {
            untrusted(path, "another user owns it", Some("sudo chown \"$(id -un)\""))
        }
        FileError::Untrusted(Distrust::OthersWrite) => untrusted(path, "other users can write it", Some("chmod go-w")),
        FileError::System(error) => at(path, &error).into(),
        error => io::Error::other(format!("{error}: {}", path.shown())).into(),
    })
}

/// The error with its path.
fn at(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{error}: {}", path.shown()))
}

/// The path of the `number`th rotated file; 1 is the newest.
fn generation(path: &Path, number: u32) -> PathBuf {
    with_suffix(path, &format!(".{number}"))
}

/// All files that a log may have, the oldest first, and its lock.
pub fn places(path: &Path, files: u32) -> impl Iterator<Item = PathBuf> {
    let rotated = (1..files).rev().map(|number| generation(path, number));
    rotated.chain([path.to_owned(), with_suffix(path, LOCK)])
}

/// The existing files of a log, the oldest first.
pub fn generations(path: &Path, files: u32) -> Vec<PathBuf> {
    let rotated = (1..files).rev().map(|number| generation(path, number));
    rotated.chain([path.to_owned()]).filter(|path| path.exists()).collect()
}
