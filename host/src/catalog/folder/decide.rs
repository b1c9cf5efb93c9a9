//! What follows when settings change, or what a person has decided of versions.
//!
//! It takes versions out of service and has others loaded; it loads none itself.

use std::path::PathBuf;

use super::{File, Folder, State};
use crate::catalog::{FolderEvent, Held};
use crate::pins::{Decision, Guard, Seen};
use crate::plugin::Digest;

impl Folder {
    /// Takes up what has changed in the settings of plugins in service.
    pub(super) fn reconfigure(&mut self) {
        let mut warnings = Vec::new();
        for file in self.files.values_mut() {
            let settings = (self.settings)(&file.id);
            for seen in [&mut file.seen, &mut file.held].into_iter().flatten() {
                seen.grants = settings.grants.kinds();
            }
            if file.serving && file.settings.as_ref() != Some(&settings) {
                let surface = fixed(&self.guard, file);
                warnings.extend(self.catalog.reconfigure(&file.id, &settings, surface));
                file.settings = Some(settings);
                let _ = self.events.send(FolderEvent::Reconfigured(file.id.clone()));
            }
        }
        self.warn(warnings);
    }

    /// Takes up what a person has decided meanwhile: what was revoked stops, what was approved
    /// or may have another signature is loaded.
    pub(super) fn decide_again(&mut self) {
        let mut stopped = Vec::new();
        let signatures = self.guard.signatures();
        for (path, file) in &mut self.files {
            let approved = |held: &Seen| self.guard.may_retry(&file.id, held);
            let other_keys = file.unsigned.as_ref().is_some_and(|then| *then != signatures);
            if file.state == State::Resting && (other_keys || file.held.as_ref().is_some_and(approved)) {
                file.state = State::Waiting;
            }
            let Some(seen) = file.seen.clone().filter(|_| file.serving) else { continue };
            if let Err(reason) = self.guard.may_stay(&file.id, &seen) {
                (file.serving, file.loaded) = (false, None);
                let decision = Decision::new(file.id.clone(), &seen, Err(reason));
                // A newer one may be held already.
                file.held.get_or_insert(seen);
                stopped.push((path.clone(), decision));
            }
        }
        for (path, decision) in stopped {
            self.warn(self.catalog.remove(&decision.plugin));
            self.tell_held(path, decision, false);
        }
        self.start_loads();
    }

    pub(super) fn tell_held(&self, path: PathBuf, decision: Decision, still_serving: bool) {
        let hint = decision.hint(&self.root);
        self.tell(FolderEvent::Held(Held { path, decision, hint, still_serving }));
    }
}

/// The surface that what serves must keep to, if it must.
pub(super) fn fixed(guard: &Guard, file: &File) -> Option<Digest> {
    let seen = file.seen.as_ref()?;
    seen.surface.filter(|_| guard.fixes_words(&file.id, !seen.grants.is_empty()))
}
