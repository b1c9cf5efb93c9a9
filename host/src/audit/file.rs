//! The file of the log: one for all processes of a user, appended to under a lock.
//!
//! The lock is on a separate file, since the log itself is rotated. Each batch checks the file again:
//! another process may have appended to it, or something else may have moved or changed it, which is
//! recorded.

use std::fs::{self, File, Metadata};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use wharf_report::ShowPath as _;

use super::AuditSettings;
use super::chain;
use super::line::Link;
use crate::os::files::{self, FileError, Links};
use crate::os::private::{self, Distrust, OpenMode, Rule};
use crate::os::stamp::Identity;
use crate::os::{self, limits};

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
    /// The command that repairs the cause, and the path that it is to be run with.
    pub fn repair(&self) -> Option<(&'static str, &Path)> {
        match self {
            Self::Untrusted { path, repair, .. } => repair.map(|command| (command, path.as_path())),
            Self::Io(_) | Self::NoSpace { .. } => None,
        }
    }
}

impl LogFile {
    pub(super) fn open(settings: &AuditSettings) -> Result<Self, OpenError> {
        let path = settings.path.clone();
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            private::create_folder(folder)
                .map_err(|error| io::Error::new(error.kind(), format!("{error}: {}", folder.shown())))?;
            if private::distrust(&fs::metadata(folder)?, Rule::Container).is_some() {
                return Err(OpenError::Untrusted {
                    path: folder.to_owned(),
                    why: "other users can write to its folder",
                    repair: Some("chmod go-w"),
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
        Ok(Self { path, lock, size: settings.size, files, last_write: None, reserve, reserved: None, current: None })
    }

    /// Appends complete lines. `lines` gets the link of the last line, which it advances, the buffer to
    /// append to, and the state of the file. If this fails, the file is unchanged.
    ///
    /// # Errors
    /// If the file cannot be opened, locked or written, or other users can write it.
    pub(super) fn append(&mut self, lines: impl FnOnce(&mut Link, &mut Vec<u8>, &FoundState)) -> Result<(), OpenError> {
        // If the lock file was replaced, other processes lock the new one.
        if os::is_removed(&self.lock)? {
            (self.lock, _) = open(&with_suffix(&self.path, "lock"))?;
        }
        self.lock.lock()?;
        let appended = self.append_locked(lines);
        // On an error, the lock ends with the process at the latest.
        let _ = self.lock.unlock();
        appended
    }

    fn append_locked(&mut self, lines: impl FnOnce(&mut Link, &mut Vec<u8>, &FoundState)) -> Result<(), OpenError> {
        let (mut file, found) = open(&self.path)?;
        let identity = Identity::of_open(&file)?;
        let same = |last_write: &LastWrite| (last_write.file, last_write.length) == (identity, found.len());
        let (mut link, complete, altered) = match self.last_write {
            Some(last_write) if same(&last_write) => (last_write.last, found.len(), None),
            last_write => {
                let (link, complete) = self.end(&mut file, found.len())?;
                let why =
                    last_write.map(|last_write| self.altered(&last_write, &mut file, &found)).transpose()?.flatten();
                (link, complete, last_write.zip(why).map(|(last_write, why)| Altered { why, last: last_write.last }))
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
            let line = if found.len() < last_write.length { None } else { last_line(file, last_write.length)? };
            Ok(line.map_or(Link::START, |(line, _)| link(&line)) == last_write.last)
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
    /// file, and 0.
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

/// The last complete line without its line break, and the position after that.
fn last_line(file: &mut File, length: u64) -> io::Result<Option<(Vec<u8>, u64)>> {
    let mut size = TAIL_SIZE;
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

/// Opens or creates a file for appending that no other user can write.
fn open(path: &Path) -> Result<(File, Metadata), OpenError> {
    let untrusted = |why, repair| OpenError::Untrusted { path: path.to_owned(), why, repair };
    private::open(path, OpenMode::Append).map_err(|error| match error {
        FileError::NotAFile(_) => untrusted("it is not a regular file", None),
        FileError::Untrusted(Distrust::OtherOwner) => {
            untrusted("another user owns it", Some("sudo chown \"$(id -un)\""))
        }
        FileError::Untrusted(Distrust::OthersWrite) => untrusted("other users can write it", Some("chmod go-w")),
        FileError::System(error) => io::Error::new(error.kind(), format!("{error}: {}", path.shown())).into(),
        error => io::Error::other(format!("{error}: {}", path.shown())).into(),
    })
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(suffix);
    name.into()
}

/// The path of the `number`th rotated file; 1 is the newest.
fn generation(path: &Path, number: u32) -> PathBuf {
    with_suffix(path, &number.to_string())
}

/// The existing files of a log, the oldest first.
pub fn generations(path: &Path, files: u32) -> Vec<PathBuf> {
    let rotated = (1..files).rev().map(|number| generation(path, number));
    rotated.chain([path.to_owned()]).filter(|path| path.exists()).collect()
}
