//! Moves what a server keeps to another place: from the files of one machine to a store for several nodes, back, or from
//! one such store to another one.
//!
//! Whatever the place is, it is entries by the keys that they have in a store. The old place is only read, so nothing is
//! lost if a copy fails; a mark in the new one says that it has begun, and it can be begun again.

mod machine;
mod progress;
mod shared;

use std::fmt;

use async_trait::async_trait;
use futures_util::stream::{Stream, StreamExt as _, TryStreamExt as _, unfold};
use tokio::sync::mpsc::{Sender, channel};

use crate::store::{Entry, StoreError};
use crate::{approvals, in_use, nodes, pins, proposals, state_keys, tasks};
pub use machine::Machine;
pub use progress::Progress;
use progress::Step;
pub use shared::{Shared, is_whole};

/// Says that the copy of a place has begun, and of which: what is there is not used until it has ended.
pub const MARK: &str = "migration";
/// Entries that are read before the ones before are written.
const AHEAD: usize = 16;
/// Writes at the same time.
const AT_ONCE: usize = 8;
/// Conflicts that are named.
const NAMED: usize = 5;

/// The entries of a place where a server keeps things.
#[async_trait]
pub trait Entries: Send + Sync {
    /// Sends all entries, in an order that stays the same as long as nothing is written. Whoever receives them may stop
    /// early.
    async fn read(&self, entries: &Sender<Entry>) -> Result<(), StoreError>;
    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError>;
    /// Writes an entry, in place of the one of that key. `false`: such entries are not kept here.
    async fn put(&self, entry: &Entry) -> Result<bool, StoreError>;
    async fn remove(&self, key: &str) -> Result<(), StoreError>;
    /// Keeps other copies out, until [`Self::release`]. `false`: a server or another copy uses it.
    async fn claim(&self, now: u64) -> Result<bool, StoreError>;
    async fn release(&self);
}

/// Why nothing was moved, or not all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MigrationError {
    /// The old place could not be read.
    Old(StoreError),
    /// The new one could not be read or written.
    New(StoreError),
    /// A server or another copy uses the old place, or the new one.
    Used { is_new: bool },
    /// The old place is itself a copy that was not finished, of that one.
    Unfinished(String),
    /// Other entries are in the new place: some of their keys, and how many there are.
    Conflicts(Vec<String>, u64),
    /// The copy of another place has begun there.
    Begun(String),
    /// The old place was written to meanwhile.
    Changed,
    /// There is nothing in the old place.
    Nothing,
}

impl fmt::Display for MigrationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Old(error) => write!(f, "read what is kept: {error}"),
            Self::New(error) => write!(f, "write it to the new place: {error}"),
            Self::Used { is_new: false } => f.write_str("move what is kept while a server uses it"),
            Self::Used { is_new: true } => f.write_str("move what is kept to a place that a server uses"),
            Self::Unfinished(from) => {
                write!(f, "move what is only a part of something: the copy of {from} was not finished")
            }
            Self::Conflicts(keys, count) => {
                write!(f, "move what is kept to where something else is: {}", keys.join(", "))?;
                match count - keys.len() as u64 {
                    0 => Ok(()),
                    more => write!(f, " and {more} more"),
                }
            }
            Self::Begun(from) => {
                write!(f, "move what is kept to where a copy of another place was not finished: {from}")
            }
            Self::Nothing => f.write_str("move what is kept: there is nothing"),
            Self::Changed => f.write_str("move what is kept: something was written to the old place meanwhile"),
        }
    }
}

/// How much was moved: entries of each kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Moved {
    pub tasks: u64,
    pub values: u64,
    /// Documents with decisions on calls, and used answers.
    pub approvals: u64,
    pub pins: u64,
    pub proposals: u64,
    /// Keys, and what was spent of budgets.
    pub other: u64,
    /// What the new place has no room for: each process there has its own.
    pub left: u64,
}

impl Moved {
    fn count(&mut self, key: &str) {
        let counted = match kind(key) {
            "tasks" if tasks::is_task(key) => &mut self.tasks,
            "keyvalue" => &mut self.values,
            approvals::KEY => &mut self.approvals,
            pins::KEY => &mut self.pins,
            proposals::KEY => &mut self.proposals,
            // Whose process a task is.
            "tasks" => return,
            _ => &mut self.other,
        };
        *counted += 1;
    }
}

/// Copies everything that has not expired. `from`: what the old place is called. `progress` says meanwhile how far it is.
///
/// # Errors
/// Before anything was written, if a server uses either place, or other entries are in the new one. Later, if one of them
/// fails or is written to; it can then be begun again.
pub async fn migrate(
    old: &dyn Entries,
    new: &dyn Entries,
    from: &str,
    now: u64,
    progress: &Progress,
) -> Result<Moved, MigrationError> {
    // At the same time: each may have to watch for a while who lives.
    let done = match tokio::join!(new.claim(now), old.claim(now)) {
        (Err(error), _) => Err(MigrationError::New(error)),
        (Ok(false), _) => Err(MigrationError::Used { is_new: true }),
        (_, Err(error)) => Err(MigrationError::Old(error)),
        (_, Ok(false)) => Err(MigrationError::Used { is_new: false }),
        (Ok(true), Ok(true)) => copy(old, new, from, now, progress).await,
    };
    // Of one that was not claimed there is nothing to release.
    tokio::join!(old.release(), new.release());
    done
}

