//! What a connection of HTTP keeps from one request for the next, where nothing was left of it.
//!
//! One request after the other comes by a connection, and to make these costs more than to
//! keep them.

use std::sync::{Mutex, PoisonError};

use super::alone::Line;
use super::session::Channel;

#[derive(Default)]
pub(super) struct Kept {
    line: Mutex<Option<Line>>,
    channel: Mutex<Option<Channel>>,
}

impl Kept {
    /// For a request that stands alone.
    pub(super) fn line(&self, principal: &str) -> Option<Line> {
        take(&self.line).filter(|line| line.is_of(principal))
    }

    pub(super) fn keep_line(&self, line: Line) {
        if line.is_quiet() {
            put(&self.line, line);
        }
    }

    /// For a request in a session.
    pub(super) fn channel(&self) -> Option<Channel> {
        take(&self.channel)
    }

    pub(super) fn keep_channel(&self, channel: Channel) {
        let (outbox, messages) = &channel;
        if messages.is_empty() && outbox.strong_count() == 1 {
            put(&self.channel, channel);
        }
    }
}

fn take<T>(slot: &Mutex<Option<T>>) -> Option<T> {
    slot.lock().unwrap_or_else(PoisonError::into_inner).take()
}

fn put<T>(slot: &Mutex<Option<T>>, kept: T) {
    *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(kept);
}
