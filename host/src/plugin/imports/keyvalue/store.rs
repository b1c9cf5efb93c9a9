//! The database file: opened when first needed, shared with other processes, and used by one task
//! at a time.
//!
//! Knows neither plugins nor limits. A file that cannot be used is left unchanged.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{fs, io};

use rusqlite::{Connection, ErrorCode, TransactionBehavior};
use tokio::sync::Mutex;
use wharf_report::ShowPath as _;

use crate::os::paths::with_suffix;
use crate::os::private::{self, Rule};

/// How long to wait while another process writes.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// How often to retry meanwhile. SQLite's own busy handler backs off, so a process that writes
/// continuously would starve the others.
const POLL_INTERVAL: Duration = Duration::from_millis(2);
/// The version of the tables below, in the file's `user_version`.
const VERSION: i64 = 1;

/// Triggers update `used`, so no write can forget it. `number` increases with each new key of a
/// bucket, and is a listing's cursor.
const TABLES: &str = "
    CREATE TABLE entry (
        plugin TEXT NOT NULL,
        bucket TEXT NOT NULL,
        key TEXT NOT NULL,
        number INTEGER NOT NULL,
        value BLOB NOT NULL,
        UNIQUE (plugin, bucket, key),
        UNIQUE (plugin, bucket, number)
    ) STRICT;
    CREATE TABLE used (
        plugin TEXT PRIMARY KEY,
        keys INTEGER NOT NULL,
        bytes INTEGER NOT NULL
    ) STRICT;
    CREATE TRIGGER entry_new AFTER INSERT ON entry BEGIN
        INSERT INTO used VALUES (
            NEW.plugin, 1, octet_length(NEW.bucket) + octet_length(NEW.key) + octet_length(NEW.value)
        ) ON CONFLICT (plugin) DO UPDATE SET keys = keys + 1, bytes = bytes + excluded.bytes;
    END;
    CREATE TRIGGER entry_changed AFTER UPDATE OF value ON entry BEGIN
        UPDATE used SET bytes = bytes - octet_length(OLD.value) + octet_length(NEW.value)
        WHERE plugin = NEW.plugin;
    END;
    CREATE TRIGGER entry_gone AFTER DELETE ON entry BEGIN
        UPDATE used SET keys = keys - 1,
            bytes = bytes - octet_length(OLD.bucket) - octet_length(OLD.key) - octet_length(OLD.value)
        WHERE plugin = OLD.plugin;
    END;
";

/// Why a task failed.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::plugin) enum StoreError {
    /// For the guest: which limit was exceeded, or what is wrong with its request.
    Refused(String),
    /// For the operator only.
    Failed(String),
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

/// The database of a process.
pub(in crate::plugin) struct Store {
    /// `None`: in memory.
    path: Option<PathBuf>,
    connection: Arc<Mutex<Option<Connection>>>,
}

impl Store {
    /// Opens no file yet.
    pub(in crate::plugin) fn new(path: Option<PathBuf>) -> Arc<Self> {
        Arc::new(Self { path, connection: Arc::default() })
    }

    /// Runs a task on a blocking thread when it is its turn. If the future is dropped before that,
    /// the task does not run; otherwise it runs to its end.
    pub(super) async fn run<R: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<R, StoreError> + Send + 'static,
    ) -> Result<R, StoreError> {
        // Not a `std` mutex: each waiter would block a thread, and the order would not be fair.
        let mut slot = self.connection.clone().lock_owned().await;
        let path = self.path.clone();
        let done = tokio::task::spawn_blocking(move || {
            let mut connection = match slot.take() {
                Some(connection) => connection,
                None => open(path.as_deref())?,
            };
            let done = work(&mut connection);
            // After a failure the file is reopened, since it may have been repaired. A database in
            // memory would be lost.
            if path.is_none() || !matches!(done, Err(StoreError::Failed(_))) {
                *slot = Some(connection);
            }
            done
        });
        let done = done.await.unwrap_or_else(|error| Err(StoreError::Failed(error.to_string())));
        match (done, &self.path) {
            (Err(StoreError::Failed(why)), Some(path)) => Err(StoreError::Failed(format!("{why}: {}", path.shown()))),
            (done, _) => done,
        }
    }
}

fn open(path: Option<&Path>) -> Result<Connection, StoreError> {
    let Some(path) = path else {
        tracing::warn!("plugins' data is kept in memory and lost when this process ends: no data folder is known");
        let mut connection = Connection::open_in_memory()?;
        prepare(&mut connection)?;
        return Ok(connection);
    };
    private_file(path).map_err(|error| StoreError::Failed(error.to_string()))?;
    let mut connection = Connection::open(path)?;
    let deadline = Instant::now() + BUSY_TIMEOUT;
    loop {
        match prepare(&mut connection) {
            Ok(VERSION) => return Ok(connection),
            Ok(other) => {
                let why = format!("its tables have version {other}, which this program does not support");
                return Err(StoreError::Failed(why));
            }
            // Switching to WAL does not wait for another process that does the same.
            Err(rusqlite::Error::SqliteFailure(error, _))
                if error.code == ErrorCode::DatabaseBusy && Instant::now() < deadline =>
            {
                std::thread::sleep(POLL_INTERVAL);
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Creates the file, for this user only, if it does not exist. SQLite gives its other files the same
/// mode.
///
/// # Errors
/// Also if other users can write one of the files, or replace them.
fn private_file(path: &Path) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        private::create_folder(folder)?;
    }
    // Never opens an existing file: closing it again would drop this process's POSIX locks on it.
    match private::create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let files = ["", "-wal", "-shm", "-journal"].map(|suffix| with_suffix(path, suffix));
    for place in files.iter().map(PathBuf::as_path).chain(path.parent()) {
        let Ok(found) = fs::metadata(place) else { continue };
        if let Some(why) = private::distrust(&found, Rule::Installed) {
            let why = format!("{why}: {}", place.shown());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
    }
    Ok(())
}

/// Applies settings and creates the tables; returns the version of the tables.
fn prepare(connection: &mut Connection) -> rusqlite::Result<i64> {
    connection.busy_handler(Some(wait))?;
    let version = |connection: &Connection| connection.pragma_query_value(None, "user_version", |row| row.get(0));
    let found = version(connection)?;
    if found != 0 && found != VERSION {
        return Ok(found);
    }
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // A write that succeeded survives a power failure.
    connection.pragma_update(None, "synchronous", "FULL")?;
    // Bytes to which the WAL file is truncated after a checkpoint.
    connection.pragma_update(None, "journal_size_limit", 4 << 20)?;
    if found == VERSION {
        return Ok(found);
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have created them meanwhile.
    let found = version(&transaction)?;
    if found != 0 {
        return Ok(found);
    }
    transaction.execute_batch(TABLES)?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    transaction.commit()?;
    Ok(VERSION)
}

/// Waits; returns whether to retry.
fn wait(polls: i32) -> bool {
    std::thread::sleep(POLL_INTERVAL);
    POLL_INTERVAL.saturating_mul(polls.unsigned_abs()) < BUSY_TIMEOUT
}
