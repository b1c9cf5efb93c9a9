//! The plugins in service, and which plugin owns each name.
//!
//! Does not know how a plugin runs, nor what is sent to clients.

mod admission;
mod again;
mod choice;
mod event;
mod extensions;
mod files;
mod folder;
mod lookalike;
mod names;
mod settings;
mod skill_provider;
mod snapshot;
mod watcher;

pub use admission::{Admission, KnownPlugin, ListedPlugin, LoadStage, Loaded, NotServed, admit, load_plugin};
pub use choice::Choice;
pub use event::{FolderEvent, FolderWarning, Held, RefusedFile, load_hint};
pub use extensions::{Capabilities, Extensions, method_name};
pub use files::{Ignored, MAX_NAMED, MAX_PLUGINS, plugin_of};
pub use folder::{Folder, PARALLEL_LOADS};
pub use names::{Entry, Item, Names, Naming, PublicName, Warning};
pub use settings::PluginSettings;
pub use snapshot::{Listings, Snapshot};

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use tokio::sync::watch;

use crate::plugin::{Digest, PluginId, Provider};
use crate::sync::lock;
use again::Relisting;

/// One plugin in service: its provider and its public names.
#[derive(Clone)]
pub struct Member {
    pub provider: Arc<dyn Provider>,
    pub naming: Naming,
    /// The digest of the surface that it must keep while it serves; `None`: it may change.
    pub pinned_surface: Option<Digest>,
}

/// A change of settings for a plugin in service.
pub struct NewSettings {
    pub id: PluginId,
    /// `None`: unchanged.
    pub settings: Option<PluginSettings>,
    /// As [`Member::pinned_surface`].
    pub pinned_surface: Option<Digest>,
}

/// The plugins in service. Readers hold a [`Snapshot`] for as long as they need it; a change swaps the
/// whole snapshot.
pub struct Catalog {
    current: ArcSwap<Snapshot>,
    /// Serialises writers; readers never take it. Holds the warnings of the last change.
    writing: Mutex<HashSet<Warning>>,
    listings: watch::Sender<Listings>,
    first_scan: watch::Sender<FirstScan>,
    /// The generations when lists could first be answered.
    published: OnceLock<Listings>,
    started: Instant,
    /// A file that is being loaded will offer completions.
    completions_expected: AtomicBool,
    /// The plugin folder has a folder of skills.
    skills_expected: AtomicBool,
    /// Plugins that are being listed again; `true`: and must be once more after that.
    relisting: Mutex<HashMap<PluginId, Relisting>>,
}

/// Progress of the first scan.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum FirstScan {
    Pending,
    /// The plugin files are known, but not loaded.
    FilesKnown,
    /// Each file is in service or refused, or its code is being compiled and what it offers is known.
    Listed,
    /// Each file is in service or refused.
    Complete,
}

impl Default for Catalog {
    fn default() -> Self {
        Self {
            current: ArcSwap::from_pointee(Snapshot::default()),
            writing: Mutex::default(),
            listings: watch::Sender::new(Listings::default()),
            first_scan: watch::Sender::new(FirstScan::Pending),
            published: OnceLock::new(),
            started: Instant::now(),
            completions_expected: AtomicBool::new(false),
            skills_expected: AtomicBool::new(false),
            relisting: Mutex::default(),
        }
    }
}

impl Catalog {
    /// The current snapshot.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    /// Puts a plugin into service, replacing the one with its id. Calls in flight finish on the provider
    /// that they started with.
    pub fn put(&self, member: Member) -> Vec<Warning> {
        self.put_all(vec![member])
    }

    /// As [`Catalog::put`] for several, in one change.
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

