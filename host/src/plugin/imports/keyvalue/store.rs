//! The database file: opened when it is first needed, shared with other processes, and
//! used by one piece of work at a time.
//!
//! Knows neither plugins nor limits. A file that cannot be used is left as it is.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, TransactionBehavior};
use tokio::sync::Mutex;

use crate::os::private;

/// How long to wait for another process that writes.
const BUSY: Duration = Duration::from_secs(5);
/// How often to look whether it is done. The database's own waiting looks ever less often,
/// and a process that writes without a pause would starve the others.
const LOOK: Duration = Duration::from_millis(2);
/// The version of the tables below, in the file's `user_version`.
const VERSION: i64 = 1;

/// `used` follows `entry` by triggers, so no write can forget it. `number` rises with each
/// new key of a bucket: what a listing's cursor counts in.
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

/// Why something was not done.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::plugin) enum StoreError {
    /// A sentence for the guest: which limit, or what is wrong with its request.
    Refused(String),
    /// A reason for the operator alone.
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
    /// Touches no file yet.
    pub(in crate::plugin) fn new(path: Option<PathBuf>) -> Arc<Self> {
        Arc::new(Self { path, connection: Arc::default() })
    }

    /// Runs that piece of work where it may block, when its turn has come. Dropping the
    /// future before that leaves it undone; after that it is done or not, never half.
    pub(super) async fn run<R: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<R, StoreError> + Send + 'static,
    ) -> Result<R, StoreError> {
        // Not a lock of the standard library: its waiters would each hold a thread, and the
        // busiest plugin would get it most often.
        let mut place = self.connection.clone().lock_owned().await;
        let path = self.path.clone();
        let done = tokio::task::spawn_blocking(move || {
            let mut connection = match place.take() {
                Some(connection) => connection,
                None => open(path.as_deref())?,
            };
            let done = work(&mut connection);
            // After a failure the file is opened anew, since somebody may have mended it. What
            // is in memory would be lost by that.
            if path.is_none() || !matches!(done, Err(StoreError::Failed(_))) {
                *place = Some(connection);
            }
            done
        });
        let done = done.await.unwrap_or_else(|error| Err(StoreError::Failed(error.to_string())));
        match (done, &self.path) {
            (Err(StoreError::Failed(why)), Some(path)) => Err(StoreError::Failed(format!("{why}: {}", path.display()))),
            (done, _) => done,
        }
    }
}

fn open(path: Option<&Path>) -> Result<Connection, StoreError> {
    let Some(path) = path else {
        tracing::warn!("what plugins store is lost when this process ends: there is no folder for its file");
        let mut connection = Connection::open_in_memory()?;
        prepare(&mut connection)?;
        return Ok(connection);
    };
    private_file(path).map_err(|error| StoreError::Failed(error.to_string()))?;
    let mut connection = Connection::open(path)?;
    let deadline = Instant::now() + BUSY;
    loop {
        match prepare(&mut connection) {
            Ok(VERSION) => return Ok(connection),
            Ok(other) => {
                let why = format!("its tables are of version {other}, which this program does not know");
                return Err(StoreError::Failed(why));
            }
            // Going over to WAL does not wait for another process that does the same.
            Err(rusqlite::Error::SqliteFailure(error, _))
                if error.code == ErrorCode::DatabaseBusy && Instant::now() < deadline =>
            {
                std::thread::sleep(LOOK);
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Makes the file, for this user alone, if it is not there; the files that the database
/// puts beside it get the same mode.
fn private_file(path: &Path) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        private::create_folder(folder)?;
    }
    // Never opens one that is there: to close it again would drop the database's locks.
    match private::create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Settings and tables; gives the version of the tables that are there then.
fn prepare(connection: &mut Connection) -> rusqlite::Result<i64> {
    connection.busy_handler(Some(wait))?;
    let version = |connection: &Connection| connection.pragma_query_value(None, "user_version", |row| row.get(0));
    let found = version(connection)?;
    if found != 0 && found != VERSION {
        return Ok(found);
    }
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // What a guest was told to be stored is on the disk, also after a loss of power.
    connection.pragma_update(None, "synchronous", "FULL")?;
    // Bytes that the log keeps when it is empty again.
    connection.pragma_update(None, "journal_size_limit", 4 << 20)?;
    if found == VERSION {
        return Ok(found);
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have made them meanwhile.
    let found = version(&transaction)?;
    if found != 0 {
        return Ok(found);
    }
    transaction.execute_batch(TABLES)?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    transaction.commit()?;
    Ok(VERSION)
}

/// Whether to look again, after having waited.
fn wait(looks: i32) -> bool {
    std::thread::sleep(LOOK);
    LOOK.saturating_mul(looks.unsigned_abs()) < BUSY
}
