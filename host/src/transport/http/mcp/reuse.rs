//! Objects that an HTTP connection reuses for its next request, if they are idle.
//!
//! Requests of one connection are sequential, and creating these objects costs more than keeping
//! them.

use std::sync::{Arc, Mutex};

use tokio::sync::mpsc;

use super::session::Channel;
use crate::server::{Connection, Outgoing, Server};
use crate::sync::lock;
use crate::transport::http::caller::Caller;

/// Capacity of the channel to the HTTP connection, in messages.
const OUTBOX: usize = 64;

/// A server connection for one stateless request at a time. Dropping it cancels the request: the
/// client has disconnected.
pub(in crate::transport::http) struct StatelessConnection {
    pub(in crate::transport::http) connection: Arc<Connection>,
    pub(in crate::transport::http) outbox: mpsc::Sender<Outgoing>,
    pub(in crate::transport::http) messages: mpsc::Receiver<Outgoing>,
}

impl StatelessConnection {
    pub(in crate::transport::http) fn new(server: &Arc<Server>, caller: &Caller) -> Self {
        let (outbox, messages) = mpsc::channel(OUTBOX);
        Self { connection: server.connect_for(outbox.clone(), &caller.identity, &caller.key), outbox, messages }
    }

    fn is_of(&self, name: &Arc<str>) -> bool {
        self.connection.identity().name() == name
    }

    /// Whether no request uses it: no queued message and no other sender.
    fn is_idle(&self) -> bool {
        self.messages.is_empty() && self.outbox.strong_count() == 2
    }
}

impl Drop for StatelessConnection {
    fn drop(&mut self) {
        self.connection.abandon();
    }
}

#[derive(Default)]
pub(in crate::transport::http) struct Reuse {
    stateless: Mutex<Option<StatelessConnection>>,
    channel: Mutex<Option<Channel>>,
}

impl Reuse {
    /// For a request without a session.
    pub(in crate::transport::http) fn stateless(&self, caller: &Caller) -> Option<StatelessConnection> {
        let mut kept = take(&self.stateless)?;
        // A proxy sends requests of many users on one connection.
        let is_usable = kept.is_of(caller.identity.name())
            || kept.is_idle() && kept.connection.hand_over(&caller.identity, &caller.key);
        is_usable.then_some(kept)
    }

    pub(in crate::transport::http) fn put_stateless(&self, connection: StatelessConnection) {
        if connection.is_idle() {
            put(&self.stateless, connection);
        }
    }

    /// For a request in a session.
    pub(in crate::transport::http) fn channel(&self) -> Option<Channel> {
        take(&self.channel)
    }

    pub(in crate::transport::http) fn put_channel(&self, channel: Channel) {
        let (outbox, messages) = &channel;
        if messages.is_empty() && outbox.strong_count() == 1 {
            put(&self.channel, channel);
        }
    }
}

fn take<T>(slot: &Mutex<Option<T>>) -> Option<T> {
    lock(slot).take()
}

fn put<T>(slot: &Mutex<Option<T>>, value: T) {
    *lock(slot) = Some(value);
}
