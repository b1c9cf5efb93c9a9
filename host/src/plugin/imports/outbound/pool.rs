//! The connection pool: idle connections that are kept for the next request.
//!
//! `hyper-util` has two pools, and neither fits. Its legacy client keys connections by scheme and
//! authority only, so two entries of a grant of which one allows private addresses would share
//! them; it has no limit over all hosts; and its connections are separate tasks, which outlive a
//! dropped call until the server closes them. `client::pool::cache` limits neither number nor age.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::task::AbortOnDropHandle;

use super::connection::{Connection, Route};
use crate::sync::lock;

/// Maximum idle connections of one plugin: as many as its concurrent exchanges.
pub(super) const MAX_PER_PLUGIN: usize = 8;
/// Maximum idle connections of all plugins. Each has an open file and up to 100 KiB of buffers.
pub(super) const MAX_TOTAL: usize = 64;
/// Maximum age of a connection, so that the name of a busy one, too, is looked up, its address
/// checked and its certificate verified again.
pub(super) const MAX_AGE: Duration = Duration::from_secs(300);
/// Time for the rest of a request whose response was already received.
const REQUEST_GRACE: Duration = Duration::from_millis(100);

/// The idle connections of one loaded plugin under one set of grants. A reload or a change of the
/// grants creates a new pool; dropping this one closes its connections.
///
/// All callers of the plugin share them. No caller gains another's rights: TLS has no client
/// certificates here, each request has its own header fields, and a request that authenticates
/// its connection is the last one on it (`exchange`).
pub(super) struct Pool {
    /// The longest idle first.
    idle: Mutex<Vec<Idle>>,
    /// Permits for the idle connections of all plugins.
    permits: Arc<Semaphore>,
    /// How long a connection is kept.
    time: Duration,
    runtime: Handle,
}

struct Idle {
    connection: Connection,
    since: Instant,
    permit: OwnedSemaphorePermit,
    /// Closes the connection when its idle time is over.
    _expiry: AbortOnDropHandle<()>,
}

impl Pool {
    pub(super) fn new(permits: Arc<Semaphore>, time: Duration, runtime: Handle) -> Arc<Self> {
        Arc::new(Self { idle: Mutex::default(), permits, time, runtime })
    }

    /// An idle connection of that route, last used within that time.
    pub(super) fn take(&self, route: &Route, used: Duration) -> Option<Connection> {
        let mut idle = self.lock();
        idle.retain(|idle| idle.connection.is_ready());
        let found = idle.iter().rposition(|idle| idle.connection.route == *route && idle.since.elapsed() < used)?;
        Some(idle.remove(found).connection)
    }

    /// Keeps a connection whose last response was fully read. Its request may still be in transit,
    /// and holds its plugin's permit until then.
    pub(super) fn keep(self: Arc<Self>, mut connection: Connection, permit: Arc<OwnedSemaphorePermit>) {
        if connection.is_ready() {
            return self.put(connection);
        }
        self.runtime.clone().spawn(async move {
            if let Ok(true) = timeout(REQUEST_GRACE, connection.ready()).await {
                self.put(connection);
            }
            drop(permit);
        });
    }

    fn put(self: &Arc<Self>, connection: Connection) {
        let mut idle = self.lock();
        idle.retain(|idle| idle.connection.is_ready());
        if self.time.is_zero() || connection.opened.elapsed() > MAX_AGE {
            return;
        }
        let permit = if idle.len() < MAX_PER_PLUGIN { self.permits.clone().try_acquire_owned().ok() } else { None };
        let permit = match permit {
            Some(permit) => permit,
            None if idle.is_empty() => return,
            None => idle.remove(0).permit,
        };
        let (pool, time) = (Arc::downgrade(self), self.time);
        let since = Instant::now();
        let expiry = self.runtime.spawn(async move {
            sleep(time).await;
            if let Some(pool) = pool.upgrade() {
                pool.lock().retain(|idle| idle.since.elapsed() < time);
            }
        });
        idle.push(Idle { connection, since, permit, _expiry: AbortOnDropHandle::new(expiry) });
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Idle>> {
        lock(&self.idle)
    }
}
