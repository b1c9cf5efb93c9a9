//! The database file: opened when first needed, shared with other processes, and used by one task
//! at a time.
//!
//! Knows neither plugins nor limits. A file that cannot be used is left unchanged.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::Connection;
use tokio::sync::Mutex;
use wharf_report::ShowPath as _;

use super::entries::hash_subjects;
use crate::database::{Schema, is_full, reason};
use crate::seldom::Seldom;

/// Triggers update `used`, so no write can forget it. `number` increases with each new key of a
/// bucket, and is a listing's cursor. `plugin` is the owner: [`super::local::owner`].
const SCHEMA: Schema = Schema {
    version: 2,
    tables: "
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
",
    upgrades: &[hash_subjects],
};

/// Why a task failed.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::plugin) enum StoreError {
    /// For the guest: which limit was exceeded, or what is wrong with its request.
    Refused(String),
    /// For the operator only.
    Failed(String),
    /// The same: there is no room.
    Full(String),
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        let why = reason(&error);
        if is_full(&error) { Self::Full(why) } else { Self::Failed(why) }
    }
}

impl From<crate::store::StoreError> for StoreError {
    fn from(error: crate::store::StoreError) -> Self {
        Self::Failed(error.0)
    }
}

/// The database of a process.
pub(in crate::plugin) struct Store {
    /// `None`: in memory.
    path: Option<PathBuf>,
    /// Whether the log says that it is in memory, and thus lost.
    says_so: bool,
    connection: Arc<Mutex<Option<Connection>>>,
    pub(super) failures: Seldom,
}

impl Store {
    /// Opens no file yet.
    pub(super) fn in_file(path: PathBuf) -> Arc<Self> {
        Arc::new(Self { path: Some(path), says_so: false, connection: Arc::default(), failures: Seldom::default() })
    }

    /// `says_so`: whether somebody may count on what is kept, and is told in the log that it is lost.
    pub(super) fn in_memory(says_so: bool) -> Arc<Self> {
        Arc::new(Self { path: None, says_so, connection: Arc::default(), failures: Seldom::default() })
    }

    /// Runs a task on a blocking thread when it is its turn. If the future is dropped before that,
    /// the task does not run; otherwise it runs to its end.
    pub(super) async fn run<R: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<R, StoreError> + Send + 'static,
    ) -> Result<R, StoreError> {
        // Not a `std` mutex: each waiter would block a thread, and the order would not be fair.
        let mut slot = self.connection.clone().lock_owned().await;
        let (path, says_so) = (self.path.clone(), self.says_so);
        let done = tokio::task::spawn_blocking(move || {
            let mut connection = match slot.take() {
                Some(connection) => connection,
                None => open(path.as_deref(), says_so)?,
            };
            let done = work(&mut connection);
            // After a failure the file is reopened, since it may have been repaired. That needs room. A database in
            // memory would be lost.
            if path.is_none() || !matches!(done, Err(StoreError::Failed(_))) {
                *slot = Some(connection);
            }
            done
        });
        let done = done.await.unwrap_or_else(|error| Err(StoreError::Failed(error.to_string())));
        match (done, &self.path) {
            (Err(StoreError::Failed(why)), Some(path)) => Err(StoreError::Failed(format!("{why}: {}", path.shown()))),
            (Err(StoreError::Full(why)), Some(path)) => Err(StoreError::Full(format!("{why}: {}", path.shown()))),
            (done, _) => done,
        }
    }
}

fn open(path: Option<&Path>, says_so: bool) -> Result<Connection, StoreError> {
    let Some(path) = path else {
        if says_so {
            tracing::warn!("plugins' data is kept in memory and lost when this process ends: no data folder is known");
        }
        return Ok(SCHEMA.in_memory()?);
    };
    SCHEMA.open(path).map_err(StoreError::Failed)
}
