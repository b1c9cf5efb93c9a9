//! Which plugins there are, and who answers for which name.
//!
//! It does not know how a plugin runs, nor what a client may see of it.

mod again;
mod extensions;
mod files;
mod folder;
mod names;
mod snapshot;
mod watcher;

pub use extensions::{Capabilities, Extensions};
pub use files::plugin_of;
pub use folder::{Folder, FolderEvent, PluginSettings, Refusal};
pub use names::{Entry, Item, Names, PublicName, Warning};
pub use snapshot::{Listings, Snapshot};

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::sync::watch;

use crate::plugin::{PluginId, Provider};

/// One plugin in service: who answers, and whether its names carry its own.
#[derive(Clone)]
pub struct Member {
    pub provider: Arc<dyn Provider>,
    /// `<plugin>_<tool>` rather than `<tool>`.
    pub prefix: bool,
}

/// The plugins in service. Readers take a [`Snapshot`] and keep it for as long as they
/// need it; a change swaps the whole snapshot.
pub struct Catalog {
    current: ArcSwap<Snapshot>,
    /// Serialises writers; readers never take it.
    writing: Mutex<()>,
    listings: watch::Sender<Listings>,
    ready: watch::Sender<bool>,
    /// Plugins that are being asked again, and whether they must be once more.
    listing: Mutex<HashMap<PluginId, bool>>,
}

impl Default for Catalog {
    fn default() -> Self {
        Self {
            current: ArcSwap::from_pointee(Snapshot::default()),
            writing: Mutex::new(()),
            listings: watch::Sender::new(Listings::default()),
            ready: watch::Sender::new(false),
            listing: Mutex::default(),
        }
    }
}

impl Catalog {
    /// What is in service now.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    /// Puts a plugin into service in place of the one with its id, if there is one. Calls
    /// in flight finish on what they started with.
    pub fn put(&self, member: Member) -> Vec<Warning> {
        self.change(|members| {
            members.retain(|other| other.provider.id() != member.provider.id());
            members.push(member);
        })
    }

    /// Takes a plugin out of service.
    pub fn remove(&self, id: &PluginId) -> Vec<Warning> {
        self.change(|members| members.retain(|other| other.provider.id() != id))
    }

    fn change(&self, edit: impl FnOnce(&mut Vec<Member>)) -> Vec<Warning> {
        let _writing = self.writing.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let before = self.current.load_full();
        let mut members = before.members().to_vec();
        edit(&mut members);
        let (after, warnings) = before.succeed(members, self.is_ready());
        let listings = after.listings();
        self.current.store(Arc::new(after));
        self.listings.send_if_modified(|seen| {
            let changed = *seen != listings;
            *seen = listings;
            changed
        });
        warnings
    }

    fn listing(&self) -> MutexGuard<'_, HashMap<PluginId, bool>> {
        self.listing.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The generations of the lists, and a wake-up when one of them moves.
    pub fn watch(&self) -> watch::Receiver<Listings> {
        self.listings.subscribe()
    }

    /// Says that the first scan is over: whatever was there has been loaded or refused.
    pub fn set_ready(&self) {
        self.ready.send_replace(true);
    }

    pub fn is_ready(&self) -> bool {
        *self.ready.borrow()
    }

    /// Waits for the first scan, at most for `limit`; what is loaded after that is
    /// announced as a change.
    pub async fn ready(&self, limit: Duration) {
        let mut ready = self.ready.subscribe();
        // An error means that the sender is gone, and it lives in `self`.
        let _ = tokio::time::timeout(limit, ready.wait_for(|ready| *ready)).await;
    }
}

#[cfg(test)]
mod tests;
