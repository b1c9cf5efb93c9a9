//! Values by key that processes share: atomic writes, and who changed what.
//!
//! Narrow, so that several engines can be behind it: SQLite in a file, PostgreSQL or NATS for several machines. It knows
//! nothing of what the values are.

mod clock;
mod document;
pub mod lease;
#[cfg(feature = "nats")]
mod nats;
mod own_entry;
mod place;
#[cfg(feature = "postgres")]
mod postgres;
mod sqlite;
#[cfg(any(feature = "nats", feature = "postgres"))]
mod tls;
mod turn;
mod unread;
#[cfg(any(feature = "nats", feature = "postgres"))]
mod url;

use std::fmt;

use async_trait::async_trait;
use tokio::sync::broadcast;

pub use clock::now;
pub use document::{Document, DocumentWatch, Marked, Unedited};
#[cfg(feature = "nats")]
pub use nats::{Nats, NatsSettings};
pub use own_entry::OwnEntry;
pub use place::Place;
#[cfg(feature = "postgres")]
pub use postgres::{Postgres, PostgresSettings};
pub use sqlite::Sqlite;
pub use turn::Turn;
pub use unread::Unread;
#[cfg(any(feature = "nats", feature = "postgres"))]
pub use url::UnusableUrl;

/// A value and its version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub key: String,
    pub value: Vec<u8>,
    /// Another one after each write of the key; never 0.
    pub version: u64,
    /// As in [`Put::expires`].
    pub expires: Option<u64>,
}

impl Entry {
    /// Whether it counts as removed. `now`: milliseconds since 1970.
    pub fn has_expired(&self, now: u64) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }
}

/// What must be in the store for a write to happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// No such key.
    Absent,
    /// That version of it.
    Version(u64),
    Anything,
}

/// Some of the entries below a prefix.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    pub entries: Vec<Entry>,
    /// Whether there are more.
    pub more: bool,
}

/// Some of the keys below a prefix.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Keys {
    pub keys: Vec<String>,
    /// Whether there are more.
    pub more: bool,
}

/// What a write survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// The end of the process.
    Process,
    /// A power failure; so do all writes before it.
    Power,
}

/// A write.
#[derive(Debug, Clone)]
pub struct Put {
    pub key: String,
    pub value: Vec<u8>,
    pub expected: Expected,
    pub durability: Durability,
    /// Milliseconds since 1970; afterwards [`Store::remove_expired`] removes it.
    pub expires: Option<u64>,
}

/// What is below a prefix.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    pub entries: u64,
    /// Of keys and values.
    pub bytes: u64,
}

/// Keys that were written.
#[derive(Debug, Clone)]
pub enum Changed {
    Key(String),
    /// Any may have been.
    All,
}

/// Bytes of a key.
pub const MAX_KEY: usize = 1024;
/// What the keys begin with whose [usage](Store::usage) is asked for before each write.
pub const QUOTAS: &str = "keyvalue/";

/// Why the store could not be used, for the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreError(pub String);

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for StoreError {}

/// A store. Keys are of ASCII, at most [`MAX_KEY`] bytes, and compared by their bytes.
#[async_trait]
pub trait Store: Send + Sync {
    async fn get(&self, key: &str) -> Result<Option<Entry>, StoreError>;

    /// Writes if the store has what is expected; returns the new version. When it returns, every process reads it.
    async fn put(&self, put: Put) -> Result<Option<u64>, StoreError>;

    /// `false`: it is not there.
    async fn delete(&self, key: &str) -> Result<bool, StoreError>;

    /// Entries whose keys begin with `prefix` and come after `after`, by key: at most `limit`, and no more once they
    /// have that many bytes.
    async fn list(&self, prefix: &str, after: &str, limit: usize, bytes: usize) -> Result<Page, StoreError>;

    /// Keys that begin with `prefix` and come after `after`, in order, at most `limit`; without reading their values.
    async fn keys(&self, prefix: &str, after: &str, limit: usize) -> Result<Keys, StoreError>;

    /// What is below a prefix; without reading it.
    async fn usage(&self, prefix: &str) -> Result<Usage, StoreError>;

    /// Removes entries that expired before `now`, at most `limit`; returns how many. Where a server has them, also by its
    /// clock: that of this machine may be ahead.
    async fn remove_expired(&self, now: u64, limit: usize) -> Result<usize, StoreError>;

    /// Keys from now on, each at least once after it was written, by whatever process, within half a second. That a
    /// key was removed is not reported.
    fn watch(&self) -> broadcast::Receiver<Changed>;
}

/// A text after all keys that begin with `prefix`: they are of ASCII.
fn end(prefix: &str) -> String {
    format!("{prefix}\u{10ffff}")
}
