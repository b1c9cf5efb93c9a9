//! Limits on the bytes of running and waiting requests: per connection, and in total for large ones.
//!
//! It counts the bytes received, not the memory used.

use crate::byte_budget::{ByteBudget, SMALL, Taken};

/// Bytes that a request takes in addition to its text: its task and call state.
const OVERHEAD: usize = 4 << 10;

/// The budget of one connection.
pub(in crate::server) struct RequestBudget {
    own: ByteBudget,
    /// Shared by all connections.
    large: ByteBudget,
}

/// Reserved bytes, released on drop.
pub(in crate::server) struct RequestBytes {
    _own: Taken,
    _large: Option<Taken>,
}

impl RequestBudget {
    pub(in crate::server) fn new(own: usize, large: ByteBudget) -> Self {
        Self { own: ByteBudget::new(own), large }
    }

    /// Reserves the bytes of a request, if the limits allow it. A small one counts only against its connection.
    pub(in crate::server) fn try_take(&self, size: usize) -> Option<RequestBytes> {
        let own = self.own.try_take(size.checked_add(OVERHEAD)?).ok()?;
        let large = if size > SMALL { Some(self.large.try_take(size).ok()?) } else { None };
        Some(RequestBytes { _own: own, _large: large })
    }
}
