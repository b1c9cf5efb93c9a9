//! What a folder holds, kept up with each change that a plugin makes, and the quota over it.
//!
//! All of it blocks. Whoever has the ledger is the only plugin call that changes the folder;
//! what others do to it is found by measuring again.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use cap_primitives::fs::{self as within, DirOptions, FollowSymlinks, Metadata};

use super::survey::{ENTRIES, Usage, survey};
use crate::os::entries::{append, identity, link_count, write_all_at};
use crate::os::stamp::Identity;
use crate::os::{Errno, is_removed};

/// Between two measurements that an exhausted quota brings about: each looks through all of the
/// folder.
const PAUSE: Duration = Duration::from_secs(2);

pub(super) struct Ledger {
    root: Arc<File>,
    quota: u64,
    used: Usage,
    /// Whose files those are that were there before.
    own: u32,
    measured: Instant,
    /// Files that guests have open: a removed one takes its place until it is closed.
    open: Vec<(Identity, Weak<File>)>,
}

impl Ledger {
    pub(super) fn new(root: Arc<File>, quota: u64, used: Usage, own: u32) -> Self {
        Self { root, quota, used, own, measured: Instant::now(), open: Vec::new() }
    }

    /// Notes that a guest has that file open.
    ///
    /// # Errors
    /// If the file cannot be looked at.
    pub(super) fn opened(&mut self, file: &Arc<File>) -> io::Result<()> {
        let identity = Identity::of_open(file)?;
        self.open.retain(|(_, file)| file.strong_count() > 0);
        self.open.push((identity, Arc::downgrade(file)));
        Ok(())
    }

    /// Writes all of it, from `at` or else at the end.
    ///
    /// # Errors
    /// `EDQUOT` if the folder would hold too much, and then nothing is written; else the system's.
    pub(super) fn write(&mut self, file: &File, bytes: &[u8], at: Option<u64>) -> io::Result<()> {
        let size = file.metadata()?.len();
        let start = at.unwrap_or(size);
        let end = start.checked_add(bytes.len() as u64).ok_or(Errno::FBIG)?;
        let growth = if bytes.is_empty() { 0 } else { end.saturating_sub(size) };
        self.grow(file, growth, |file| match at {
            Some(at) => write_all_at(file, bytes, at),
            None => append(file, bytes),
        })
    }

    /// Makes a file longer or shorter.
    ///
    /// # Errors
    /// As [`Ledger::write`].
    pub(super) fn set_size(&mut self, file: &File, size: u64) -> io::Result<()> {
        let before = file.metadata()?.len();
        self.grow(file, size.saturating_sub(before), |file| file.set_len(size))
    }

    /// Does what makes a file at most so much longer, and counts what it did in the end.
    fn grow(&mut self, file: &File, growth: u64, change: impl FnOnce(&File) -> io::Result<()>) -> io::Result<()> {
        let before = file.metadata()?.len();
        self.charge(Usage { bytes: growth, entries: 0 })?;
        let changed = change(file);
        let after = file.metadata()?.len();
        self.used.bytes = (self.used.bytes - growth).saturating_add(after).saturating_sub(before);
        changed
    }

    /// Makes something that is not there yet.
    ///
    /// # Errors
    /// `EDQUOT` if the folder would hold too much; else those of `make`.
    pub(super) fn create<R>(&mut self, make: impl FnOnce() -> io::Result<R>) -> io::Result<R> {
        let entry = Usage { bytes: 0, entries: 1 };
        self.charge(entry)?;
        let made = make();
        if made.is_err() {
            self.release(entry);
        }
        made
    }

    /// # Errors
    /// As [`Ledger::create`].
    pub(super) fn create_folder(&mut self, dir: &File, path: &Path) -> io::Result<()> {
        self.create(|| within::create_dir(dir, path, &DirOptions::new()))
    }

    /// # Errors
    /// The system's.
    pub(super) fn remove_folder(&mut self, dir: &File, path: &Path) -> io::Result<()> {
        within::remove_dir(dir, path)?;
        self.release(Usage { bytes: 0, entries: 1 });
        Ok(())
    }

    /// # Errors
    /// The system's.
    pub(super) fn remove_file(&mut self, dir: &File, path: &Path) -> io::Result<()> {
        let removed = within::stat(dir, path, FollowSymlinks::No)?;
        within::remove_file(dir, path)?;
        self.gone(&removed);
        Ok(())
    }

    /// # Errors
    /// The system's.
    pub(super) fn rename(&mut self, from: (&File, &Path), to: (&File, &Path)) -> io::Result<()> {
        let moved = within::stat(from.0, from.1, FollowSymlinks::No)?;
        let replaced = within::stat(to.0, to.1, FollowSymlinks::No).ok();
        within::rename(from.0, from.1, to.0, to.1)?;
        if let Some(replaced) = replaced.filter(|replaced| identity(replaced) != identity(&moved)) {
            self.gone(&replaced);
        }
        Ok(())
    }

    /// An entry is gone. What still stands under another name, or is open, keeps its place.
    fn gone(&mut self, removed: &Metadata) {
        let held = || self.open.iter().any(|(id, file)| Some(*id) == identity(removed) && file.strong_count() > 0);
        let freed = removed.is_file() && link_count(removed) == 1 && !held();
        self.release(Usage { bytes: if freed { removed.len() } else { 0 }, entries: 1 });
    }

    fn charge(&mut self, more: Usage) -> io::Result<()> {
        let mut after = self.after(more);
        if !self.fits(after) && self.measured.elapsed() >= PAUSE {
            self.used = self.measure()?;
            self.measured = Instant::now();
            after = self.after(more);
        }
        if !self.fits(after) {
            return Err(Errno::DQUOT.into());
        }
        self.used = after;
        Ok(())
    }

    fn after(&self, more: Usage) -> Usage {
        let Usage { bytes, entries } = self.used;
        Usage { bytes: bytes.saturating_add(more.bytes), entries: entries + more.entries }
    }

    fn fits(&self, usage: Usage) -> bool {
        usage.counted() <= self.quota && usage.entries <= ENTRIES
    }

    fn release(&mut self, less: Usage) {
        let Usage { bytes, entries } = self.used;
        self.used = Usage { bytes: bytes.saturating_sub(less.bytes), entries: entries.saturating_sub(less.entries) };
    }

    /// What is in the folder, and what was removed and is still open.
    fn measure(&self) -> io::Result<Usage> {
        let mut usage = survey(&self.root, self.own, ENTRIES, &[])?.usage;
        for file in self.open.iter().filter_map(|(_, file)| file.upgrade()) {
            if is_removed(&file)? {
                usage.bytes = usage.bytes.saturating_add(file.metadata()?.len());
            }
        }
        Ok(usage)
    }
}
