//! A folder's usage, updated with each change by a plugin, and its quota.
//!
//! All functions block. The call that holds the ledger is the only plugin call that changes the
//! folder; changes by other programs are found by measuring again.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use cap_primitives::fs::{self as within, DirOptions, FollowSymlinks, Metadata};

use super::survey::{ENTRIES, Usage, survey};
use crate::os::entries::{append, identity, link_count, write_all_at};
use crate::os::stamp::Identity;
use crate::os::{Errno, is_removed};
use crate::sync::lock;

/// Minimum time between two measurements because of an exhausted quota: each reads the whole folder.
const MEASURE_INTERVAL: Duration = Duration::from_secs(2);

pub(super) struct Ledger {
    root: Arc<File>,
    quota: u64,
    used: Usage,
    /// This user's id: see [`survey`].
    own: u32,
    measured: Instant,
    /// Files that guests have open: a removed one takes space until it is closed.
    open: Vec<(Identity, Weak<File>)>,
    /// Of the folders of all callers, if it is one of them.
    total: Option<Arc<Total>>,
}

/// The usage of a folder in which each caller has one of their own, and its limit. Changes of the callers' ledgers count in
/// it too; one that goes on while it is measured may not.
pub(super) struct Total {
    root: File,
    limit: u64,
    own: u32,
    state: Mutex<(Usage, Instant)>,
}

impl Total {
    pub(super) fn new(root: File, limit: u64, used: Usage, own: u32) -> Self {
        Self { root, limit, own, state: Mutex::new((used, Instant::now())) }
    }

    /// Creates an entry that is in no caller's ledger.
    ///
    /// # Errors
    /// As [`Ledger::create`].
    pub(super) fn create(&self, make: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let entry = Usage { bytes: 0, entries: 1 };
        self.charge(entry)?;
        make().inspect_err(|_| self.release(entry))
    }

    fn charge(&self, more: Usage) -> io::Result<()> {
        let mut state = lock(&self.state);
        let (used, measured) = &mut *state;
        let mut after = used.plus(more);
        if !after.fits(self.limit) && measured.elapsed() >= MEASURE_INTERVAL {
            *used = survey(&self.root, self.own, ENTRIES, &[])?.usage;
            *measured = Instant::now();
            after = used.plus(more);
        }
        if !after.fits(self.limit) {
            return Err(Errno::DQUOT.into());
        }
        *used = after;
        Ok(())
    }

    fn add(&self, more: Usage) {
        let used = &mut lock(&self.state).0;
        *used = used.plus(more);
    }

    fn release(&self, less: Usage) {
        let used = &mut lock(&self.state).0;
        *used = used.minus(less);
    }

    #[cfg(test)]
    pub(super) fn used(&self) -> Usage {
        lock(&self.state).0
    }
}

impl Usage {
    fn plus(self, more: Self) -> Self {
        Self { bytes: self.bytes.saturating_add(more.bytes), entries: self.entries.saturating_add(more.entries) }
    }

    fn minus(self, less: Self) -> Self {
        Self { bytes: self.bytes.saturating_sub(less.bytes), entries: self.entries.saturating_sub(less.entries) }
    }

    fn fits(self, limit: u64) -> bool {
        self.counted() <= limit && self.entries <= ENTRIES
    }
}

impl Ledger {
    pub(super) fn new(root: Arc<File>, quota: u64, used: Usage, own: u32) -> Self {
        Self { root, quota, used, own, measured: Instant::now(), open: Vec::new(), total: None }
    }

    /// As one of those whose usage together is limited.
    pub(super) fn within(self, total: Option<Arc<Total>>) -> Self {
        Self { total, ..self }
    }

    /// Records that a guest has that file open.
    ///
    /// # Errors
    /// If the file's metadata cannot be read.
    pub(super) fn opened(&mut self, file: &Arc<File>) -> io::Result<()> {
        let identity = Identity::of_open(file)?;
        self.open.retain(|(_, file)| file.strong_count() > 0);
        self.open.push((identity, Arc::downgrade(file)));
        Ok(())
    }

    /// Writes all bytes, from `at` or at the end.
    ///
    /// # Errors
    /// `EDQUOT` if that would exceed the quota, and nothing is written; otherwise the system's.
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

    /// Extends or truncates a file.
    ///
    /// # Errors
    /// As [`Ledger::write`].
    pub(super) fn set_size(&mut self, file: &File, size: u64) -> io::Result<()> {
        let before = file.metadata()?.len();
        self.grow(file, size.saturating_sub(before), |file| file.set_len(size))
    }

    /// Runs a change that extends a file by at most `growth` bytes, and counts the actual growth.
    fn grow(&mut self, file: &File, growth: u64, change: impl FnOnce(&File) -> io::Result<()>) -> io::Result<()> {
        let before = file.metadata()?.len();
        self.charge(Usage { bytes: growth, entries: 0 })?;
        let changed = change(file);
        let after = file.metadata()?.len();
        let bytes = |bytes| Usage { bytes, entries: 0 };
        self.release(bytes(growth + before.saturating_sub(after)));
        self.add(bytes(after.saturating_sub(before)));
        changed
    }

    /// Creates a new entry.
    ///
    /// # Errors
    /// `EDQUOT` if that would exceed the quota; otherwise those of `make`.
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
        self.removed(&removed);
        Ok(())
    }

    /// # Errors
    /// The system's.
    pub(super) fn rename(&mut self, from: (&File, &Path), to: (&File, &Path)) -> io::Result<()> {
        let moved = within::stat(from.0, from.1, FollowSymlinks::No)?;
        let replaced = within::stat(to.0, to.1, FollowSymlinks::No).ok();
        within::rename(from.0, from.1, to.0, to.1)?;
        if let Some(replaced) = replaced.filter(|replaced| identity(replaced) != identity(&moved)) {
            self.removed(&replaced);
        }
        Ok(())
    }

    /// Accounts for a removed entry. A file that has another name, or is open, still takes space.
    fn removed(&mut self, removed: &Metadata) {
        let is_open = || self.open.iter().any(|(id, file)| Some(*id) == identity(removed) && file.strong_count() > 0);
        let freed = removed.is_file() && link_count(removed) == 1 && !is_open();
        self.release(Usage { bytes: if freed { removed.len() } else { 0 }, entries: 1 });
    }

    fn charge(&mut self, more: Usage) -> io::Result<()> {
        let mut after = self.used.plus(more);
        if !after.fits(self.quota) && self.measured.elapsed() >= MEASURE_INTERVAL {
            self.used = self.measure()?;
            self.measured = Instant::now();
            after = self.used.plus(more);
        }
        if !after.fits(self.quota) {
            return Err(Errno::DQUOT.into());
        }
        if let Some(total) = &self.total {
            total.charge(more)?;
        }
        self.used = after;
        Ok(())
    }

    fn add(&mut self, more: Usage) {
        self.used = self.used.plus(more);
        self.total.iter().for_each(|total| total.add(more));
    }

    fn release(&mut self, less: Usage) {
        self.used = self.used.minus(less);
        self.total.iter().for_each(|total| total.release(less));
    }

    /// The usage of the folder, with removed files that are still open.
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
