//! How many bytes of requests may run or wait: of one connection, and large ones of all.
//!
//! It counts what was sent, not what became of it.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bytes of a request that is not counted with those of other connections: what others send
/// does not keep a client from saying what clients say all the time.
const SMALL: usize = 64 << 10;

/// Of one connection.
pub(in crate::server) struct Room {
    /// KiB.
    own: Arc<Semaphore>,
    /// KiB, of all connections.
    large: Arc<Semaphore>,
}

/// Given back when it is dropped.
pub(in crate::server) struct Taken {
    _own: OwnedSemaphorePermit,
    _large: Option<OwnedSemaphorePermit>,
}

impl Room {
    pub(in crate::server) fn new(own: usize, large: Arc<Semaphore>) -> Self {
        Self { own: Arc::new(Semaphore::new(own)), large }
    }

    /// Room for a request of so many bytes, if there is any.
    pub(in crate::server) fn take(&self, size: usize) -> Option<Taken> {
        let kib = u32::try_from(size / 1024 + 1).ok()?;
        let own = self.own.clone().try_acquire_many_owned(kib).ok()?;
        let large = if size > SMALL { Some(self.large.clone().try_acquire_many_owned(kib).ok()?) } else { None };
        Some(Taken { _own: own, _large: large })
    }
}
