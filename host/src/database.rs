//! SQLite files that processes of one user share.
//!
//! Knows nothing of what is in them. A file that cannot be used is left unchanged.

use std::path::Path;
use std::time::{Duration, Instant};
use std::{fs, io};

use rusqlite::{Connection, ErrorCode, TransactionBehavior, ffi};
use wharf_report::ShowPath as _;

use crate::os::paths::with_suffix;
use crate::os::private::{self, Rule};

/// How long to wait while another process writes.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// How often to retry meanwhile. SQLite's own busy handler backs off, so a process that writes
/// continuously would starve the others.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

const FULL: &str = "its disk is full (make room there)";

/// What an error of SQLite says, for people: without the statement, which is always one of ours.
pub fn reason(error: &rusqlite::Error) -> String {
    if is_full(error) {
        return FULL.to_owned();
    }
    let (said, is_of_tables) = match error {
        rusqlite::Error::SqlInputError { msg, .. } => (msg.clone(), true),
        rusqlite::Error::SqliteFailure(_, Some(said)) => {
            (said.clone(), said.starts_with("no such ") || said.contains(" has no column named "))
        }
        other => (other.to_string(), false),
    };
    if is_of_tables { format!("its tables are not those of this program: {said}") } else { said }
}

/// Whether there was no room on the disk. What is in an open file can be read then; to open it again needs room.
pub fn is_full(error: &rusqlite::Error) -> bool {
    error.sqlite_error().is_some_and(|error| {
        // The second: for the index of its log, when it is opened.
        error.code == ErrorCode::DiskFull || error.extended_code == ffi::SQLITE_IOERR_SHMSIZE
    })
}

/// The tables of a file.
pub struct Schema {
    /// In the file's `user_version`; not 0.
    pub version: i64,
    /// The statements that create them.
    pub tables: &'static str,
    /// What turns each older version into the next one, from 1 on.
    pub upgrades: &'static [fn(&Connection) -> rusqlite::Result<()>],
}

impl Schema {
    /// Opens the file, which is made for this user only if it does not exist. Blocks.
    ///
    /// # Errors
    /// Also if other users can write one of its files, or if it has tables of another version.
    pub fn open(&self, path: &Path) -> Result<Connection, String> {
        private_file(path).map_err(|error| match error.kind() {
            io::ErrorKind::StorageFull => FULL.to_owned(),
            _ => error.to_string(),
        })?;
        let mut connection = Connection::open(path).map_err(|error| reason(&error))?;
        let deadline = Instant::now() + BUSY_TIMEOUT;
        loop {
            match self.prepare(&mut connection) {
                Ok(version) if version == self.version => return Ok(connection),
                Ok(other) => {
                    return Err(format!("its tables have version {other}, which this program does not support"));
                }
                // Switching to WAL does not wait for another process that does the same.
                Err(rusqlite::Error::SqliteFailure(error, _))
                    if error.code == ErrorCode::DatabaseBusy && Instant::now() < deadline =>
                {
                    std::thread::sleep(POLL_INTERVAL);
                }
                Err(error) => return Err(reason(&error)),
            }
        }
    }

    /// The same tables without a file.
    pub fn in_memory(&self) -> rusqlite::Result<Connection> {
        let mut connection = Connection::open_in_memory()?;
        self.prepare(&mut connection)?;
        Ok(connection)
    }

    /// Applies settings, and creates or upgrades the tables; returns the version of the tables.
    fn prepare(&self, connection: &mut Connection) -> rusqlite::Result<i64> {
        connection.busy_handler(Some(wait))?;
        let version = |connection: &Connection| connection.pragma_query_value(None, "user_version", |row| row.get(0));
        let found = version(connection)?;
        if !(0..=self.version).contains(&found) {
            return Ok(found);
        }
        connection.pragma_update(None, "journal_mode", "WAL")?;
        // A write that succeeded survives a power failure.
        connection.pragma_update(None, "synchronous", "FULL")?;
        // Bytes to which the WAL file is truncated after a checkpoint.
        connection.pragma_update(None, "journal_size_limit", 4 << 20)?;
        if found == self.version {
            return Ok(found);
        }
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Another process may have created or upgraded them meanwhile.
        let found = version(&transaction)?;
        if !(0..self.version).contains(&found) {
            return Ok(found);
        }
        match usize::try_from(found - 1) {
            Ok(upgraded) => self.upgrades.iter().skip(upgraded).try_for_each(|upgrade| upgrade(&transaction))?,
            Err(_) => transaction.execute_batch(self.tables)?,
        }
        transaction.pragma_update(None, "user_version", self.version)?;
        transaction.commit()?;
        Ok(self.version)
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
    for place in files.iter().map(std::path::PathBuf::as_path).chain(path.parent()) {
        let Ok(found) = fs::metadata(place) else { continue };
        if let Some(why) = private::distrust(&found, Rule::Installed) {
            let why = format!("{why}: {}", place.shown());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
    }
    Ok(())
}

/// Waits; returns whether to retry.
fn wait(polls: i32) -> bool {
    std::thread::sleep(POLL_INTERVAL);
    POLL_INTERVAL.saturating_mul(polls.unsigned_abs()) < BUSY_TIMEOUT
}
