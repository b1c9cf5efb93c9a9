//! Plugins that are listed before their code is compiled: what an earlier load of the same file listed, or what the file
//! itself lists, is served at once, and calls wait for the load.

use std::sync::Arc;

use super::decide::pinned_surface;
use super::{Folder, Load, LoadState};
use crate::catalog::{KnownPlugin, Member, Naming};
use crate::plugin::{PendingPlugin, StoredSurface};

impl Folder {
    /// Queues files whose code has to be compiled, and puts into service what is known of them. A version in service is
    /// not replaced by one that cannot be called yet.
    pub(super) fn serve_known(&mut self, loads: Vec<(Load, Option<KnownPlugin>)>) {
        let mut members = Vec::new();
        for (load, known) in loads {
            let Some(file) = self.files.get_mut(&load.path).filter(|file| file.number == load.number) else { continue };
            // If it changed meanwhile, the next load reads that.
            if file.state == LoadState::Reloading {
                file.shorten_reprieve();
            }
            file.state = LoadState::Uncompiled;
            // Calls that wait for the version that was listed before must not be lost.
            let is_free = !file.serving && file.compiling.is_none();
            let Some(KnownPlugin { listing: StoredSurface { surface, is_embedded }, version }) =
                known.filter(|_| is_free)
            else {
                continue;
            };
            // Approvals may have changed since it was decided that it may serve.
            if load.decision_epoch != self.decision_epoch {
                file.state = LoadState::Queued;
                continue;
            }
            let settings = (self.settings)(&file.id);
            let naming = settings.naming;
            // Long names are known only when a component is linked.
            if naming == Naming::Long {
                continue;
            }
            let (limits, grants) = (settings.limits.clone(), settings.grants.clone());
            let (pending, compiled) = PendingPlugin::new(file.id.clone(), version.content, surface, limits, grants);
            (file.serving, file.compiling) = (true, Some(compiled));
            file.claimed = version.surface.filter(|_| is_embedded).map(|surface| (version.content, surface));
            (file.serving_info, file.settings) = (Some(version), Some(settings));
            file.pinned_surface = pinned_surface(&self.guard, file);
            members.push(Member { provider: Arc::new(pending), naming, pinned_surface: file.pinned_surface });
        }
        self.warn(self.catalog.put_all(members));
    }

    /// Lets lists be answered when what every file offers is known.
    pub(super) fn mark_listed(&self) {
        if self.knows_skills() && self.files.values().all(|file| file.serving || file.state == LoadState::Idle) {
            self.catalog.set_listed();
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
