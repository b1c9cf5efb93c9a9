//! From a plugin that was loaded to one that serves.
//!
//! Nothing serves before it is pinned, and a pin is worth nothing before it is on the disk. What
//! comes while others are being pinned is pinned after them, together: a start with a hundred new
//! plugins writes the file of pins a few times, and a slow one holds up none of the others.

use std::sync::Arc;

use tokio::task::JoinError;

use super::decide::fixed;
use super::{Folder, Load, Loaded, Pinned, State};
use crate::catalog::lookalike::look_alike;
use crate::catalog::{Admission, Asked, Denial, FolderEvent, Member, Refusal, admit};
use crate::plugin::{PluginId, Provider as _};

impl Folder {
    pub(super) fn finish(&mut self, loaded: Result<Loaded, JoinError>) {
        match loaded {
            Ok((load, Ok(Some(asked)))) => self.asked.push((load, asked)),
            Ok((load, Ok(None))) => self.settle(load, None),
            Ok((load, Err(denial))) => self.settle(load, Some(Err(denial))),
            // A bug of ours: what a load does with a file is contained where it is done.
            Err(error) => tracing::error!(%error, "a load ended abnormally"),
        }
        self.go_on();
    }

    pub(super) fn pinned(&mut self, pinned: Result<Vec<Pinned>, JoinError>) {
        match pinned {
            Ok(pinned) => {
                for (load, result) in pinned {
                    self.settle(load, Some(result));
                }
            }
            Err(error) => tracing::error!(%error, "pinning ended abnormally"),
        }
        self.go_on();
    }

    fn go_on(&mut self) {
        if self.pinning.is_empty() && !self.asked.is_empty() {
            let (loads, asked): (Vec<Load>, Vec<Asked>) = self.asked.drain(..).unzip();
            let (guard, gate) = (self.guard.clone(), self.gate.clone());
            self.pinning.spawn(async move {
                gate().await;
                loads.into_iter().zip(admit(&guard, asked).await).collect()
            });
        }
        self.expect_completions();
        self.start_loads();
    }

    /// `None`: the file's bytes are those that serve already.
    fn settle(&mut self, load: Load, result: Option<Result<Admission, Denial>>) {
        let Some(file) = self.files.get_mut(&load.path) else { return };
        file.state = if file.state == State::LoadingAgain { State::Waiting } else { State::Resting };
        file.unsigned = None;
        let id = file.id.clone();
        match result {
            None => file.held = None,
            Some(Ok(Admission { plugin, seen, decision })) => {
                let digest = *plugin.digest();
                let swapped = std::mem::replace(&mut file.serving, true);
                file.loaded = Some(digest);
                (file.seen, file.held) = (Some(seen), None);
                let surface = fixed(&self.guard, file);
                let naming = load.settings.naming;
                file.settings = Some(load.settings);
                self.tell(FolderEvent::Admitted(decision));
                for warning in plugin.warnings() {
                    self.tell(FolderEvent::Warned(format!("plugin '{id}': {warning}")));
                }
                if !swapped {
                    self.warn_of_look_alikes(&id);
                }
                let tools = plugin.surface().tools.as_ref().map_or(0, Vec::len);
                self.warn(self.catalog.put(Member { provider: Arc::new(plugin), naming, surface }));
                self.tell(FolderEvent::Loaded { id, digest, swapped, tools, took: load.began.elapsed() });
                // They may have changed while it was being loaded.
                self.reconfigure();
            }
            Some(Err(Denial::Held(held))) => {
                let (seen, decision) = *held;
                file.held = Some(seen);
                let still_serving = file.serving;
                self.tell_held(load.path, decision, still_serving);
                self.reconfigure();
            }
            Some(Err(Denial::Refused(error))) => {
                // The next touch tries again: the reason may have been a full disk.
                file.loaded = None;
                file.unsigned = error.is_of_signature().then_some(load.signatures);
                let refusal = Refusal {
                    path: load.path,
                    reason: error.to_string(),
                    hint: error.hint().map(str::to_owned),
                    still_serving: file.serving,
                };
                self.tell(FolderEvent::Refused(refusal));
            }
        }
        if load.decisions != self.decisions {
            self.decide_again();
        }
    }

    fn warn_of_look_alikes(&self, id: &PluginId) {
        for other in self.files.values().filter(|file| file.serving).map(|file| &file.id) {
            if look_alike(id.as_ref(), other.as_ref()) {
                let what = format!("plugin '{id}' has a name that may be taken for that of plugin '{other}'");
                self.tell(FolderEvent::Warned(what));
            }
        }
    }
}
