//! `resources/updated` events, from the plugin that owns a resource to its subscribers.
//!
//! It does not check who owns a resource or who may subscribe.

use std::collections::{BTreeSet, HashSet};
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::broadcast::error::TryRecvError;
use tokio::sync::{broadcast, watch};

use crate::sync::lock;

/// Events that a slow subscriber may lag behind; beyond that, all its resources count as updated.
const BACKLOG: usize = 1024;
/// Maximum bytes of all URIs of one client.
const MAX_URI_BYTES: usize = 256 << 10;

/// The update events of one server.
pub(in crate::server) struct Updates {
    /// `None`: any may have been updated.
    uris: broadcast::Sender<Option<Arc<str>>>,
    /// Changes with each event.
    published: watch::Sender<()>,
}

impl Default for Updates {
    fn default() -> Self {
        Self { uris: broadcast::Sender::new(BACKLOG), published: watch::Sender::default() }
    }
}

impl Updates {
    pub(in crate::server) fn publish(&self, uri: &str) {
        // An error means that there is no subscriber.
        let _ = self.uris.send(Some(uri.into()));
        self.published.send_replace(());
    }

    /// Any resource may have been updated.
    pub(in crate::server) fn publish_any(&self) {
        let _ = self.uris.send(None);
        self.published.send_replace(());
    }

    pub(in crate::server) fn subscribe(&self, uris: Arc<Uris>) -> Subscriber {
        Subscriber { receiver: self.uris.subscribe(), uris }
    }

    /// Changes with each event, of any resource.
    pub(in crate::server) fn watch(&self) -> watch::Receiver<()> {
        self.published.subscribe()
    }
}

/// The resources that one client is subscribed to.
#[derive(Default)]
pub(in crate::server) struct Uris(Mutex<Subscriptions>);

#[derive(Default)]
struct Subscriptions {
    uris: HashSet<Box<str>>,
    bytes: usize,
}

impl Uris {
    pub(in crate::server) fn new<'a>(uris: impl IntoIterator<Item = &'a str>) -> Self {
        // Their bytes are bounded by the listen request, which stays counted as long as it runs.
        Self(Mutex::new(Subscriptions { uris: uris.into_iter().map(Into::into).collect(), bytes: 0 }))
    }

    /// `false`: the limit of subscriptions or of their bytes is reached.
    pub(in crate::server) fn add(&self, uri: &str, limit: usize) -> bool {
        let mut subscriptions = self.lock();
        if subscriptions.uris.contains(uri) {
            return true;
        }
        let bytes = subscriptions.bytes + uri.len();
        let fits = subscriptions.uris.len() < limit && bytes <= MAX_URI_BYTES;
        if fits {
            subscriptions.uris.insert(uri.into());
            subscriptions.bytes = bytes;
        }
        fits
    }

    pub(in crate::server) fn remove(&self, uri: &str) {
        let mut subscriptions = self.lock();
        if subscriptions.uris.remove(uri) {
            subscriptions.bytes -= uri.len();
        }
    }

    pub(in crate::server) fn clear(&self) {
        *self.lock() = Subscriptions::default();
    }

    fn lock(&self) -> MutexGuard<'_, Subscriptions> {
        lock(&self.0)
    }
}

/// One client's subscription to the events.
pub(in crate::server) struct Subscriber {
    receiver: broadcast::Receiver<Option<Arc<str>>>,
    uris: Arc<Uris>,
}

impl Subscriber {
    /// Takes the subscribed resources of all queued events, each once.
    pub(in crate::server) fn take(&mut self, changed: &mut BTreeSet<Box<str>>) {
        loop {
            match self.receiver.try_recv() {
                Ok(Some(uri)) => self.collect(&uri, changed),
                Ok(None) | Err(TryRecvError::Lagged(_)) => self.collect_all(changed),
                // Never closed: the server holds the sender and outlives its subscribers.
                Err(TryRecvError::Empty | TryRecvError::Closed) => return,
            }
        }
    }

    fn collect(&self, uri: &str, changed: &mut BTreeSet<Box<str>>) {
        if self.uris.lock().uris.contains(uri) {
            changed.insert(uri.into());
        }
    }

    /// Any of them may have been updated.
    fn collect_all(&self, changed: &mut BTreeSet<Box<str>>) {
        changed.extend(self.uris.lock().uris.iter().cloned());
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_URI_BYTES, Uris};

    #[test]
    fn subscriptions_are_limited_in_number_and_bytes() {
        let uris = Uris::default();
        assert!(uris.add("a:1", 2) && uris.add("a:2", 2) && !uris.add("a:3", 2));
        assert!(uris.add("a:1", 2), "a second subscription to a URI takes no room");
        uris.remove("a:2");
        let long = "a".repeat(MAX_URI_BYTES - 3);
        assert!(!uris.add(&format!("{long}x"), 9) && uris.add(&long, 9) && !uris.add("b", 9));
        uris.clear();
        assert!(uris.add("b", 9));
    }
}
