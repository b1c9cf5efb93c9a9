//! Plugins that are listed before their code is compiled: what an earlier load of the same file listed is served at
//! once, and calls wait for the load.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::mpsc;

use super::decide::pinned_surface;
use super::{Folder, LoadState};
use crate::catalog::{KnownPlugin, Member, Naming};
use crate::plugin::PendingPlugin;

/// What running loads know before they end.
pub(super) struct KnownPlugins {
    sender: mpsc::UnboundedSender<Known>,
    /// At most one for each running load.
    receiver: mpsc::UnboundedReceiver<Known>,
}

pub(super) struct Known {
    path: PathBuf,
    /// As in [`super::Load`].
    number: u64,
    decision_epoch: u64,
    plugin: KnownPlugin,
}

impl Default for KnownPlugins {
    fn default() -> Self {
        let (sender, receiver) = mpsc::unbounded_channel();
        Self { sender, receiver }
    }
}

impl KnownPlugins {
    /// For one load.
    pub(super) fn sender(&self, path: PathBuf, number: u64, decision_epoch: u64) -> impl FnOnce(KnownPlugin) + use<> {
        let sender = self.sender.clone();
        move |plugin| {
            // The folder may have been dropped.
            let _ = sender.send(Known { path, number, decision_epoch, plugin });
        }
    }

    /// Cancel-safe.
    pub(super) async fn next(&mut self) -> Known {
        match self.receiver.recv().await {
            Some(known) => known,
            // `self` owns a sender.
            None => std::future::pending().await,
        }
    }

    pub(super) fn try_next(&mut self) -> Option<Known> {
        self.receiver.try_recv().ok()
    }
}

impl Folder {
    /// Puts plugins into service whose code is still being compiled. A version in service is not replaced by one that
    /// cannot be called yet.
    pub(super) fn serve_known(&mut self, first: Known) {
        let mut members = Vec::new();
        let mut next = Some(first);
        while let Some(Known { path, number, decision_epoch, plugin: KnownPlugin { surface, version } }) = next {
            next = self.known.try_next();
            let Some(file) = self.files.get_mut(&path).filter(|file| file.number == number) else { continue };
            if file.serving || file.state != LoadState::Loading || decision_epoch != self.decision_epoch {
                continue;
            }
            let settings = (self.settings)(&file.id);
            let naming = settings.naming;
            // Long names are known only when a component is linked.
            if naming == Naming::Long {
                continue;
            }
            let (pending, compiled) =
                PendingPlugin::new(file.id.clone(), version.content, surface, settings.limits.timeout);
            (file.serving, file.compiling) = (true, Some(compiled));
            (file.serving_info, file.settings) = (Some(version), Some(settings));
            file.pinned_surface = pinned_surface(&self.guard, file);
            members.push(Member { provider: Arc::new(pending), naming, pinned_surface: file.pinned_surface });
        }
        self.warn(self.catalog.put_all(members));
        self.mark_listed();
    }

    /// Lets lists be answered when what every file offers is known.
    pub(super) fn mark_listed(&self) {
        if self.files.values().all(|file| file.serving || file.state == LoadState::Idle) {
            self.catalog.set_listed();
        }
    }
}

#[cfg(test)]
mod tests;
