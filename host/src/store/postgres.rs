//! A store in a PostgreSQL database, for several machines.
//!
//! A server that is away is an error within the timeouts; connections are made again when they are needed.

mod counted;
mod failure;
mod listener;
mod schema;
mod session;
mod settings;
mod statements;
mod tls;

use std::sync::Arc;

use async_trait::async_trait;
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, broadcast};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use tokio_util::task::AbortOnDropHandle;

use super::{Changed, Entry, Expected, Keys, MAX_KEY, Page, Put, Store, StoreError, Usage, end};
use crate::sync::{Mutex, lock};
use session::Session;
pub use settings::PostgresSettings;

/// Changed keys that a slow watcher may lag behind.
const BACKLOG: usize = 4096;

/// A store in a database, which is connected when it is first needed.
pub struct Postgres {
    settings: PostgresSettings,
    /// One for each connection.
    permits: Semaphore,
    /// Connections that nobody uses now.
    idle: Mutex<Vec<Session>>,
    changes: broadcast::Sender<Changed>,
    /// Once somebody watches.
    listener: Mutex<Option<AbortOnDropHandle<()>>>,
}

impl Postgres {
    pub fn new(settings: PostgresSettings) -> Arc<Self> {
        let (changes, _) = broadcast::channel(BACKLOG);
        let permits = Semaphore::new(settings.connections.clamp(1, PostgresSettings::MAX_CONNECTIONS) as usize);
        Arc::new(Self { settings, permits, idle: Mutex::default(), changes, listener: Mutex::default() })
    }

    /// Runs one statement. There is an answer or an error within both timeouts together.
    async fn query(&self, statement: &'static str, parameters: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, StoreError> {
        let settings = &self.settings;
        let deadline = Instant::now() + settings.connect_timeout + settings.request_timeout;
        let no_answer = |time| failure::timeout(settings, "there was no answer", humantime::format_duration(time));
        let Ok(permit) = timeout_at(deadline, self.permits.acquire()).await else {
            let why = format!("all of {} connections are in use", settings.connections);
            return Err(failure::with_advice(why, settings, "raise store.connections, or look why it is slow"));
        };
        // Not an error: the semaphore is never closed.
        let _permit = permit.map_err(|error| StoreError(error.to_string()))?;
        let mut session = match self.idle() {
            Some(session) => session,
            None => Session::open(settings, |driver| async { drop(driver.await) }).await?,
        };
        let time = settings.request_timeout.min(deadline.saturating_duration_since(Instant::now()));
        match timeout(time, session.query(statement, parameters)).await {
            Ok(Ok(rows)) => {
                lock(&self.idle).push(session);
                Ok(rows)
            }
            Ok(Err(error)) => {
                if failure::is_of_the_connection(&error) {
                    // The others had the same server.
                    lock(&self.idle).clear();
                } else {
                    lock(&self.idle).push(session);
                }
                Err(failure::of(&error, settings))
            }
            Err(_) => {
                lock(&self.idle).clear();
                Err(no_answer(settings.request_timeout))
            }
        }
    }

    /// One that is open.
    fn idle(&self) -> Option<Session> {
        let mut idle = lock(&self.idle);
        idle.retain(|session| !session.is_closed());
        idle.pop()
    }
}

#[async_trait]
impl Store for Postgres {
    async fn get(&self, key: &str) -> Result<Option<Entry>, StoreError> {
        let rows = self.query(statements::GET, &[&key]).await?;
        Ok(rows.first().map(entry))
    }

    async fn put(&self, put: Put) -> Result<Option<u64>, StoreError> {
        let Put { key, value, expected, expires, .. } = put;
        if key.len() > MAX_KEY {
            return Err(StoreError(format!("a key has {} bytes, of {MAX_KEY} at most", key.len())));
        }
        let (expires, size) = (expires.map(signed), (key.len() + value.len()) as i64);
        let rows = match expected {
            Expected::Absent => self.query(statements::PUT_ABSENT, &[&key, &value, &expires, &size]).await?,
            Expected::Anything => self.query(statements::PUT_ANYTHING, &[&key, &value, &expires, &size]).await?,
            Expected::Version(version) => {
                let version = signed(version);
                self.query(statements::PUT_VERSION, &[&key, &value, &expires, &size, &version]).await?
            }
        };
        Ok(rows.first().map(|row| unsigned(row.get(0))))
    }

    async fn delete(&self, key: &str) -> Result<bool, StoreError> {
        Ok(!self.query(statements::DELETE, &[&key]).await?.is_empty())
    }

    async fn list(&self, prefix: &str, after: &str, limit: usize, bytes: usize) -> Result<Page, StoreError> {
        // One more, to know whether there are more.
        let (most, bytes) = (signed(limit as u64).saturating_add(1), signed(bytes as u64));
        let rows = self.query(statements::LIST, &[&prefix, &end(prefix), &after, &most, &bytes]).await?;
        let found = rows.first().map_or(0, |row| unsigned(row.get(4)));
        let entries: Vec<Entry> = rows.iter().take(limit).map(entry).collect();
        Ok(Page { more: found > entries.len() as u64, entries })
    }

    async fn keys(&self, prefix: &str, after: &str, limit: usize) -> Result<Keys, StoreError> {
        // One more, to know whether there are more.
        let most = signed(limit as u64).saturating_add(1);
        let rows = self.query(statements::KEYS, &[&prefix, &end(prefix), &after, &most]).await?;
        let keys = rows.iter().take(limit).map(|row| row.get(0)).collect();
        Ok(Keys { keys, more: rows.len() > limit })
    }

    async fn usage(&self, prefix: &str) -> Result<Usage, StoreError> {
        let statement = if counted::covers(prefix) { counted::USAGE } else { statements::USAGE };
        let rows = self.query(statement, &[&prefix, &end(prefix)]).await?;
        Ok(rows
            .first()
            .map(|row| Usage { entries: unsigned(row.get(0)), bytes: unsigned(row.get(1)) })
            .unwrap_or_default())
    }

    async fn remove_expired(&self, now: u64, limit: usize) -> Result<usize, StoreError> {
        Ok(self.query(statements::REMOVE_EXPIRED, &[&signed(now), &signed(limit as u64)]).await?.len())
    }

    fn watch(&self) -> broadcast::Receiver<Changed> {
        let receiver = self.changes.subscribe();
        // Without a runtime there is nobody who could wait.
        if let Ok(runtime) = Handle::try_current() {
            lock(&self.listener).get_or_insert_with(|| {
                let listening = listener::listen(self.settings.clone(), self.changes.clone());
                AbortOnDropHandle::new(runtime.spawn(listening))
            });
        }
        receiver
    }
}

fn entry(row: &Row) -> Entry {
    let expires: Option<i64> = row.get(3);
    Entry { key: row.get(0), value: row.get(1), version: unsigned(row.get(2)), expires: expires.map(unsigned) }
}

/// Numbers are signed there; none is that large.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}
