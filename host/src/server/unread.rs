//! How many bytes may wait for clients to read them: of one connection, and of all connections of
//! one caller and of all callers, where those of small messages and of large ones are counted apart.
//!
//! It is counted from when a message is made until its last byte has been written or dropped.

use crate::budget::{Budget, Parts, Taken};

/// Bytes of a message that is not counted with the large ones: who leaves megabytes unread keeps
/// others from getting megabytes, not from being served.
const SMALL: usize = 64 << 10;

/// Of all connections.
pub(super) struct UnreadOfAll {
    small: Parts,
    large: Parts,
}

impl UnreadOfAll {
    /// Bytes of large messages, of one caller and of all; of small ones it is half as many.
    pub(super) fn new(of_caller: usize, together: usize) -> Self {
        Self {
            small: Parts::new(Budget::new(together / 2), of_caller / 2),
            large: Parts::new(Budget::new(together), of_caller),
        }
    }

    /// That of one connection of a caller.
    pub(super) fn of(&self, caller: &std::sync::Arc<str>, limit: usize) -> Unread {
        Unread { own: Budget::new(limit), small: self.small.of(caller), large: self.large.of(caller) }
    }
}

/// Of one connection.
#[derive(Clone, Debug)]
pub struct Unread {
    own: Budget,
    small: Budget,
    large: Budget,
}

/// Counts one message, until it is dropped.
#[derive(Debug)]
pub(super) struct Waits {
    _own: Taken,
    _with_others: Taken,
}

impl Unread {
    /// Counts a message of so many bytes, also beyond the limits.
    pub(super) fn take(&self, bytes: usize) -> Waits {
        Waits { _own: self.own.take(bytes), _with_others: self.with_others(bytes).take(bytes) }
    }

    /// Counts it, if there is room.
    pub(super) fn try_take(&self, bytes: usize) -> Option<Waits> {
        let own = self.own.try_take(bytes).ok()?;
        Some(Waits { _own: own, _with_others: self.with_others(bytes).try_take(bytes).ok()? })
    }

    /// Whether its client has read enough for calls to begin.
    pub(super) fn is_open(&self) -> bool {
        self.own.is_open() && self.small.is_open()
    }

    /// Waits until that is so.
    pub(super) async fn open(&self) {
        while !self.is_open() {
            self.own.open().await;
            self.small.open().await;
        }
    }

    /// That of the connection alone.
    pub(super) fn own(&self) -> &Budget {
        &self.own
    }

    fn with_others(&self, bytes: usize) -> &Budget {
        if bytes > SMALL { &self.large } else { &self.small }
    }
}

#[cfg(test)]
mod tests;
