//! How many bytes of requests may run or wait: of one connection, and large ones of all.
//!
//! It counts what was sent, not what became of it.

use crate::budget::{self, Budget};

/// Bytes of a request that is not counted with those of other connections: what others send
/// does not keep a client from saying what clients say all the time.
const SMALL: usize = 64 << 10;
/// Bytes that a request takes beside its own: its task, and what its call keeps.
const BESIDE: usize = 4 << 10;

/// Of one connection.
pub(in crate::server) struct Room {
    own: Budget,
    /// Of all connections.
    large: Budget,
}

/// Given back when it is dropped.
pub(in crate::server) struct Taken {
    _own: budget::Taken,
    _large: Option<budget::Taken>,
}

impl Room {
    pub(in crate::server) fn new(own: usize, large: Budget) -> Self {
        Self { own: Budget::new(own), large }
    }

    /// Room for a request of so many bytes, if there is any.
    pub(in crate::server) fn take(&self, size: usize) -> Option<Taken> {
        let own = self.own.try_take(size.checked_add(BESIDE)?).ok()?;
        let large = if size > SMALL { Some(self.large.try_take(size).ok()?) } else { None };
        Some(Taken { _own: own, _large: large })
    }
}
