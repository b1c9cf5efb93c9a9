//! News that a resource has new contents, from the plugin that owns it to those who follow it.
//!
//! It does not know who owns a resource or who may follow it.

use std::collections::{BTreeSet, HashSet};
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::broadcast;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

/// News that a slow follower may be behind before it is told of everything that it follows.
const BACKLOG: usize = 1024;
/// Bytes of all URIs that one client follows.
const BYTES: usize = 256 << 10;

/// All news of one server.
pub(in crate::server) struct Updates(broadcast::Sender<Arc<str>>);

impl Default for Updates {
    fn default() -> Self {
        Self(broadcast::Sender::new(BACKLOG))
    }
}

impl Updates {
    pub(in crate::server) fn tell(&self, uri: &str) {
        // Nobody has to follow.
        let _ = self.0.send(uri.into());
    }

    pub(in crate::server) fn follow(&self, uris: Arc<Uris>) -> Follower {
        Follower { news: self.0.subscribe(), uris }
    }
}

/// The resources that one client follows.
#[derive(Default)]
pub(in crate::server) struct Uris(Mutex<Followed>);

#[derive(Default)]
struct Followed {
    uris: HashSet<Box<str>>,
    bytes: usize,
}

impl Uris {
    pub(in crate::server) fn new<'a>(uris: impl IntoIterator<Item = &'a str>) -> Self {
        // Their bytes are bounded by the request that they came with, which is counted as long.
        Self(Mutex::new(Followed { uris: uris.into_iter().map(Into::into).collect(), bytes: 0 }))
    }

    /// `false`: `limit` are followed already, or they have too many bytes.
    pub(in crate::server) fn add(&self, uri: &str, limit: usize) -> bool {
        let mut followed = self.lock();
        if followed.uris.contains(uri) {
            return true;
        }
        let bytes = followed.bytes + uri.len();
        let room = followed.uris.len() < limit && bytes <= BYTES;
        if room {
            followed.uris.insert(uri.into());
            followed.bytes = bytes;
        }
        room
    }

    pub(in crate::server) fn remove(&self, uri: &str) {
        let mut followed = self.lock();
        if followed.uris.remove(uri) {
            followed.bytes -= uri.len();
        }
    }

    pub(in crate::server) fn clear(&self) {
        *self.lock() = Followed::default();
    }

    fn lock(&self) -> MutexGuard<'_, Followed> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// One client's view of the news.
pub(in crate::server) struct Follower {
    news: broadcast::Receiver<Arc<str>>,
    uris: Arc<Uris>,
}

impl Follower {
    /// Waits for news of what is followed, and takes all that is there, each resource once.
    /// May be dropped without losing any.
    pub(in crate::server) async fn next(&mut self) -> BTreeSet<Box<str>> {
        let mut told = BTreeSet::new();
        while told.is_empty() {
            match self.news.recv().await {
                Ok(uri) => self.take(&uri, &mut told),
                Err(RecvError::Lagged(_)) => self.take_all(&mut told),
                // The server holds the sender and outlives its followers.
                Err(RecvError::Closed) => std::future::pending().await,
            }
        }
        loop {
            match self.news.try_recv() {
                Ok(uri) => self.take(&uri, &mut told),
                Err(TryRecvError::Lagged(_)) => self.take_all(&mut told),
                Err(TryRecvError::Empty | TryRecvError::Closed) => return told,
            }
        }
    }

    fn take(&self, uri: &str, told: &mut BTreeSet<Box<str>>) {
        if self.uris.lock().uris.contains(uri) {
            told.insert(uri.into());
        }
    }

    /// What was missed may be about any of them.
    fn take_all(&self, told: &mut BTreeSet<Box<str>>) {
        told.extend(self.uris.lock().uris.iter().cloned());
    }
}

#[cfg(test)]
mod tests {
    use super::{BYTES, Uris};

    #[test]
    fn what_is_followed_is_bounded_by_number_and_bytes() {
        let uris = Uris::default();
        assert!(uris.add("a:1", 2) && uris.add("a:2", 2) && !uris.add("a:3", 2));
        assert!(uris.add("a:1", 2), "what is followed already needs no room");
        uris.remove("a:2");
        let long = "a".repeat(BYTES - 3);
        assert!(!uris.add(&format!("{long}x"), 9) && uris.add(&long, 9) && !uris.add("b", 9));
        uris.clear();
        assert!(uris.add("b", 9));
    }
}