    /// Applies new settings to plugins, from their next call on, all in one change. Also returns the
    /// plugins that were taken out of service because their surface is not the pinned one.
    pub fn reconfigure(&self, settings: Vec<NewSettings>) -> (Vec<Warning>, Vec<PluginId>) {
        let mut mismatched = Vec::new();
        if settings.is_empty() {
            return (Vec::new(), mismatched);
        }
        let mut settings: HashMap<PluginId, NewSettings> =
            settings.into_iter().map(|new| (new.id.clone(), new)).collect();
        let warnings = self.change(|members| {
            members.retain_mut(|member| {
                let Some(new) = settings.remove(member.provider.id()) else { return true };
                if new.pinned_surface.is_some_and(|pinned| pinned != member.provider.surface().digest()) {
                    mismatched.push(new.id);
                    return false;
                }
                member.pinned_surface = new.pinned_surface;
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
        (warnings, mismatched)
    }

    /// Pins other surfaces, all in one change, and lists these plugins again: until then they keep what they list.
    pub fn expect_surfaces(self: &Arc<Self>, pinned: &[(PluginId, Digest)]) {
        if pinned.is_empty() {
            return;
        }
        self.change(|members| {
            for member in members {
                if let Some((_, surface)) = pinned.iter().find(|(id, _)| id == member.provider.id()) {
                    member.pinned_surface = Some(*surface);
                }
            }
            true
        });
        for (id, _) in pinned {
            self.list_again(id);
        }
    }

    /// Whether the plugin name is used by the host's own tools.
    fn is_host_name(&self, id: &PluginId) -> bool {
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

    /// Swaps the whole snapshot if `edit` returns that it changed something. The cost is proportional to
    /// the size of all lists, so simultaneous changes are batched. Returns the warnings that did not hold
    /// before.
    fn change(&self, edit: impl FnOnce(&mut Vec<Member>) -> bool) -> Vec<Warning> {
        let mut standing = self.writing();
        let before = self.current.load_full();
        let mut members = before.members().to_vec();
        if !edit(&mut members) {
            return Vec::new();
        }
        let (after, warnings) = before.next(members, self.published.get().is_some());
        let listings = after.listings();
        self.current.store(Arc::new(after));
        self.listings.send_if_modified(|last| {
            let changed = *last != listings;
            *last = listings;
            changed
        });
        // Most hold after each change, and are reported once.
        let new = warnings.iter().filter(|warning| !standing.contains(*warning)).cloned().collect();
        *standing = warnings.into_iter().collect();
        new
    }

    fn writing(&self) -> MutexGuard<'_, HashSet<Warning>> {
        lock(&self.writing)
    }

    fn relisting(&self) -> MutexGuard<'_, HashMap<PluginId, Relisting>> {
        lock(&self.relisting)
    }

    /// The generations of the lists; wakes when one of them changes.
    pub fn watch(&self) -> watch::Receiver<Listings> {
        self.listings.subscribe()
    }

    /// Marks the first scan as complete: every file has been loaded or refused.
    pub fn set_ready(&self) {
        self.publish();
        self.first_scan.send_replace(FirstScan::Complete);
    }

    /// What every file offers is known; the code of some is still being compiled.
    fn set_listed(&self) {
        self.publish();
        self.advance(FirstScan::Listed);
    }

    /// From now on names stay with their owners.
    fn publish(&self) -> Listings {
        // No change is between its look at this and its end.
        let _writing = self.writing();
        *self.published.get_or_init(|| *self.listings.borrow())
    }

    pub fn is_ready(&self) -> bool {
        *self.first_scan.borrow() == FirstScan::Complete
    }

    /// Waits until the first scan knows what every file offers, at most until `limit` after the start. Then the lists
    /// may be answered, and what is loaded later is a change. Returns the generations when they first could be.
    pub async fn listable(&self, limit: Duration) -> Listings {
        match self.listable_now() {
            Some(listings) => listings,
            None => {
                self.wait_for_scan(FirstScan::Listed, limit.saturating_sub(self.started.elapsed())).await;
                self.publish()
            }
        }
    }

    /// As [`Catalog::listable`], without waiting.
    pub fn listable_now(&self) -> Option<Listings> {
        self.published.get().copied()
    }

    /// Waits until the snapshot has what `known` looks for, at most until the end of the first scan or `limit` after
    /// the start.
    pub async fn known(&self, limit: Duration, known: impl Fn(&Snapshot) -> bool) {
        let left = limit.saturating_sub(self.started.elapsed());
        if self.is_ready() || left.is_zero() {
            return;
        }
        let mut listings = self.listings.subscribe();
        let changes = async { while !known(&self.snapshot()) && listings.changed().await.is_ok() {} };
        tokio::select! {
            () = changes => {}
            () = self.wait_for_scan(FirstScan::Complete, left) => {}
        }
    }

    /// Waits until the plugin files are known, which takes milliseconds, at most for `limit`.
    pub async fn files_known(&self, limit: Duration) {
        self.wait_for_scan(FirstScan::FilesKnown, limit).await;
    }

    async fn wait_for_scan(&self, wanted: FirstScan, limit: Duration) {
        let mut first_scan = self.first_scan.subscribe();
        // The only error is a dropped sender, but `self` owns it.
        let _ = tokio::time::timeout(limit, first_scan.wait_for(|now| *now >= wanted)).await;
    }

    /// Whether a plugin offers completions, or one that is being loaded will: a file's exports are known
    /// long before the plugin is in service.
    pub fn offers_completions(&self) -> bool {
        self.completions_expected.load(Ordering::Relaxed)
            || self.current.load().members().iter().any(|member| member.provider.surface().completions)
    }

    /// Whether there are skills, or a folder for them.
    pub fn offers_skills(&self) -> bool {
        self.skills_expected.load(Ordering::Relaxed) || !self.current.load().skills.entries().is_empty()
    }

    fn expect_skills(&self, expected: bool) {
        self.skills_expected.store(expected, Ordering::Relaxed);
    }

    /// Marks the plugin files as known.
    pub fn set_files_known(&self) {
        self.advance(FirstScan::FilesKnown);
    }

    fn advance(&self, reached: FirstScan) {
        self.first_scan.send_if_modified(|now| {
            let later = *now < reached;
            *now = (*now).max(reached);
            later
        });
    }

    fn expect_completions(&self, expected: bool) {
        self.completions_expected.store(expected, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
