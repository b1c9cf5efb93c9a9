//! Asks a plugin again what it offers, when it says that a list of it has changed.
//!
//! What a new file does to the catalog is the folder's affair.

use std::sync::Arc;
use std::time::Duration;

use super::{Catalog, Member};
use crate::plugin::{PluginId, Provider};

/// Between two listings of one plugin: one that says it all the time is asked now and then.
const PAUSE: Duration = Duration::from_millis(250);

impl Catalog {
    /// Returns at once. However often it is called meanwhile, a plugin is asked one at a
    /// time, and once more at the end.
    pub fn list_again(self: &Arc<Self>, provider: &Arc<dyn Provider>) {
        let id = provider.id().clone();
        let mut listing = self.listing();
        if let Some(again) = listing.get_mut(&id) {
            *again = true;
            return;
        }
        listing.insert(id.clone(), false);
        drop(listing);
        let (catalog, provider) = (self.clone(), provider.clone());
        tokio::spawn(async move {
            loop {
                catalog.ask(&provider).await;
                tokio::time::sleep(PAUSE).await;
                if !catalog.another(&id) {
                    return;
                }
            }
        });
    }

    async fn ask(&self, provider: &Arc<dyn Provider>) {
        let plugin = provider.id();
        match provider.list_again().await {
            Ok(None) => {}
            Ok(Some(newer)) => {
                for warning in self.change(|members| replace(members, newer)) {
                    tracing::warn!("{warning}");
                }
            }
            Err(error) => tracing::warn!(%plugin, "failed to list again, the old lists stay: {error}"),
        }
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

/// Another version of the plugin, put into service meanwhile, has lists of its own; and one
/// whose words are fixed keeps to them.
fn replace(members: &mut [Member], newer: Arc<dyn Provider>) {
    let same = |member: &&mut Member| member.provider.id() == newer.id() && member.provider.digest() == newer.digest();
    let Some(member) = members.iter_mut().find(same) else { return };
    if member.surface.is_some_and(|fixed| fixed != newer.surface().digest()) {
        let plugin = newer.id();
        tracing::warn!(%plugin, "it says other things of itself than what was approved; that is not taken up");
    } else {
        member.provider = newer;
    }
}

#[cfg(test)]
mod tests;
