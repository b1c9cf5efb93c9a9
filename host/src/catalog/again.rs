//! Lists a plugin again when it announces that one of its lists changed.
//!
//! New files are handled by `folder`.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, sleep_until};

use super::{Catalog, Item, Member};
use crate::plugin::abi::{Prompt, ResourceDescription};
use crate::plugin::{FrozenTemplate, FrozenTool, PluginId, Provider, Surface};

/// Listings of one plugin in a row; beyond that, one follows per interval.
const BURST: u32 = 8;
const INTERVAL: Duration = Duration::from_millis(250);

/// The listings of one plugin that are running or due.
#[derive(Default)]
pub(super) struct Relisting {
    /// Whether another listing must follow.
    again: bool,
    /// Whether the next one has to wait for its interval.
    delayed: bool,
    /// Those that wait for the next listing; they are woken by the drop.
    waiting: Vec<oneshot::Sender<()>>,
    announced: Arc<Notify>,
}

impl Catalog {
    /// Lists a plugin again in the background. Calls coalesce: one listing runs at a time, and one more
    /// follows. Each lists the provider that is current then: another version, or the same under other
    /// settings, may have replaced the previous one.
    ///
    /// The returned receiver ends, with an error, when the new lists are in service, or at once if the
    /// plugin announces changes so often that its next listing is delayed.
    pub fn list_again(self: &Arc<Self>, id: &PluginId) -> oneshot::Receiver<()> {
        let (waiting, listed) = oneshot::channel();
        let mut relisting = self.relisting();
        let is_running = relisting.contains_key(id);
        let entry = relisting.entry(id.clone()).or_default();
        entry.again = true;
        if !entry.delayed {
            entry.waiting.push(waiting);
        }
        entry.announced.notify_one();
        if is_running {
            return listed;
        }
        let announced = entry.announced.clone();
        drop(relisting);
        let (catalog, id) = (self.clone(), id.clone());
        tokio::spawn(async move { catalog.keep_listing(&id, &announced).await });
        listed
    }

    /// Lists a plugin as often as it is announced, until it has been quiet for an interval for each
    /// listing.
    async fn keep_listing(self: &Arc<Self>, id: &PluginId, announced: &Notify) {
        let (mut spent, mut due) = (0, Instant::now());
        loop {
            while let Some(waiting) = self.begin_listing(id, spent < BURST) {
                // A panic is a host bug, and must not prevent later listings.
                let current = AssertUnwindSafe(self.list_current(id)).catch_unwind().await.unwrap_or_else(|_| {
                    tracing::error!(plugin = %id, "host panic while listing again, keeping the previous lists");
                    true
                });
                if !current && let Some(entry) = self.relisting().get_mut(id) {
                    entry.again = true;
                }
                drop(waiting);
                if spent == 0 {
                    due = Instant::now() + INTERVAL;
                }
                spent += 1;
            }
            tokio::select! {
                () = sleep_until(due) => {
                    spent -= 1;
                    due += INTERVAL;
                    if spent == 0 && self.end_listing(id) {
                        return;
                    }
                }
                () = announced.notified() => {}
            }
        }
    }

    /// Those that wait for the listing that has to begin now, if one has to.
    fn begin_listing(&self, id: &PluginId, may_list: bool) -> Option<Vec<oneshot::Sender<()>>> {
        let mut relisting = self.relisting();
        let entry = relisting.get_mut(id)?;
        entry.delayed = !may_list;
        if !may_list {
            entry.waiting.clear();
            return None;
        }
        std::mem::take(&mut entry.again).then(|| std::mem::take(&mut entry.waiting))
    }

    /// Removes the entry of a plugin that was not announced again; `false` if it was.
    fn end_listing(&self, id: &PluginId) -> bool {
        let mut relisting = self.relisting();
        let ends = relisting.get(id).is_none_or(|entry| !entry.again);
        if ends {
            relisting.remove(id);
        }
        ends
    }

    /// Whether the listed provider was still in service at the end of the listing.
    async fn list_current(self: &Arc<Self>, plugin: &PluginId) -> bool {
        let Some(listed) = self.provider(plugin) else { return true };
        match listed.list_again().await {
            Ok(None) => true,
            Ok(Some(newer)) => {
                let catalog = self.clone();
                // Takes longer the larger the catalog is.
                let applied = tokio::task::spawn_blocking(move || catalog.apply_listing(&listed, newer)).await;
                applied.unwrap_or_else(|error| match error.try_into_panic() {
                    Ok(panic) => std::panic::resume_unwind(panic),
                    // The process is shutting down.
                    Err(_) => true,
                })
            }
            Err(error) => {
                let current = self.provider(plugin).is_none_or(|now| Arc::ptr_eq(&now, &listed));
                if current {
                    tracing::warn!(%plugin, "failed to list again, keeping the previous lists: {error}");
                }
                current
            }
        }
    }

    fn provider(&self, id: &PluginId) -> Option<Arc<dyn Provider>> {
        let snapshot = self.snapshot();
        snapshot.members().iter().find(|member| member.provider.id() == id).map(|member| member.provider.clone())
    }

    fn apply_listing(&self, listed: &Arc<dyn Provider>, newer: Arc<dyn Provider>) -> bool {
        let mut current = true;
        let warnings = self.change(|members| match replace(members, listed, newer) {
            Replacement::Applied => true,
            Replacement::Unchanged => false,
            Replacement::Outdated => {
                current = false;
                false
            }
        });
        for warning in warnings {
            tracing::warn!("{warning}");
        }
        current
    }
}

#[derive(Debug, PartialEq)]
enum Replacement {
    Applied,
    /// The lists are the same, or must not change.
    Unchanged,
    /// Another provider is in service by now; this listing does not apply to it.
    Outdated,
}

/// Replaces a member's provider with the newly listed one, unless that changes a pinned surface.
fn replace(members: &mut [Member], listed: &Arc<dyn Provider>, newer: Arc<dyn Provider>) -> Replacement {
    let Some(member) = members.iter_mut().find(|member| member.provider.id() == listed.id()) else {
        return Replacement::Unchanged;
    };
    if !Arc::ptr_eq(&member.provider, listed) {
        return Replacement::Outdated;
    }
    if member.pinned_surface.is_some_and(|pinned| pinned != newer.surface().digest()) {
        let plugin = newer.id();
        tracing::warn!(
            %plugin,
            hint = %format_args!("to approve the new ones: wharf approve {plugin} DIR, with the plugin folder"),
            "tool descriptions changed from the approved ones; keeping the approved ones"
        );
        return Replacement::Unchanged;
    }
    if list_alike(&*member.provider, &*newer) {
        return Replacement::Unchanged;
    }
    member.provider = newer;
    Replacement::Applied
}

/// Whether clients see no difference between what two providers list.
fn list_alike(one: &dyn Provider, other: &dyn Provider) -> bool {
    fn same<T: Item>(one: &dyn Provider, other: &dyn Provider) -> bool {
        let (one, other) = (T::all(one), T::all(other));
        one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one.lists_as(other))
    }
    let kinds = |surface: &Surface| {
        (surface.tools.is_some(), surface.prompts.is_some(), surface.resources.is_some(), surface.completions)
    };
    kinds(one.surface()) == kinds(other.surface())
        && one.surface().offer == other.surface().offer
        && same::<FrozenTool>(one, other)
        && same::<Prompt>(one, other)
        && same::<ResourceDescription>(one, other)
        && same::<FrozenTemplate>(one, other)
}

#[cfg(test)]
mod tests;
