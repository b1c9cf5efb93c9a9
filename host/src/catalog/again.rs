//! Lists a plugin again when it announces that one of its lists has changed.
//!
//! New files are handled by the folder.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;

use super::{Catalog, Item, Member};
use crate::plugin::abi::{Prompt, ResourceDescription};
use crate::plugin::{FrozenTemplate, FrozenTool, PluginId, Provider, Surface};

/// Minimum interval between two listings of one plugin, however often it announces changes.
const PAUSE: Duration = Duration::from_millis(250);

impl Catalog {
    /// Returns at once. Calls coalesce: a plugin is listed once at a time, and once more at the end.
    /// What is listed is the version serving then: another version, or the same under other
    /// settings, may have replaced it.
    pub fn list_again(self: &Arc<Self>, id: &PluginId) {
        let mut listing = self.listing();
        if let Some(again) = listing.get_mut(id) {
            *again = true;
            return;
        }
        listing.insert(id.clone(), false);
        drop(listing);
        let (catalog, id) = (self.clone(), id.clone());
        tokio::spawn(async move {
            loop {
                // A panic is a bug of the host, and must not prevent later listings.
                let current = AssertUnwindSafe(catalog.ask(&id)).catch_unwind().await.unwrap_or_else(|_| {
                    tracing::error!(plugin = %id, "host panic while listing again, keeping the previous lists");
                    true
                });
                if !current {
                    catalog.listing().insert(id.clone(), true);
                }
                tokio::time::sleep(PAUSE).await;
                if !catalog.another(&id) {
                    return;
                }
            }
        });
    }

    /// Whether the listed version was still serving at the end of the listing.
    async fn ask(self: &Arc<Self>, plugin: &PluginId) -> bool {
        let Some(asked) = self.provider(plugin) else { return true };
        match asked.list_again().await {
            Ok(None) => true,
            Ok(Some(newer)) => {
                let catalog = self.clone();
                // The larger the catalog, the longer it takes.
                let taken_up = tokio::task::spawn_blocking(move || catalog.take_up(&asked, newer)).await;
                taken_up.unwrap_or_else(|failed| match failed.try_into_panic() {
                    Ok(panic) => std::panic::resume_unwind(panic),
                    // The process is shutting down.
                    Err(_) => true,
                })
            }
            Err(error) => {
                let current = self.provider(plugin).is_none_or(|now| Arc::ptr_eq(&now, &asked));
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

    fn take_up(&self, asked: &Arc<dyn Provider>, newer: Arc<dyn Provider>) -> bool {
        let mut current = true;
        let warnings = self.change(|members| match replace(members, asked, newer) {
            Replaced::Taken => true,
            Replaced::Same => false,
            Replaced::Outdated => {
                current = false;
                false
            }
        });
        for warning in warnings {
            tracing::warn!("{warning}");
        }
        current
    }

    /// Whether the plugin must be listed once more; if not, it is done.
    fn another(&self, id: &PluginId) -> bool {
        let mut listing = self.listing();
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
enum Replaced {
    Taken,
    /// Nothing changed, or the change is not allowed.
    Same,
    /// Another version serves by now; this listing does not apply to it.
    Outdated,
}

/// Replaces a member with its newly listed version. One with a pinned surface keeps it.
fn replace(members: &mut [Member], asked: &Arc<dyn Provider>, newer: Arc<dyn Provider>) -> Replaced {
    let Some(member) = members.iter_mut().find(|member| member.provider.id() == asked.id()) else {
        return Replaced::Same;
    };
    if !Arc::ptr_eq(&member.provider, asked) {
        return Replaced::Outdated;
    }
    if member.surface.is_some_and(|fixed| fixed != newer.surface().digest()) {
        let plugin = newer.id();
        tracing::warn!(%plugin, "tool descriptions changed from the approved ones; keeping the approved ones");
        return Replaced::Same;
    }
    if list_alike(member.provider.surface(), newer.surface()) {
        return Replaced::Same;
    }
    member.provider = newer;
    Replaced::Taken
}

/// Whether clients see no difference between the two.
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
