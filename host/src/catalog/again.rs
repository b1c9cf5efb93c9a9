//! Asks a plugin again what it offers, when it says that a list of it has changed.
//!
//! What a new file does to the catalog is the folder's affair.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;

use super::{Catalog, Item, Member};
use crate::plugin::abi::{Prompt, ResourceDescription};
use crate::plugin::{FrozenTemplate, FrozenTool, PluginId, Provider, Surface};

/// Between two listings of one plugin: one that says it all the time is asked now and then.
const PAUSE: Duration = Duration::from_millis(250);

impl Catalog {
    /// Returns at once. However often it is called meanwhile, a plugin is asked one at a
    /// time, and once more at the end. Who is asked is what serves then: another version of the
    /// plugin, or the same under other settings, may have taken its place.
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
                // A panic is a bug of ours, and must not keep the plugin from being asked again.
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

    /// Whether who was asked still served when it had answered.
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
                    // The process is about to end.
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

    /// Whether the plugin is to be asked once more; if not, it is done.
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
    /// There is nothing new in what it says, or it may not say that.
    Same,
    /// Another one serves by now; what this one said says nothing of that.
    Outdated,
}

/// Puts what was asked again in the place of who was asked. One whose words are fixed keeps to
/// them.
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

/// Whether nobody would learn anything from the one who knows the other.
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
