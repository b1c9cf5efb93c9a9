//! A folder of recordings: written by a thread of its own, and bounded, so that the oldest go.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::time::{Duration, Instant, SystemTime};

use wharf_report::ShowPath as _;

use super::recorded::Recorded;
use crate::os::private;

/// Calls that wait to be written; others are left out.
const MAX_WAITING: usize = 64;
/// How the files are called: a time, the plugin, a number.
const SUFFIX: &str = ".jsonl";
/// The length of the time in a name.
const TIME: usize = "2026-01-01T00-00-00.000Z".len();

/// How often a full queue is tried again at the end.
const POLL: Duration = Duration::from_millis(10);
/// How often the folder is listed: others may write to it, or remove recordings.
const AGAIN: Duration = Duration::from_secs(10);
/// Between two lines of the log on what is left out.
const BETWEEN: Duration = Duration::from_secs(10);
/// An incomplete file of this age is of a server that has ended.
const ABANDONED: Duration = Duration::from_secs(60);

/// What makes a recording, on the writer's thread.
type Making = Box<dyn FnOnce() -> Result<Recorded, &'static str> + Send>;

enum Job {
    Write(Making),
    /// All that came before is written: the sender is dropped.
    Reached(Sender<()>),
}

/// Writes recordings into a folder.
#[derive(Clone)]
pub struct RecordFolder {
    jobs: SyncSender<Job>,
    left_out: Arc<AtomicU64>,
}

/// How much is kept in the folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Maximum files.
    pub files: usize,
    /// Maximum bytes of all.
    pub bytes: u64,
}

impl RecordFolder {
    /// Opens a folder, which only this user can write to, and starts the thread.
    ///
    /// # Errors
    /// If the folder cannot be used, or no thread can be started.
    pub fn open(path: PathBuf, retention: Retention) -> io::Result<Self> {
        Self::check(&path)?;
        remove_abandoned(&path)?;
        let (jobs, waiting) = sync_channel(MAX_WAITING);
        let left_out = Arc::new(AtomicU64::new(0));
        let kept = Kept::list(&path)?;
        let writer = Writer { path, kept, retention, left_out: left_out.clone(), said: None, is_failing: false };
        std::thread::Builder::new().name("wharf-record".into()).spawn(move || writer.run(&waiting))?;
        Ok(Self { jobs, left_out })
    }

