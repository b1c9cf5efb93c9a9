//! Limits on unread bytes: per connection, per caller and in total, where small and large messages
//! are counted separately.
//!
//! A message counts from its creation until its last byte has been written or dropped.

use std::borrow::Cow;
use std::sync::Arc;

use crate::byte_budget::{ByteBudget, Parts, SMALL, Taken};

/// The limits of all connections.
pub(in crate::server) struct AllUnread {
    small: Parts,
    large: Arc<Parts>,
}

impl AllUnread {
    /// Bytes of large messages, per caller and in total; half as many of small ones.
    pub(in crate::server) fn new(of_caller: usize, together: usize) -> Self {
        Self {
            small: Parts::new(ByteBudget::new(together / 2), of_caller / 2),
            large: Arc::new(Parts::new(ByteBudget::new(together), of_caller)),
        }
    }

    /// The accounting of one connection of a caller.
    pub(in crate::server) fn of(&self, caller: &Arc<str>, limit: usize) -> Unread {
        self.with_own(ByteBudget::new(limit), caller)
    }

    /// The accounting of a connection that has another caller from now on.
    pub(in crate::server) fn handed_over(&self, unread: &Unread, caller: &Arc<str>) -> Unread {
        self.with_own(unread.own.clone(), caller)
    }

    fn with_own(&self, own: ByteBudget, caller: &Arc<str>) -> Unread {
        Unread { own, small: self.small.of(caller), large: self.large.clone(), caller: caller.clone() }
    }
}

/// The unread bytes of one connection.
#[derive(Clone, Debug)]
pub struct Unread {
    own: ByteBudget,
    small: ByteBudget,
    /// Of all callers: few messages need it.
    large: Arc<Parts>,
    caller: Arc<str>,
}

/// The reservation of one message, until it is dropped.
#[derive(Debug)]
pub(in crate::server) struct UnreadBytes {
    _own: Taken,
    _with_others: Taken,
}

impl Unread {
    /// Counts a message, even beyond the limits.
    pub(in crate::server) fn take(&self, bytes: usize) -> UnreadBytes {
        UnreadBytes { _own: self.own.take(bytes), _with_others: self.with_others(bytes).take(bytes) }
    }

    /// Counts a message, if the limits allow it.
    pub(in crate::server) fn try_take(&self, bytes: usize) -> Option<UnreadBytes> {
        let own = self.own.try_take(bytes).ok()?;
        Some(UnreadBytes { _own: own, _with_others: self.with_others(bytes).try_take(bytes).ok()? })
    }

    /// Whether the client has read enough for calls to start.
    pub(in crate::server) fn is_open(&self) -> bool {
        self.own.is_open() && self.small.is_open()
    }

    /// Waits until it has.
    pub(in crate::server) async fn open(&self) {
        while !self.is_open() {
            self.own.open().await;
            self.small.open().await;
        }
    }

    /// The connection's own budget.
    pub(in crate::server) fn own(&self) -> &ByteBudget {
        &self.own
    }

    fn with_others(&self, bytes: usize) -> Cow<'_, ByteBudget> {
        if bytes > SMALL { Cow::Owned(self.large.of(&self.caller)) } else { Cow::Borrowed(&self.small) }
    }
}

#[cfg(test)]
mod tests;
