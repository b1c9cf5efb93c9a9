//! A store in an SQLite file.
//!
//! One thread writes and reads. What waits meanwhile is done together, in one transaction: syncing the file takes
//! milliseconds, however much was written.

mod request;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, TrySendError, sync_channel};
use std::time::Duration;

use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension as _, Row, Transaction, TransactionBehavior, params};
use tokio::sync::{Semaphore, broadcast};
use wharf_report::ShowPath as _;

use super::{Changed, Durability, Entry, Expected, Keys, Page, Put, Store, StoreError, Usage, end};
use crate::database::{Schema, is_full, reason};
use crate::sync::{Mutex, lock};
use request::{Request, Tell, Worked, failed};

/// `version` is that of the last write of any key. The sizes are in an index: what is below a prefix is counted without
/// reading it.
const SCHEMA: Schema = Schema {
    version: 1,
    tables: "
    CREATE TABLE entry (
        key TEXT PRIMARY KEY,
        version INTEGER NOT NULL,
        expires INTEGER,
        size INTEGER NOT NULL,
        value BLOB NOT NULL
    ) STRICT;
    CREATE INDEX entry_version ON entry (version);
    CREATE INDEX entry_expires ON entry (expires) WHERE expires IS NOT NULL;
    CREATE INDEX entry_size ON entry (key, size);
    CREATE TABLE last (version INTEGER NOT NULL) STRICT;
    INSERT INTO last VALUES (0);
",
    upgrades: &[],
};

/// Requests that wait for the thread; more wait for these.
const WAITING: usize = 1024;
/// Requests of one transaction.
const TOGETHER: usize = 256;
/// How often it is looked whether another process wrote something, while somebody watches.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// Changed keys that a slow watcher may lag behind.
const BACKLOG: usize = 4096;

/// A store in a file, which is opened when it is first needed.
pub struct Sqlite {
    path: PathBuf,
    /// Permits for the queue.
    room: Semaphore,
    /// The queue of the thread, if it has been started.
    queue: Mutex<Option<SyncSender<Request>>>,
    changes: broadcast::Sender<Changed>,
}

impl Sqlite {
    pub fn new(path: PathBuf) -> Arc<Self> {
        let (changes, _) = broadcast::channel(BACKLOG);
        Arc::new(Self { path, room: Semaphore::new(WAITING), queue: Mutex::default(), changes })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Runs work on the thread.
    async fn run<R: Send + 'static>(
        &self,
        writes: Option<Durability>,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<R> + Send + 'static,
    ) -> Result<R, StoreError> {
        let ended = || StoreError("its thread has ended".into());
        let _room = self.room.acquire().await.map_err(|_| ended())?;
        let (request, outcome) = Request::new(writes, work);
        self.send(request)?;
        let done = outcome.await.unwrap_or_else(|_| Err(ended()));
        done.map_err(|StoreError(why)| StoreError(format!("{why}: {}", self.path.shown())))
    }

    fn send(&self, request: Request) -> Result<(), StoreError> {
        let mut queue = lock(&self.queue);
        let sender = match &*queue {
            Some(sender) => sender,
            None => {
                let (sender, requests) = sync_channel(WAITING + 1);
                let (path, changes) = (self.path.clone(), self.changes.clone());
                std::thread::Builder::new()
                    .name("store".into())
                    .spawn(move || serve(&path, &requests, &changes))
                    .map_err(|error| StoreError(format!("start a thread: {error}")))?;
                queue.insert(sender)
            }
        };
        match sender.try_send(request) {
            Ok(()) => Ok(()),
            // Not `Full`: there are as many permits as places.
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {
                *queue = None;
                Err(StoreError("its thread has ended".into()))
            }
        }
    }
}

#[async_trait]
impl Store for Sqlite {
    async fn get(&self, key: &str) -> Result<Option<Entry>, StoreError> {
        let key = key.to_owned();
        self.run(None, move |transaction| {
            let mut query = transaction.prepare("SELECT key, value, version, expires FROM entry WHERE key = ?1")?;
            query.query_row([key], entry).optional()
        })
        .await
    }

