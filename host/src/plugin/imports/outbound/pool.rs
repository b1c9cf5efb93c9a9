//! Connections that are kept for the next request.
//!
//! `hyper-util` has two pools, and neither fits. Its legacy client knows connections by scheme and
//! authority only, so that two entries of a grant of which one allows private addresses would
//! share them; it has no bound over all hosts; and its connections are tasks of their own, which
//! outlive a dropped call for as long as the server likes. `client::pool::cache` bounds neither
//! number nor time.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::task::AbortOnDropHandle;

use super::connection::{Connection, Route};

/// Idle connections of one plugin: as many as it may use at the same time.
pub(super) const OF_ONE: usize = 8;
/// Idle connections of all plugins. Each is an open file and up to 100 KiB of buffers.
pub(super) const IN_ALL: usize = 64;
/// A connection that is older is not kept, so that a busy one, too, has its name looked up, its
/// address checked and its certificate verified again.
pub(super) const AGE: Duration = Duration::from_secs(300);
/// For the rest of a request whose response is there already.
const SETTLE: Duration = Duration::from_millis(100);

/// The idle connections of one loaded plugin under one set of grants. A reload or new grants make
/// a new pool, and dropping this one closes what is in it.
///
/// Callers of the plugin share them. That gives none of them another's rights: TLS has no client
/// certificates here, each request has its own header fields, and a request that authenticates
/// its connection is the last one on it (`exchange`).
pub(super) struct Pool {
    /// The one that has been idle for longest first.
    idle: Mutex<Vec<Idle>>,
    /// Places for the idle connections of all plugins.
    places: Arc<Semaphore>,
    /// How long a connection is kept.
    time: Duration,
    runtime: Handle,
}

struct Idle {
    connection: Connection,
    since: Instant,
    place: OwnedSemaphorePermit,
    /// Closes it when its time is over.
    _expiry: AbortOnDropHandle<()>,
}

impl Pool {
    pub(super) fn new(places: Arc<Semaphore>, time: Duration, runtime: Handle) -> Arc<Self> {
        Arc::new(Self { idle: Mutex::default(), places, time, runtime })
    }

    /// A connection of that route that was used within that time.
    pub(super) fn take(&self, route: &Route, used: Duration) -> Option<Connection> {
        let mut idle = self.lock();
        idle.retain(|idle| idle.connection.is_ready());
        let found = idle.iter().rposition(|idle| idle.connection.route == *route && idle.since.elapsed() < used)?;
        Some(idle.remove(found).connection)
    }

    /// Keeps a connection whose last response was read whole. Its request may still be on its way,
    /// and counts as one of its plugin until then.
    pub(super) fn keep(self: Arc<Self>, mut connection: Connection, turn: Arc<OwnedSemaphorePermit>) {
        if connection.is_ready() {
            return self.put(connection);
        }
        self.runtime.clone().spawn(async move {
            if let Ok(true) = timeout(SETTLE, connection.ready()).await {
                self.put(connection);
            }
            drop(turn);
        });
    }

    fn put(self: &Arc<Self>, connection: Connection) {
        let mut idle = self.lock();
        idle.retain(|idle| idle.connection.is_ready());
        if self.time.is_zero() || connection.opened.elapsed() > AGE {
            return;
        }
        let place = if idle.len() < OF_ONE { self.places.clone().try_acquire_owned().ok() } else { None };
        let place = match place {
            Some(place) => place,
            None if idle.is_empty() => return,
            None => idle.remove(0).place,
        };
        let (pool, time) = (Arc::downgrade(self), self.time);
        let since = Instant::now();
        let expiry = self.runtime.spawn(async move {
            sleep(time).await;
            if let Some(pool) = pool.upgrade() {
                pool.lock().retain(|idle| idle.since.elapsed() < time);
            }
        });
        idle.push(Idle { connection, since, place, _expiry: AbortOnDropHandle::new(expiry) });
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Idle>> {
        self.idle.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
