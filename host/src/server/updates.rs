//! News that a resource has new contents, from the plugin that owns it to those who follow it.
//!
//! It does not know who owns a resource or who may follow it.

use std::collections::{BTreeSet, HashSet};
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::broadcast;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

/// News that a slow follower may be behind before it is told of everything that it follows.
const BACKLOG: usize = 1024;

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
pub(in crate::server) struct Uris(Mutex<HashSet<Box<str>>>);

impl Uris {
    pub(in crate::server) fn new<'a>(uris: impl IntoIterator<Item = &'a str>) -> Self {
        Self(Mutex::new(uris.into_iter().map(Into::into).collect()))
    }

    /// `false`: `limit` are followed already.
    pub(in crate::server) fn add(&self, uri: &str, limit: usize) -> bool {
        let mut uris = self.lock();
        let room = uris.len() < limit || uris.contains(uri);
        if room {
            uris.insert(uri.into());
        }
        room
    }

    pub(in crate::server) fn remove(&self, uri: &str) {
        self.lock().remove(uri);
    }

    pub(in crate::server) fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<Box<str>>> {
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
        if self.uris.lock().contains(uri) {
            told.insert(uri.into());
        }
    }

    /// What was missed may be about any of them.
    fn take_all(&self, told: &mut BTreeSet<Box<str>>) {
        told.extend(self.uris.lock().iter().cloned());
    }
}