    /// Makes the folder if it is missing, and checks that nobody else can write to it, or put another one in its place.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub fn check(path: &Path) -> io::Result<()> {
        private::create_trusted_folder(path)?;
        private::check_place(path)
    }

    /// Never waits: a call for which there is no room is left out and counted.
    pub(super) fn write(&self, make: impl FnOnce() -> Result<Recorded, &'static str> + Send + 'static) {
        if self.jobs.try_send(Job::Write(Box::new(make))).is_err() {
            self.left_out.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until what was given to it is written, or that time is over.
    pub(super) fn finish(&self, most: Duration) {
        let until = Instant::now() + most;
        let (sender, reached) = channel();
        let mut job = Job::Reached(sender);
        while let Err(TrySendError::Full(back)) = self.jobs.try_send(job) {
            if Instant::now() >= until {
                break;
            }
            job = back;
            std::thread::sleep(POLL);
        }
        // Nothing is sent: it ends with its sender.
        if reached.recv_timeout(until.saturating_duration_since(Instant::now())) == Err(RecvTimeoutError::Timeout) {
            tracing::warn!("left out the last recordings: they were not written before the end");
        }
    }
}

struct Writer {
    path: PathBuf,
    kept: Kept,
    retention: Retention,
    left_out: Arc<AtomicU64>,
    /// When the log said last that something was left out.
    said: Option<Instant>,
    /// The last file could not be written, which was logged.
    is_failing: bool,
}

impl Writer {
    fn run(mut self, jobs: &Receiver<Job>) {
        for job in jobs {
            match job {
                Job::Write(make) => match make() {
                    Ok(recorded) => self.write(&recorded),
                    Err(why) => drop(self.say(|| format!("a call was not recorded: {why}"))),
                },
                Job::Reached(sender) => drop(sender),
            }
            let left_out = self.left_out.load(Ordering::Relaxed);
            if left_out > 0
                && self.say(|| format!("left out {left_out} recordings: there are more calls than can be written"))
            {
                self.left_out.fetch_sub(left_out, Ordering::Relaxed);
            }
        }
    }

    /// Writes to the log, unless it did a moment ago; returns whether it did.
    fn say(&mut self, text: impl Fn() -> String) -> bool {
        let is_due = self.said.is_none_or(|said| said.elapsed() >= BETWEEN);
        if is_due {
            self.said = Some(Instant::now());
            tracing::warn!("{}", text());
        }
        is_due
    }

    fn write_and_clean(&mut self, recorded: &Recorded) -> io::Result<()> {
        let (name, bytes) = write_new(&self.path, recorded)?;
        self.kept.add(name, bytes);
        if self.kept.listed.elapsed() >= AGAIN {
            self.kept = Kept::list(&self.path)?;
        }
        self.kept.clean(&self.path, self.retention)
    }

    fn write(&mut self, recorded: &Recorded) {
        match self.write_and_clean(recorded) {
            Ok(()) => self.is_failing = false,
            Err(error) if !self.is_failing => {
                self.is_failing = true;
                tracing::error!(
                    hint = "make room, or allow it; until then calls run without being recorded",
                    "failed to write a recording: {error}: {}",
                    self.path.shown()
                );
            }
            Err(_) => {}
        }
    }
}

/// The recordings in a folder.
struct Kept {
    /// Bytes by name; the oldest come first, since names begin with their times.
    files: BTreeMap<String, u64>,
    bytes: u64,
    listed: Instant,
}

impl Kept {
    fn list(folder: &Path) -> io::Result<Self> {
        let mut kept = Self { files: BTreeMap::new(), bytes: 0, listed: Instant::now() };
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if is_own(&name) {
                kept.add(name, entry.metadata().map_or(0, |found| found.len()));
            }
        }
        Ok(kept)
    }

    fn add(&mut self, name: String, bytes: u64) {
        self.bytes = self.bytes.saturating_add(bytes).saturating_sub(self.files.insert(name, bytes).unwrap_or(0));
    }

    /// Removes the oldest over what is kept, but not the newest. Files of other names are not touched.
    fn clean(&mut self, folder: &Path, retention: Retention) -> io::Result<()> {
        while self.files.len() > retention.files.max(1) || (self.bytes > retention.bytes && self.files.len() > 1) {
            let Some((name, bytes)) = self.files.pop_first() else { break };
            self.bytes = self.bytes.saturating_sub(bytes);
            match fs::remove_file(folder.join(name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Writes a file of one recording, which appears when it is complete. Returns its name, and its bytes.
fn write_new(folder: &Path, recorded: &Recorded) -> io::Result<(String, u64)> {
    // It may be another one than at the start by now.
    private::check_place(folder)?;
    let time = humantime::format_rfc3339_millis(SystemTime::now()).to_string().replace(':', "-");
    let number = getrandom::u32().map_err(|error| io::Error::other(error.to_string()))?;
    let name = format!("{time}-{}-{number:08x}{SUFFIX}", recorded.input.plugin);
    let next = folder.join(format!("{name}.next"));
    let mut file = io::BufWriter::new(private::create(&next)?);
    let mut bytes = 0;
    let written = recorded.lines().try_for_each(|line| {
        bytes += line.len() as u64;
        file.write_all(line.as_bytes())
    });
    let written = written.and_then(|()| file.flush()).and_then(|()| fs::rename(&next, folder.join(&name)));
    // The disk may be full: free the space.
    written.inspect_err(|_| drop(fs::remove_file(&next)))?;
    Ok((name, bytes))
}

/// Removes incomplete files of servers that have ended.
fn remove_abandoned(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let modified = entry.metadata().and_then(|found| found.modified());
        let is_old = modified.is_ok_and(|at| at.elapsed().is_ok_and(|age| age >= ABANDONED));
        if is_old && name.ends_with(".next") && is_own(&name) {
            let _ = fs::remove_file(entry.path());
        }
    }
    Ok(())
}

/// The plugin of a complete recording that is written here, by the name of its file.
pub fn recording_of(name: &str) -> Option<&str> {
    let rest = name.strip_suffix(SUFFIX).filter(|_| is_own(name))?;
    rest.get(TIME..)?.strip_prefix('-')?.rsplit_once('-').map(|(plugin, _)| plugin)
}

/// Whether a file is one that is written here, complete or not.
fn is_own(name: &str) -> bool {
    let rest = name.strip_suffix(".next").unwrap_or(name).strip_suffix(SUFFIX);
    let time = rest.and_then(|rest| rest.get(..TIME));
    time.is_some_and(|time| {
        let is_shaped = |(at, byte): (usize, u8)| match at {
            4 | 7 | 13 | 16 => byte == b'-',
            10 => byte == b'T',
            19 => byte == b'.',
            23 => byte == b'Z',
            _ => byte.is_ascii_digit(),
        };
        time.bytes().enumerate().all(is_shaped)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_whose_a_recording_is() {
        let own = "2026-01-01T00-00-00.000Z-my-plugin-0a1b2c3d.jsonl";
        assert_eq!(recording_of(own), Some("my-plugin"));
        for other in [&format!("{own}.next"), "my-plugin-0a1b2c3d.jsonl", "2026-01-01T00-00-00.000Z.jsonl"] {
            assert_eq!(recording_of(other), None, "{other}");
        }
    }

    #[test]
    fn what_others_left_incomplete_goes() {
        let root = tempfile::tempdir().expect("a folder");
        let name = |number: usize| format!("2026-01-01T00-00-{number:02}.000Z-echo-00000000.jsonl.next");
        for (number, age) in [(0, ABANDONED), (1, Duration::ZERO)] {
            let file = fs::File::create(root.path().join(name(number))).expect("a file");
            file.set_modified(SystemTime::now() - age).expect("a time");
        }
        remove_abandoned(root.path()).expect("read");
        assert!(!root.path().join(name(0)).exists() && root.path().join(name(1)).exists());
    }

    #[test]
    fn all_that_was_given_is_written_before_the_end_or_the_time_is_over() {
        let root = tempfile::tempdir().expect("a folder");
        let folder = RecordFolder::open(root.path().to_owned(), Retention { files: 3, bytes: 1000 }).expect("a folder");
        let (go, going) = channel::<()>();
        folder.write(move || {
            let _ = going.recv();
            Err("nothing")
        });
        // The queue is full, while the writer waits.
        (0..2 * MAX_WAITING).for_each(|_| folder.write(|| Err("nothing")));
        assert!(folder.left_out.load(Ordering::Relaxed) > 0);
        folder.finish(Duration::from_millis(50));
        drop(go);
        let (done, is_done) = channel::<()>();
        while folder.jobs.try_send(Job::Reached(done.clone())).is_err() {
            std::thread::yield_now();
        }
        drop(done);
        assert_eq!(is_done.recv_timeout(Duration::from_secs(60)), Err(RecvTimeoutError::Disconnected));
        folder.finish(Duration::from_secs(60));
    }

    #[test]
    fn the_oldest_go_and_other_files_stay() {
        let root = tempfile::tempdir().expect("a folder");
        let name = |number: usize| format!("2026-01-01T00-00-{number:02}.000Z-echo-00000000.jsonl");
        (0..5).for_each(|number| fs::write(root.path().join(name(number)), [b'x'; 10]).expect("a file"));
        fs::write(root.path().join("notes.jsonl"), "mine").expect("a file");
        let left = || {
            let mut left: Vec<String> = fs::read_dir(root.path())
                .expect("a folder")
                .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
                .collect();
            left.sort();
            left
        };
        let clean = |retention| {
            Kept::list(root.path()).and_then(|mut kept| kept.clean(root.path(), retention)).expect("cleaned");
        };
        clean(Retention { files: 3, bytes: 1000 });
        assert_eq!(left(), [name(2), name(3), name(4), "notes.jsonl".into()]);
        clean(Retention { files: 3, bytes: 20 });
        assert_eq!(left(), [name(3), name(4), "notes.jsonl".into()]);
        clean(Retention { files: 3, bytes: 1 });
        assert_eq!(left(), [name(4), "notes.jsonl".into()], "the newest stays in any case");
    }
}
