//! A connection's own stream: for messages that belong to none of its requests, and for
//! notifications of changes.

use std::sync::Arc;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::Server;
use super::bounds::Bounds;
use super::changes::{Changes, Followers, Stream, Wanted};
use super::outgoing::Outgoing;
use crate::identity::Identity;
use crate::sync::{Mutex, lock};

#[derive(Clone)]
pub(in crate::server) struct OwnStream {
    pub(in crate::server) server: Arc<Server>,
    pub(in crate::server) outbox: mpsc::Sender<Outgoing>,
    pub(in crate::server) bounds: Arc<Bounds>,
    /// All streams of the connection that are notified of changes.
    pub(in crate::server) followers: Arc<Followers>,
    /// Who sent the last request of the connection.
    pub(in crate::server) identity: Arc<Mutex<Arc<Identity>>>,
    /// Cancelled when the connection begins to close.
    pub(in crate::server) closing: CancellationToken,
}

impl OwnStream {
    /// A request of the connection was sent by that one.
    pub(in crate::server) fn set_sender(&self, identity: &Arc<Identity>) {
        let mut last = lock(&self.identity);
        if !Arc::ptr_eq(&last, identity) {
            *last = identity.clone();
        }
    }

    /// The changes from now on; `subscription`: the id of the request that opened the stream, as
    /// JSON.
    pub(in crate::server) fn changes(&self, wanted: Wanted, subscription: Option<Arc<str>>) -> Changes {
        let stream = Stream { outbox: self.outbox.clone(), bounds: self.bounds.clone(), subscription };
        Changes::from_now(&self.server, wanted, stream, self.identity.clone())
    }

    pub(in crate::server) async fn send(&self, mut message: Outgoing) {
        message.hold(&self.bounds.unread);
        // An error means that the receiver is closed: the transport is shutting down.
        let _ = self.outbox.send(message).await;
    }
}