    async fn put(&self, put: Put) -> Result<Option<u64>, StoreError> {
        self.run(Some(put.durability), move |transaction| {
            let mut current = transaction.prepare("SELECT version FROM entry WHERE key = ?1")?;
            let current: Option<u64> = current.query_row([&put.key], |row| row.get(0)).optional()?;
            let suits = match put.expected {
                Expected::Absent => current.is_none(),
                Expected::Version(version) => current == Some(version),
                Expected::Anything => true,
            };
            if !suits {
                return Ok(None);
            }
            let mut next = transaction.prepare("UPDATE last SET version = version + 1 RETURNING version")?;
            let version: u64 = next.query_row([], |row| row.get(0))?;
            let size = put.key.len() + put.value.len();
            let mut write = transaction.prepare(
                "INSERT INTO entry (key, version, expires, size, value) VALUES (?1, ?2, ?3, ?4, ?5)
                 ON CONFLICT (key) DO UPDATE SET version = ?2, expires = ?3, size = ?4, value = ?5",
            )?;
            write.execute(params![put.key, version, put.expires, size, put.value])?;
            Ok(Some(version))
        })
        .await
    }

    async fn delete(&self, key: &str) -> Result<bool, StoreError> {
        let key = key.to_owned();
        self.run(Some(Durability::Process), move |transaction| {
            Ok(transaction.prepare("DELETE FROM entry WHERE key = ?1")?.execute([key])? > 0)
        })
        .await
    }

    async fn list(&self, prefix: &str, after: &str, limit: usize, bytes: usize) -> Result<Page, StoreError> {
        let (from, to, after) = (prefix.to_owned(), end(prefix), after.to_owned());
        self.run(None, move |transaction| {
            let mut query = transaction.prepare(
                "SELECT key, value, version, expires FROM entry WHERE key >= ?1 AND key < ?2 AND key > ?3 ORDER BY key LIMIT ?4",
            )?;
            let mut rows = query.query(params![from, to, after, limit + 1])?;
            let (mut page, mut read) = (Page::default(), 0);
            while let Some(row) = rows.next()? {
                if page.entries.len() == limit || read >= bytes {
                    page.more = true;
                    break;
                }
                let entry = entry(row)?;
                read += entry.key.len() + entry.value.len();
                page.entries.push(entry);
            }
            Ok(page)
        })
        .await
    }

    async fn keys(&self, prefix: &str, after: &str, limit: usize) -> Result<Keys, StoreError> {
        let (from, to, after) = (prefix.to_owned(), end(prefix), after.to_owned());
        self.run(None, move |transaction| {
            let mut query = transaction
                .prepare("SELECT key FROM entry WHERE key >= ?1 AND key < ?2 AND key > ?3 ORDER BY key LIMIT ?4")?;
            let keys = query.query_map(params![from, to, after, limit + 1], |row| row.get(0))?;
            let mut keys: Vec<String> = keys.collect::<rusqlite::Result<_>>()?;
            let more = keys.len() > limit;
            keys.truncate(limit);
            Ok(Keys { keys, more })
        })
        .await
    }

    async fn usage(&self, prefix: &str) -> Result<Usage, StoreError> {
        let (from, to) = (prefix.to_owned(), end(prefix));
        self.run(None, move |transaction| {
            let mut query = transaction.prepare(
                "SELECT count(*), coalesce(sum(size), 0) FROM entry INDEXED BY entry_size WHERE key >= ?1 AND key < ?2",
            )?;
            query.query_row([from, to], |row| Ok(Usage { entries: row.get(0)?, bytes: row.get(1)? }))
        })
        .await
    }

    async fn remove_expired(&self, now: u64, limit: usize) -> Result<usize, StoreError> {
        self.run(Some(Durability::Process), move |transaction| {
            let mut remove = transaction.prepare(
                "DELETE FROM entry WHERE key IN (
                     SELECT key FROM entry WHERE expires IS NOT NULL AND expires < ?1 ORDER BY expires LIMIT ?2
                 )",
            )?;
            remove.execute(params![now, limit])
        })
        .await
    }

    fn watch(&self) -> broadcast::Receiver<Changed> {
        let receiver = self.changes.subscribe();
        // Wakes the thread, which waits without end while nobody watches. An error is found by the next request.
        let _ = self.send(Request { writes: None, work: Box::new(|_| None) });
        receiver
    }
}

fn entry(row: &Row<'_>) -> rusqlite::Result<Entry> {
    Ok(Entry { key: row.get(0)?, value: row.get(1)?, version: row.get(2)?, expires: row.get(3)? })
}

