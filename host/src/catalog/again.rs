//! Lists a plugin again when it announces that one of its lists changed.
//!
//! New files are handled by `folder`.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;

use super::{Catalog, Item, Member};
use crate::plugin::abi::{Prompt, ResourceDescription};
use crate::plugin::{FrozenTemplate, FrozenTool, PluginId, Provider, Surface};

/// Minimum interval between two listings of one plugin.
const MIN_INTERVAL: Duration = Duration::from_millis(250);

impl Catalog {
    /// Lists a plugin again in the background. Calls coalesce: one listing runs at a time, and one more
    /// follows. Each lists the provider that is current then: another version, or the same under other
    /// settings, may have replaced the previous one.
    pub fn list_again(self: &Arc<Self>, id: &PluginId) {
        let mut listing = self.relisting();
        if let Some(again) = listing.get_mut(id) {
            *again = true;
            return;
        }
        listing.insert(id.clone(), false);
        drop(listing);
        let (catalog, id) = (self.clone(), id.clone());
        tokio::spawn(async move {
            loop {
                // A panic is a host bug, and must not prevent later listings.
                let current = AssertUnwindSafe(catalog.list_current(&id)).catch_unwind().await.unwrap_or_else(|_| {
                    tracing::error!(plugin = %id, "host panic while listing again, keeping the previous lists");
                    true
                });
                if !current {
                    catalog.relisting().insert(id.clone(), true);
                }
                tokio::time::sleep(MIN_INTERVAL).await;
                if !catalog.must_list_once_more(&id) {
                    return;
                }
            }
        });
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

    /// Whether the plugin must be listed once more; if not, its entry is removed.
    fn must_list_once_more(&self, id: &PluginId) -> bool {
        let mut listing = self.relisting();
        match listing.get_mut(id) {
            Some(again) if *again => {
                *again = false;
                true
            }
            _ => {
                listing.remove(id);
                false
            }
        }
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
        tracing::warn!(%plugin, "tool descriptions changed from the approved ones; keeping the approved ones");
        return Replacement::Unchanged;
    }
    if list_alike(member.provider.surface(), newer.surface()) {
        return Replacement::Unchanged;
    }
    member.provider = newer;
    Replacement::Applied
}

/// Whether clients see no difference between the surfaces.
fn list_alike(one: &Surface, other: &Surface) -> bool {
    fn same<T: Item>(one: &Surface, other: &Surface) -> bool {
        let (one, other) = (T::all(one), T::all(other));
        one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one.lists_as(other))
    }
    let kinds = |surface: &Surface| {
        (surface.tools.is_some(), surface.prompts.is_some(), surface.resources.is_some(), surface.completions)
    };
    kinds(one) == kinds(other)
        && one.offer == other.offer
        && same::<FrozenTool>(one, other)
        && same::<Prompt>(one, other)
        && same::<ResourceDescription>(one, other)
        && same::<FrozenTemplate>(one, other)
}

#[cfg(test)]
mod tests;
