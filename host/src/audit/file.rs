//! The file of the log: one for all processes of a user, appended to under a lock.
//!
//! A lock file of its own holds the lock, since the log itself is put aside when it is large.
//! Each batch looks anew at what is there: another process may have written, or somebody may
//! have moved the file away or changed it, which is told.

use std::fs::{self, File, Metadata};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use super::Settings;
use super::chain;
use super::line::Link;
use crate::os::files::{self, FileError, Links};
use crate::os::private::{self, Distrust, OpenMode, Rule};
use crate::os::stamp::Identity;
use crate::os::{self, limits};

/// How much of a file is looked at first for its last line.
const TAIL: u64 = 4 << 10;

/// For the records of all calls that may run at once, some 160, of up to 600 bytes each.
const RESERVE: u64 = 256 << 10;
/// The same with arguments and results.
const RESERVE_BODIES: u64 = 8 << 20;

/// Why there is no log.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("open the audit log: {0}")]
    Io(#[from] io::Error),
    #[error("trust the audit log: {why}: {}", .path.display())]
    Untrusted { path: PathBuf, why: &'static str },
    #[error("reserve space for the audit log: {error}: {}", .path.display())]
    NoRoom { path: PathBuf, error: io::Error },
}

/// The log of this process's settings.
pub(super) struct LogFile {
    path: PathBuf,
    lock: File,
    size: u64,
    files: u32,
    /// How this process left the file.
    left: Option<Left>,
    /// Bytes on the disk that are kept free for the next lines. Records of calls that have begun
    /// then find their place, however full the disk gets meanwhile.
    reserve: u64,
    /// Of this file, up to here.
    reserved: Option<(Identity, u64)>,
    /// The file that was written last.
    current: Option<File>,
}

#[derive(Clone, Copy)]
struct Left {
    file: Identity,
    length: u64,
    last: Link,
}

/// What was found in the file before a batch.
pub(super) struct Found {
    /// The last line had no end.
    pub(super) cut: bool,
    pub(super) altered: Option<Altered>,
}

/// Somebody else changed what this process had written.
pub(super) struct Altered {
    pub(super) why: &'static str,
    /// The last record that this process knows of.
    pub(super) last: Link,
}

impl LogFile {
    pub(super) fn open(settings: &Settings) -> Result<Self, OpenError> {
        let path = settings.path.clone();
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            private::create_folder(folder)
                .map_err(|error| io::Error::new(error.kind(), format!("{error}: {}", folder.display())))?;
            if private::distrust(&fs::metadata(folder)?, Rule::Container).is_some() {
                return Err(OpenError::Untrusted {
                    path: folder.to_owned(),
                    why: "other users can write to its folder",
                });
            }
        }
        let (lock, _) = open(&with_suffix(&path, "lock"))?;
        open(&path)?;
        let reserve = match (settings.required, settings.bodies) {
            (false, _) => 0,
            (true, false) => RESERVE,
            (true, true) => RESERVE_BODIES,
        };
        let files = settings.files.max(2);
        Ok(Self { path, lock, size: settings.size, files, left: None, reserve, reserved: None, current: None })
    }

    /// Appends whole lines, which `lines` puts into its second argument. They follow its first,
    /// which it moves on; its third is what was found there. If this fails, the file is as it
    /// was.
    ///
    /// # Errors
    /// If it cannot be opened, locked or written, or is not to be trusted any more.
    pub(super) fn append(&mut self, lines: impl FnOnce(&mut Link, &mut Vec<u8>, &Found)) -> Result<(), OpenError> {
        // Another process would lock the file that stands there now.
        if os::is_removed(&self.lock)? {
            (self.lock, _) = open(&with_suffix(&self.path, "lock"))?;
        }
        self.lock.lock()?;
        let appended = self.append_locked(lines);
        // The lock goes with the process at the latest.
        let _ = self.lock.unlock();
        appended
    }

    fn append_locked(&mut self, lines: impl FnOnce(&mut Link, &mut Vec<u8>, &Found)) -> Result<(), OpenError> {
        let (mut file, found) = open(&self.path)?;
        let identity = Identity::of_open(&file)?;
        let same = |left: &Left| (left.file, left.length) == (identity, found.len());
        let (mut link, whole, altered) = match self.left {
            Some(left) if same(&left) => (left.last, found.len(), None),
            left => {
                let (link, whole) = self.end(&mut file, found.len())?;
                let why = left.map(|left| self.altered(&left, &mut file, &found)).transpose()?.flatten();
                (link, whole, left.zip(why).map(|(left, why)| Altered { why, last: left.last }))
            }
        };
        let cut = whole < found.len();
        if cut {
            file.set_len(whole)?;
        }
        let mut bytes = Vec::new();
        lines(&mut link, &mut bytes, &Found { cut, altered });
        if let Err(error) = file.write_all(&bytes) {
            // That gives up what was reserved, too.
            self.reserved = None;
            file.set_len(whole)?;
            return Err(error.into());
        }
        let length = whole + bytes.len() as u64;
        self.left = Some(Left { file: identity, length, last: link });
        if length >= self.size {
            if self.reserve > 0 {
                file.set_len(length)?;
            }
            if let Err(error) = self.put_aside() {
                tracing::warn!("failed to rotate the audit log, it keeps growing: {error}: {}", self.path.display());
            }
        }
        self.current = (self.reserve > 0).then_some(file);
        Ok(())
    }

    /// How the file was changed since this process left it, if not by one that appends to it and
    /// puts it aside as this one does.
    fn altered(&self, left: &Left, file: &mut File, found: &Metadata) -> io::Result<Option<&'static str>> {
        let is_left = |file: &File| Identity::of_open(file).map(|file| file == left.file);
        let holds = |file: &mut File, found: &Metadata| -> io::Result<bool> {
            let line = if found.len() < left.length { None } else { last_line(file, left.length)? };
            Ok(line.map_or(Link::START, |(line, _)| link(&line)) == left.last)
        };
        if is_left(file)? {
            let shorter = found.len() < left.length;
            return Ok(match holds(file, found)? {
                true => None,
                false if shorter => Some("it was truncated"),
                false => Some("records in it were changed"),
            });
        }
        let mut aside = 0;
        for number in 1..self.files {
            let Ok((mut file, found)) = files::open(&generation(&self.path, number), Links::Followed) else { continue };
            if is_left(&file)? {
                return Ok((!holds(&mut file, &found)?).then_some("records were changed after rotation"));
            }
            aside += 1;
        }
        // The oldest one goes. A file that nothing was ever written to is not missed.
        let went = aside == self.files - 1 || left.last == Link::START;
        Ok((!went).then_some("it was removed, moved or replaced"))
    }

    /// Reserves room on the disk for the next lines, where the file system can do that.
    ///
    /// # Errors
    /// If there is none.
    pub(super) fn reserve(&mut self) -> Result<(), OpenError> {
        let (Some(file), Some(left)) = (&self.current, &self.left) else { return Ok(()) };
        let enough = |(file, end): (Identity, u64)| file == left.file && end >= left.length + self.reserve / 2;
        if self.reserved.is_some_and(enough) {
            return Ok(());
        }
        let end = left.length + self.reserve;
        let reserved = match limits::file_size() {
            Some(limit) if end > limit => Err(io::ErrorKind::FileTooLarge.into()),
            _ => os::reserve(file, left.length, self.reserve),
        };
        match reserved {
            Ok(()) => {
                self.reserved = Some((left.file, end));
                Ok(())
            }
            Err(error) => Err(OpenError::NoRoom { path: self.path.clone(), error }),
        }
    }

    /// The last line, and where it ends. In an empty file that is the last one of the file before.
    fn end(&self, file: &mut File, length: u64) -> io::Result<(Link, u64)> {
        if let Some((line, end)) = last_line(file, length)? {
            return Ok((link(&line), end));
        }
        let line = match files::open(&generation(&self.path, 1), Links::Followed) {
            Ok((mut before, found)) => last_line(&mut before, found.len())?,
            Err(FileError::System(error)) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(io::Error::other(error)),
        };
        Ok((line.map_or(Link::START, |(line, _)| link(&line)), 0))
    }

    /// Makes room for the next file; the oldest one goes.
    fn put_aside(&self) -> io::Result<()> {
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

/// A line that is no record is followed all the same: where the chain breaks is for
/// [`super::verify`] to say.
fn link(line: &[u8]) -> Link {
    chain::link(line).unwrap_or(Link { seq: 0, hash: blake3::hash(line) })
}

/// The last whole line without its end, and the place behind that.
fn last_line(file: &mut File, length: u64) -> io::Result<Option<(Vec<u8>, u64)>> {
    let mut size = TAIL;
    loop {
        let start = length.saturating_sub(size);
        let mut tail = Vec::new();
        file.seek(SeekFrom::Start(start))?;
        (&mut *file).take(length - start).read_to_end(&mut tail)?;
        if let Some(end) = memchr::memrchr(b'\n', &tail) {
            let before = memchr::memrchr(b'\n', &tail[..end]);
            if let Some(from) = before.map(|at| at + 1).or((start == 0).then_some(0)) {
                return Ok(Some((tail[from..end].to_vec(), start + end as u64 + 1)));
            }
        } else if start == 0 {
            return Ok(None);
        }
        size *= 4;
    }
}

/// Opens a file for appending that nobody else can write; makes it if it is not there.
fn open(path: &Path) -> Result<(File, Metadata), OpenError> {
    let untrusted = |why| OpenError::Untrusted { path: path.to_owned(), why };
    private::open(path, OpenMode::Append).map_err(|error| match error {
        FileError::NotAFile(_) => untrusted("it is not a regular file"),
        FileError::Untrusted(Distrust::OtherOwner) => untrusted("it belongs to another user"),
        FileError::Untrusted(Distrust::OthersWrite) => untrusted("other users can write it"),
        FileError::System(error) => io::Error::new(error.kind(), format!("{error}: {}", path.display())).into(),
        error => io::Error::other(format!("{error}: {}", path.display())).into(),
    })
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(suffix);
    name.into()
}

/// The file that was put aside so many files ago.
fn generation(path: &Path, number: u32) -> PathBuf {
    with_suffix(path, &number.to_string())
}

/// The files of a log that are there, the oldest first.
pub fn generations(path: &Path, files: u32) -> Vec<PathBuf> {
    let aside = (1..files).rev().map(|number| generation(path, number));
    aside.chain([path.to_owned()]).filter(|path| path.exists()).collect()
}