/// The thread: until the store is dropped.
fn serve(path: &Path, requests: &Receiver<Request>, changes: &broadcast::Sender<Changed>) {
    let mut file = None;
    loop {
        let watched = changes.receiver_count() > 0;
        let first = match requests.recv_timeout(if watched { POLL_INTERVAL } else { Duration::MAX }) {
            Ok(first) => Some(first),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        let mut batch: Vec<Request> = first.into_iter().collect();
        while !batch.is_empty() && batch.len() < TOGETHER {
            match requests.try_recv() {
                Ok(request) => batch.push(request),
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => break,
            }
        }
        let opened = match &mut file {
            Some(opened) => Ok(opened),
            None => File::open(path).map(|opened| file.insert(opened)),
        };
        let is_usable = match opened {
            Ok(opened) => match opened.serve(batch).and_then(|()| opened.report(changes)) {
                Ok(()) => true,
                Err(error) => is_full(&error),
            },
            Err(error) => {
                for request in batch {
                    (request.work)(Err(&error));
                }
                false
            }
        };
        if !is_usable {
            // Opened again by the next one, since it may have been repaired.
            file = None;
        }
    }
}

/// The opened file.
struct File {
    connection: Connection,
    /// Whether writes are synced.
    durability: Durability,
    /// The last version that was reported.
    reported: u64,
}

impl File {
    fn open(path: &Path) -> Result<Self, StoreError> {
        let connection = SCHEMA.open(path).map_err(StoreError)?;
        let reported = last(&connection).map_err(failed)?;
        Ok(Self { connection, durability: Durability::Power, reported })
    }

    /// Does all that reads in one transaction, and then all that writes in another one: they came at the same time, and
    /// a write that fails fails no read.
    fn serve(&mut self, batch: Vec<Request>) -> rusqlite::Result<()> {
        let (writes, reads): (Vec<Request>, Vec<Request>) =
            batch.into_iter().partition(|request| request.writes.is_some());
        let (read, written) = (self.serve_together(reads), self.serve_together(writes));
        read.and(written)
    }

    /// Does all in one transaction.
    fn serve_together(&mut self, batch: Vec<Request>) -> rusqlite::Result<()> {
        if batch.is_empty() {
            return Ok(());
        }
        let mut tell = Vec::new();
        let mut rest = batch.into_iter();
        let done = self.transact(&mut rest, &mut tell);
        let error = done.as_ref().err().map(|error| StoreError(reason(error)));
        for tell in tell {
            tell(error.as_ref());
        }
        if let Some(error) = &error {
            for request in rest {
                (request.work)(Err(error));
            }
        }
        done
    }

    fn transact(&mut self, batch: &mut std::vec::IntoIter<Request>, tell: &mut Vec<Tell>) -> rusqlite::Result<()> {
        let writes = batch.as_slice().iter().filter_map(|request| request.writes).max();
        if let Some(durability) = writes.filter(|durability| *durability != self.durability) {
            let synchronous = match durability {
                Durability::Process => "NORMAL",
                Durability::Power => "FULL",
            };
            self.connection.pragma_update(None, "synchronous", synchronous)?;
            self.durability = durability;
        }
        let behavior = if writes.is_some() { TransactionBehavior::Immediate } else { TransactionBehavior::Deferred };
        let transaction = self.connection.transaction_with_behavior(behavior)?;
        for request in batch {
            let Some(Worked { tell: this, failed }) = (request.work)(Ok(&transaction)) else { continue };
            tell.push(this);
            // SQLite has undone all of it, as it does when there is no room for a large value.
            if let Some(failed) = failed.filter(|_| transaction.is_autocommit()) {
                return Err(rusqlite::Error::SqliteFailure(failed, None));
            }
        }
        transaction.commit()
    }

    /// Reports what was written since the last time, by this process and others.
    fn report(&mut self, changes: &broadcast::Sender<Changed>) -> rusqlite::Result<()> {
        let version = last(&self.connection)?;
        if version != self.reported && changes.receiver_count() > 0 {
            let mut query =
                self.connection.prepare("SELECT key FROM entry WHERE version > ?1 ORDER BY version LIMIT ?2")?;
            let keys = query.query_map(params![self.reported, BACKLOG], |row| row.get(0))?;
            let keys: Vec<String> = keys.collect::<rusqlite::Result<_>>()?;
            let all = keys.len() == BACKLOG;
            for changed in keys.into_iter().map(Changed::Key).filter(|_| !all).chain(all.then_some(Changed::All)) {
                // An error means that nobody watches any more.
                let _ = changes.send(changed);
            }
        }
        self.reported = version;
        Ok(())
    }
}

fn last(connection: &Connection) -> rusqlite::Result<u64> {
    connection.prepare("SELECT version FROM last")?.query_row([], |row| row.get(0))
}

#[cfg(test)]
mod tests;
