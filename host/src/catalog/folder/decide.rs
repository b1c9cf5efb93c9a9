//! Applies changed settings and changed decisions on versions.
//!
//! It takes versions out of service and schedules loads; it loads nothing itself.

use std::path::PathBuf;

use super::{File, Folder, State};
use crate::catalog::{FolderEvent, Held, NewSettings};
use crate::pins::{Decision, Guard, Reason};
use crate::plugin::{Digest, PluginId};

impl Folder {
    /// Applies changed settings to all plugins in service, in one step.
    pub(super) fn reconfigure(&mut self) {
        let (mut changes, mut changed, mut to_list) = (Vec::new(), Vec::new(), Vec::new());
        for file in self.files.values_mut() {
            let settings = (self.settings)(&file.id);
            for seen in file.seen.iter_mut().chain(file.held.iter_mut().map(|(seen, _)| seen)) {
                seen.grants = settings.grants.kinds();
            }
            if !file.serving {
                continue;
            }
            let surface = fixed(&self.guard, file);
            let other = file.settings.as_ref() != Some(&settings);
            if !other && surface == file.surface {
                continue;
            }
            // Of these settings, only grants can affect what it lists.
            if file.settings.as_ref().is_none_or(|before| before.grants != settings.grants) {
                to_list.push(file.id.clone());
            }
            if other {
                changed.push(file.id.clone());
                file.settings = Some(settings.clone());
            }
            file.surface = surface;
            changes.push(NewSettings { id: file.id.clone(), settings: other.then_some(settings), surface });
        }
        let (warnings, unfit) = self.catalog.reconfigure(changes);
        self.warn(warnings);
        for id in unfit {
            self.load_from_file(&id);
        }
        for id in changed {
            self.tell(FolderEvent::Reconfigured(id));
        }
        for id in to_list {
            self.catalog.list_again(&id);
        }
        self.start_loads();
    }

    /// A plugin that changed its surface while that was allowed, and no longer is, has to be checked
    /// against its pin like any new version.
    fn load_from_file(&mut self, id: &PluginId) {
        let Some(file) = self.owners.get(id).and_then(|path| self.files.get_mut(path)) else { return };
        (file.serving, file.loaded) = (false, None);
        file.load_again();
        let what = format!(
            "plugin '{id}' changed its tool descriptions since it was loaded, which is no longer allowed: reloading"
        );
        self.tell(FolderEvent::Warned(what));
    }

    /// Applies decisions made meanwhile: revoked versions stop; approved ones, and those whose
    /// signature may have changed, are loaded.
    pub(super) fn decide_again(&mut self) {
        // Read once for all of them: it is a file.
        let known = self.guard.known();
        let mut stopped = Vec::new();
        let signatures = self.guard.signatures();
        for (path, file) in &mut self.files {
            let other_keys = file.unsigned.as_ref().is_some_and(|then| *then != signatures);
            let may = |(seen, reason): &_| self.guard.may_retry(&known, &file.id, seen, reason);
            if file.state == State::Resting && (other_keys || file.held.as_ref().is_some_and(may)) {
                file.state = State::Waiting;
            }
            let Some(seen) = file.seen.clone().filter(|_| file.serving) else { continue };
            let Err(reason) = self.guard.may_stay(&known, &file.id, &seen) else {
                file.reprieve = None;
                continue;
            };
            let named = self.guard.by_hand(&file.id).filter(|_| reason == Reason::NotTheOnePinned);
            if !named.is_some_and(|named| file.is_reprieved(path, named)) {
                (file.serving, file.loaded, file.reprieve) = (false, None, None);
                let decision = Decision::new(file.id.clone(), &seen, Err(reason.clone()));
                // A newer one may be held already.
                file.held.get_or_insert((seen, reason));
                stopped.push((path.clone(), decision));
            }
        }
        if !stopped.is_empty() {
            let ids: Vec<PluginId> = stopped.iter().map(|(_, decision)| decision.plugin.clone()).collect();
            self.warn(self.catalog.remove(&ids));
        }
        for (path, decision) in stopped {
            self.tell_held(path, decision, false);
        }
        self.start_loads();
    }

    pub(super) fn tell_held(&self, path: PathBuf, decision: Decision, still_serving: bool) {
        let hint = decision.hint(&self.root);
        self.tell(FolderEvent::Held(Held { path, decision, hint, still_serving }));
    }
}

/// The surface that the serving version must keep, if it must.
pub(super) fn fixed(guard: &Guard, file: &File) -> Option<Digest> {
    let seen = file.seen.as_ref()?;
    seen.surface.filter(|_| guard.fixes_words(&file.id, !seen.grants.is_empty()))
}
