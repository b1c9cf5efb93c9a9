//! The plugins in service, and which plugin owns each name.
//!
//! It does not know how a plugin runs, nor what a client may see of it.

mod admission;
mod again;
mod event;
mod extensions;
mod files;
mod folder;
mod lookalike;
mod names;
mod snapshot;
mod watcher;

pub use admission::{Admission, Asked, Denial, admit, ask};
pub use event::{FolderEvent, Held, Refusal};
pub use extensions::{Capabilities, Extensions, method_name};
pub use files::{plugin_files, plugin_of};
pub use folder::{Folder, PluginSettings};
pub use names::{Entry, Item, Names, Naming, PublicName, Warning};
pub use snapshot::{Listings, Snapshot};

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::sync::watch;

use crate::plugin::{Digest, PluginId, Provider};

/// One plugin in service: its provider and its public names.
#[derive(Clone)]
pub struct Member {
    pub provider: Arc<dyn Provider>,
    pub naming: Naming,
    /// The hash of the surface that it must keep while it serves; `None`: it may change it.
    pub surface: Option<Digest>,
}

/// What a plugin in service is to run under.
pub struct NewSettings {
    pub id: PluginId,
    /// `None`: they stay.
    pub settings: Option<PluginSettings>,
    /// As [`Member::surface`].
    pub surface: Option<Digest>,
}

/// The plugins in service. Readers take a [`Snapshot`] and keep it for as long as they
/// need it; a change swaps the whole snapshot.
pub struct Catalog {
    current: ArcSwap<Snapshot>,
    /// Serialises writers; readers never take it.
    writing: Mutex<()>,
    listings: watch::Sender<Listings>,
    first_scan: watch::Sender<FirstScan>,
    /// A file that is being loaded will offer completions.
    completions_expected: AtomicBool,
    /// Plugins that are being listed again, and whether they must be once more.
    listing: Mutex<HashMap<PluginId, bool>>,
}

/// Progress of the first scan.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum FirstScan {
    Ahead,
    /// It is known which files there are.
    Looked,
    /// Each of them is in service or refused.
    Over,
}

impl Default for Catalog {
    fn default() -> Self {
        Self {
            current: ArcSwap::from_pointee(Snapshot::default()),
            writing: Mutex::new(()),
            listings: watch::Sender::new(Listings::default()),
            first_scan: watch::Sender::new(FirstScan::Ahead),
            completions_expected: AtomicBool::new(false),
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
        self.put_all(vec![member])
    }

    /// The same for several, in one change.
    pub fn put_all(&self, new: Vec<Member>) -> Vec<Warning> {
        if new.is_empty() {
            return Vec::new();
        }
        self.change(|members| {
            let replaced: HashSet<&PluginId> = new.iter().map(|member| member.provider.id()).collect();
            members.retain(|other| !replaced.contains(other.provider.id()));
            members.extend(new);
            true
        })
    }

    /// Applies new settings to plugins, from their next call on, all in one change. Returns those that
    /// it took out of service because their surface is not the one they must keep.
    pub fn reconfigure(&self, settings: Vec<NewSettings>) -> (Vec<Warning>, Vec<PluginId>) {
        let mut unfit = Vec::new();
        if settings.is_empty() {
            return (Vec::new(), unfit);
        }
        let mut settings: HashMap<PluginId, NewSettings> =
            settings.into_iter().map(|new| (new.id.clone(), new)).collect();
        let warnings = self.change(|members| {
            members.retain_mut(|member| {
                let Some(new) = settings.remove(member.provider.id()) else { return true };
                if new.surface.is_some_and(|fixed| fixed != member.provider.surface().digest()) {
                    unfit.push(new.id);
                    return false;
                }
                member.surface = new.surface;
                if let Some(PluginSettings { limits, grants, naming }) = new.settings {
                    member.naming = naming;
                    if let Some(provider) = member.provider.with_settings(limits, grants) {
                        member.provider = provider;
                    }
                }
                true
            });
            true
        });
        (warnings, unfit)
    }

    /// Whether the host's own tools use that plugin name.
    fn host_uses(&self, id: &PluginId) -> bool {
        self.current.load().members().iter().any(|member| member.provider.is_host() && member.provider.id() == id)
    }

    /// Takes plugins out of service, all in one change.
    pub fn remove(&self, ids: &[PluginId]) -> Vec<Warning> {
        self.change(|members| {
            let before = members.len();
            members.retain(|other| !ids.contains(other.provider.id()));
            members.len() != before
        })
    }

    /// Swaps the whole snapshot, if `edit` returns that it changed something. The cost grows with all
    /// that is listed, so simultaneous changes are made together.
    fn change(&self, edit: impl FnOnce(&mut Vec<Member>) -> bool) -> Vec<Warning> {
        let _writing = self.writing.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let before = self.current.load_full();
        let mut members = before.members().to_vec();
        if !edit(&mut members) {
            return Vec::new();
        }
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

    /// Marks the first scan as complete: every file has been loaded or refused.
    pub fn set_ready(&self) {
        self.first_scan.send_replace(FirstScan::Over);
    }

    pub fn is_ready(&self) -> bool {
        *self.first_scan.borrow() == FirstScan::Over
    }

    /// Waits for the first scan, at most for `limit`; what is loaded after that is
    /// announced as a change.
    pub async fn ready(&self, limit: Duration) {
        self.scanned(FirstScan::Over, limit).await;
    }

    /// Waits until it is known which files there are, which takes milliseconds, and at most
    /// for `limit`.
    pub async fn looked(&self, limit: Duration) {
        self.scanned(FirstScan::Looked, limit).await;
    }

    async fn scanned(&self, wanted: FirstScan, limit: Duration) {
        let mut first_scan = self.first_scan.subscribe();
        // An error means that the sender is gone, but `self` owns it.
        let _ = tokio::time::timeout(limit, first_scan.wait_for(|now| *now >= wanted)).await;
    }

    /// Whether a plugin offers completions, or is about to: it is known of a file long before
    /// the plugin is in service.
    pub fn offers_completions(&self) -> bool {
        self.completions_expected.load(Ordering::Relaxed)
            || self.current.load().members().iter().any(|member| member.provider.surface().completions)
    }

    /// Marks the set of files as known.
    pub fn set_looked(&self) {
        self.first_scan.send_if_modified(|now| {
            let first = *now == FirstScan::Ahead;
            *now = (*now).max(FirstScan::Looked);
            first
        });
    }

    fn expect_completions(&self, expected: bool) {
        self.completions_expected.store(expected, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
