//! Applies changed settings and changed decisions on versions.
//!
//! Takes versions out of service and schedules loads; loads nothing itself.

use std::path::PathBuf;

use super::{File, Folder, LoadState};
use crate::catalog::{FolderEvent, FolderWarning, Held, NewSettings};
use crate::pins::{Decision, Guard, Reason};
use crate::plugin::{Digest, PluginId};

impl Folder {
    /// Applies changed settings to all plugins in service, in one step.
    pub(super) fn reconfigure(&mut self) {
        for file in self.files.values_mut() {
            let grants = (self.settings)(&file.id).grants;
            for info in file.serving_info.iter_mut().chain(file.held.iter_mut().map(|(info, _)| info)) {
                *info = info.with_grants(&grants);
            }
        }
        // First, so that a version that was not approved with its new grants never has them.
        self.apply_decisions();
        self.unlist_granted();
        let (mut changes, mut changed, mut to_list) = (Vec::new(), Vec::new(), Vec::new());
        for file in self.files.values_mut().filter(|file| file.serving) {
            let settings = (self.settings)(&file.id);
            let surface = pinned_surface(&self.guard, file);
            let has_changed = file.settings.as_ref() != Some(&settings);
            if !has_changed && surface == file.pinned_surface {
                continue;
            }
            // Of the settings, only grants can affect what a plugin lists.
            if file.settings.as_ref().is_none_or(|before| before.grants != settings.grants) {
                to_list.push(file.id.clone());
            }
            if has_changed {
                changed.push(file.id.clone());
                // It stays in service until it runs there.
                if file.isolation != settings.limits.isolation {
                    file.loaded = None;
                    file.load_again();
                }
                file.settings = Some(settings.clone());
            }
            file.pinned_surface = surface;
            changes.push(NewSettings {
                id: file.id.clone(),
                settings: has_changed.then_some(settings),
                pinned_surface: surface,
            });
        }
        let (warnings, mismatched) = self.catalog.reconfigure(changes);
        self.warn(warnings);
        for id in mismatched {
            self.reload(&id);
        }
        for id in changed {
            self.emit(FolderEvent::Reconfigured(id));
        }
        for id in to_list {
            self.catalog.list_again(&id);
        }
        self.retry_unread_settings();
        self.start_loads();
    }

    /// Takes plugins out of service that are listed before they are loaded, and whose grants have changed: with those they
    /// may have to be pinned first. So too what a file says, once a pin is configured. Calls that wait for the code go
    /// on waiting.
    fn unlist_granted(&mut self) {
        let mut unlisted = Vec::new();
        for file in self.files.values_mut().filter(|file| file.serving && file.compiling.is_some()) {
            let grants = (self.settings)(&file.id).grants;
            let is_claimed = file.claimed.is_some() && self.guard.configured_pin(&file.id).is_some();
            if is_claimed || file.settings.as_ref().is_some_and(|before| before.grants != grants) {
                (file.serving, file.serving_info, file.settings) = (false, None, None);
                unlisted.push(file.id.clone());
            }
        }
        self.warn(self.catalog.remove(&unlisted));
    }

    /// Loads a plugin again that changed its surface while that was allowed, which it no longer is: the
    /// version has to be checked against its pin like a new one.
    fn reload(&mut self, id: &PluginId) {
        let Some(file) = self.owners.get(id).and_then(|path| self.files.get_mut(path)) else { return };
        (file.serving, file.loaded) = (false, None);
        file.load_again();
        self.emit(FolderEvent::Warned(FolderWarning::SurfaceChanged(id.clone())));
    }

    /// Applies changed pins, rules and trusted signers: revoked versions stop; approved ones, and those
    /// that were refused for their signature, are loaded.
    pub(super) fn apply_decisions(&mut self) {
        // Reads the pin file: once for all plugins.
        let known = self.guard.read_pins();
        self.order_by(known.clone());
        let (mut stopped, mut held, mut approved) = (Vec::new(), Vec::new(), Vec::new());
        let signatures = self.guard.signatures();
        for (path, file) in &mut self.files {
            let signers_changed = file.refused_signers.as_ref().is_some_and(|signers| *signers != signatures);
            let may_retry = |(info, reason): &_| self.guard.may_retry(&known, &file.id, info, reason);
            if file.state == LoadState::Idle && (signers_changed || file.held.as_ref().is_some_and(may_retry)) {
                file.state = LoadState::Queued;
            }
            if let Some((info, reason)) = &mut file.held
                && let Some(now) = self.guard.approved_for_other_grants(&known, &file.id, info)
                && *reason != now
            {
                // The person who approved it needs the reason.
                *reason = now.clone();
                held.push((path.clone(), Decision::new(file.id.clone(), info, Err(now)), file.serving));
            }
            let Some(info) = file.serving_info.clone().filter(|_| file.serving) else { continue };
            let Err(reason) = self.guard.may_stay(&known, &file.id, &info) else {
                file.reprieve = None;
                let other = self.guard.other_surface(&known, &file.id, &info).filter(|_| file.pinned_surface.is_some());
                if let (Some(surface), Some(info)) = (other, &mut file.serving_info) {
                    (info.surface, file.pinned_surface) = (Some(surface), Some(surface));
                    approved.push((file.id.clone(), surface));
                }
                continue;
            };
            let pinned = self.guard.configured_pin(&file.id).filter(|_| reason == Reason::PinMismatch);
            if !pinned.is_some_and(|pinned| file.is_reprieved(path, pinned)) {
                (file.serving, file.loaded, file.reprieve, file.compiling) = (false, None, None, None);
                let decision = Decision::new(file.id.clone(), &info, Err(reason.clone()));
                // A newer version may be held already.
                file.held.get_or_insert((info, reason));
                stopped.push((path.clone(), decision));
            }
        }
        if !stopped.is_empty() {
            let ids: Vec<PluginId> = stopped.iter().map(|(_, decision)| decision.plugin.clone()).collect();
            self.warn(self.catalog.remove(&ids));
        }
        // What it says of itself follows from settings: a person who changed these has approved what it says now.
        self.catalog.expect_surfaces(&approved);
        for (path, decision, still_serving) in held {
            self.emit_held(path, decision, still_serving);
        }
        for (path, decision) in stopped {
            self.emit_held(path, decision, false);
        }
        self.start_loads();
    }

    pub(super) fn emit_held(&self, path: PathBuf, decision: Decision, still_serving: bool) {
        let hint = decision.hint(&self.program, &self.root);
        self.emit(FolderEvent::Held(Held { path, decision, hint, still_serving }));
    }
}

/// The surface that the version in service must keep; `None`: it may change.
pub(super) fn pinned_surface(guard: &Guard, file: &File) -> Option<Digest> {
    let info = file.serving_info.as_ref()?;
    info.surface.filter(|_| guard.pins_surface(&file.id, !info.grants.is_empty()))
}