async fn copy(
    old: &dyn Entries,
    new: &dyn Entries,
    from: &str,
    now: u64,
    progress: &Progress,
) -> Result<Moved, MigrationError> {
    let text = |mark: Vec<u8>| String::from_utf8_lossy(&mark).into_owned();
    if let Some(begun) = old.get(MARK).await.map_err(MigrationError::Old)? {
        return Err(MigrationError::Unfinished(text(begun)));
    }
    let of = match new.get(MARK).await.map_err(MigrationError::New)? {
        Some(begun) if begun == from.as_bytes() => None,
        Some(begun) => return Err(MigrationError::Begun(text(begun))),
        None => {
            conflicts(old, new, now, progress).await?;
            Some(progress.entries())
        }
    };
    progress.begin(Step::Copy, of);
    let mark = Entry { key: MARK.to_owned(), value: from.as_bytes().to_vec(), version: 0, expires: None };
    new.put(&mark).await.map_err(MigrationError::New)?;
    // These first: what was revoked does not run, even if a server is started too early.
    let mut copied = blake3::Hasher::new();
    let mut moved = Moved::default();
    for is_first in [true, false] {
        let entries = live(old, now).map_err(MigrationError::Old).inspect_ok(|entry| {
            if is_first {
                add(&mut copied, entry);
            }
        });
        let now_due = entries.try_filter(|entry| std::future::ready(is_decision(&entry.key) == is_first));
        let written = now_due.inspect_ok(|entry| moved.count(&entry.key)).map_ok(|entry| write(new, entry));
        let written = written.try_buffer_unordered(AT_ONCE).inspect_ok(|_| progress.count());
        let left = written.try_fold(0, async |left, kept| Ok(left + u64::from(!kept)));
        let left = left.await?;
        moved.left += left;
    }
    moved.other -= moved.left;
    progress.begin(Step::Check, of);
    let mut again = blake3::Hasher::new();
    let check = live(old, now).try_for_each(|entry| {
        progress.count();
        add(&mut again, &entry);
        std::future::ready(Ok(()))
    });
    check.await.map_err(MigrationError::Old)?;
    if copied.finalize() != again.finalize() {
        return Err(MigrationError::Changed);
    }
    new.remove(MARK).await.map_err(MigrationError::New)?;
    if moved == Moved::default() { Err(MigrationError::Nothing) } else { Ok(moved) }
}

/// Writes an entry, unless the new place has one of its own. `false`: such entries are not kept there.
async fn write(new: &dyn Entries, entry: Entry) -> Result<bool, MigrationError> {
    let is_there = is_own(&entry.key) && new.get(&entry.key).await.map_err(MigrationError::New)?.is_some();
    if is_there { Ok(true) } else { new.put(&entry).await.map_err(MigrationError::New) }
}

/// What is in the new place and would be overwritten. Entries of the old one are counted.
async fn conflicts(old: &dyn Entries, new: &dyn Entries, now: u64, progress: &Progress) -> Result<(), MigrationError> {
    let (mut named, mut count) = (Vec::new(), 0);
    progress.begin(Step::Compare, None);
    let mut entries = std::pin::pin!(live(old, now));
    while let Some(entry) = entries.try_next().await.map_err(MigrationError::Old)? {
        progress.count();
        if is_own(&entry.key) {
            continue;
        }
        let found = new.get(&entry.key).await.map_err(MigrationError::New)?;
        if found.is_some_and(|found| found != entry.value) {
            count += 1;
            if named.len() < NAMED {
                named.push(entry.key);
            }
        }
    }
    if count == 0 { Ok(()) } else { Err(MigrationError::Conflicts(named, count)) }
}

/// The entries that are moved.
fn live(place: &dyn Entries, now: u64) -> impl Stream<Item = Result<Entry, StoreError>> + Send {
    let moves = |entry: &Entry| entry.key != MARK && entry.key != shared::TURN && !says_who_lives(&entry.key);
    all(place, now).try_filter(move |entry| std::future::ready(moves(entry)))
}

/// Those that have not expired.
fn all(place: &dyn Entries, now: u64) -> impl Stream<Item = Result<Entry, StoreError>> + Send {
    let (sender, receiver) = channel(AHEAD);
    let reading = async move { place.read(&sender).await };
    let entries =
        unfold(receiver, |mut receiver| async move { receiver.recv().await.map(|entry| (Ok(entry), receiver)) });
    // The end of reading ends the entries too, and has an error at most.
    let read = futures_util::stream::once(reading).filter_map(|read| std::future::ready(read.err().map(Err)));
    let both = futures_util::stream::select(entries, read);
    both.try_filter(move |entry| std::future::ready(!entry.has_expired(now)))
}

fn add(hash: &mut blake3::Hasher, entry: &Entry) {
    for part in [entry.key.as_bytes(), &entry.value] {
        hash.update(&(part.len() as u64).to_le_bytes()).update(part);
    }
}

/// The first part of a key: what the entry is of.
fn kind(key: &str) -> &str {
    key.split_once('/').map_or(key, |(kind, _)| kind)
}

/// Whether it decides what may run.
fn is_decision(key: &str) -> bool {
    matches!(kind(key), pins::KEY | approvals::KEY)
}

/// Whether the one that is in the new place stays there.
fn is_own(key: &str) -> bool {
    key == state_keys::KEY
}

/// Whether it says that a process lives.
fn says_who_lives(key: &str) -> bool {
    key.starts_with(nodes::PREFIX) || key.starts_with(in_use::PREFIX) || tasks::is_lease(key)
}

#[cfg(test)]
mod tests;
