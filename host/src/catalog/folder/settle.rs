//! From a loaded plugin to one in service.
//!
//! Nothing serves before it is pinned, and a pin counts only once it is on the disk. Versions loaded
//! while others are being pinned form the next batch: a start with a hundred new plugins writes the
//! pin file a few times, and a slow one delays no other. Those pinned together are put into service
//! together.

use std::sync::Arc;

use tokio::task::{Id, JoinError};

use super::decide::fixed;
use super::{File, Folder, Load, Loaded, State};
use crate::catalog::lookalike::look_alike;
use crate::catalog::{Admission, Asked, Denial, FolderEvent, Member, Refusal, admit};
use crate::pins::{Decision, Known};
use crate::plugin::{LoadError, PluginId, Provider};

/// What became of a load. `None`: the file's bytes are those that serve already.
type Outcome = Option<Result<Admission, Denial>>;

/// The outcome of several loads, applied in one change.
#[derive(Default)]
struct Batch {
    members: Vec<Member>,
    /// Events to report once they serve.
    events: Vec<FolderEvent>,
    /// Their grants have changed since they were listed.
    to_list: Vec<PluginId>,
}

impl Folder {
    pub(super) fn finish(&mut self, first: Result<(Id, Loaded), JoinError>) {
        let mut settled = Vec::new();
        let mut next = Some(first);
        while let Some(ended) = next {
            let (task, result) = ended.unwrap_or_else(|error| (error.id(), Err(failed(&error))));
            if let Some(load) = self.loading.remove(&task) {
                match result {
                    Ok(Some(asked)) => self.asked.push((load, asked)),
                    Ok(None) => settled.push((load, None)),
                    Err(denial) => settled.push((load, Some(Err(denial)))),
                }
            }
            next = self.loads.try_join_next_with_id();
        }
        self.settle(settled);
        self.go_on();
    }

    pub(super) fn pinned(&mut self, pinned: Result<Vec<Result<Admission, Denial>>, JoinError>) {
        let loads = std::mem::take(&mut self.to_pin);
        let outcomes = pinned.unwrap_or_else(|error| loads.iter().map(|_| Err(failed(&error))).collect());
        self.settle(loads.into_iter().zip(outcomes.into_iter().map(Some)).collect());
        self.go_on();
    }

    fn go_on(&mut self) {
        if self.pinning.is_empty() && !self.asked.is_empty() {
            let mut asked: Vec<Asked> = Vec::new();
            for (load, of) in std::mem::take(&mut self.asked) {
                let Some(file) = self.files.get_mut(&load.path).filter(|file| file.number == load.number) else {
                    continue;
                };
                // It was admitted under grants other than those it would serve with.
                if (self.settings)(&file.id).grants.kinds() != load.settings.grants.kinds() {
                    file.state = State::Waiting;
                    continue;
                }
                self.to_pin.push(load);
                asked.push(of);
            }
            let (guard, gate) = (self.guard.clone(), self.gate.clone());
            self.pinning.spawn(async move {
                gate().await;
                admit(&guard, asked).await
            });
        }
        self.expect_completions();
        self.start_loads();
    }

    fn settle(&mut self, loads: Vec<(Load, Outcome)>) {
        let decided = loads.iter().any(|(load, _)| load.decisions != self.decisions);
        // Read once for all of them: it is a file.
        let known = if decided { Some(self.guard.known()) } else { None };
        let mut batch = Batch::default();
        for (load, outcome) in loads {
            self.settle_one(load, outcome, known.as_ref(), &mut batch);
        }
        self.warn(self.catalog.put_all(batch.members));
        for event in batch.events {
            self.tell(event);
        }
        for id in batch.to_list {
            self.catalog.list_again(&id);
        }
        if decided || self.files.values().any(File::is_reprieve_over) {
            self.decide_again();
        }
    }

    /// `known`: what is pinned, if that has changed since the load began.
    fn settle_one(&mut self, load: Load, outcome: Outcome, known: Option<&Known>, batch: &mut Batch) {
        let is_there = self.is_there(&load.path);
        let Some(file) = self.files.get_mut(&load.path).filter(|file| file.number == load.number) else { return };
        file.state = if file.state == State::LoadingAgain { State::Waiting } else { State::Resting };
        file.unsigned = None;
        file.shorten_reprieve();
        let id = file.id.clone();
        let settings = (self.settings)(&id);
        let stopped = |seen: &_| known.and_then(|known| self.guard.may_stay(known, &id, seen).err());
        match outcome {
            None => file.held = None,
            Some(Ok(Admission { plugin, mut seen, .. })) if let Some(reason) = stopped(&seen) => {
                drop(plugin);
                seen.grants = settings.grants.kinds();
                let decision = Decision::new(id, &seen, Err(reason.clone()));
                file.held = Some((seen, reason));
                let still_serving = file.serving;
                self.tell_held(load.path, decision, still_serving);
            }
            Some(Ok(Admission { plugin, mut seen, decision })) => {
                seen.grants = settings.grants.kinds();
                let digest = *plugin.digest();
                let swapped = std::mem::replace(&mut file.serving, true);
                file.loaded = Some(digest);
                (file.seen, file.held, file.reprieve) = (Some(seen), None, None);
                file.surface = fixed(&self.guard, file);
                let (naming, surface) = (settings.naming, file.surface);
                let tools = plugin.surface().tools.as_ref().map_or(0, Vec::len);
                let warnings: Vec<String> = plugin.warnings().to_vec();
                let mut provider: Arc<dyn Provider> = Arc::new(plugin);
                if settings != load.settings {
                    let now = provider.with_settings(settings.limits.clone(), settings.grants.clone());
                    provider = now.unwrap_or(provider);
                    if settings.grants != load.settings.grants {
                        batch.to_list.push(id.clone());
                    }
                }
                file.settings = Some(settings);
                self.tell(FolderEvent::Admitted(decision));
                for warning in warnings {
                    self.tell(FolderEvent::Warned(format!("plugin '{id}': {warning}")));
                }
                if !swapped {
                    self.warn_of_look_alikes(&id);
                }
                batch.members.push(Member { provider, naming, surface });
                batch.events.push(FolderEvent::Loaded { id, digest, swapped, tools, took: load.began.elapsed() });
            }
            Some(Err(Denial::Held(held))) => {
                let (mut seen, decision) = *held;
                seen.grants = settings.grants.kinds();
                file.held = decision.outcome.clone().err().map(|reason| (seen, reason));
                let still_serving = file.serving;
                self.tell_held(load.path, decision, still_serving);
            }
            // It was removed while it was read.
            Some(Err(Denial::Refused(_))) if !is_there => self.miss(&load.path),
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
    }

    fn warn_of_look_alikes(&self, id: &PluginId) {
        for other in self.files.values().filter(|file| file.serving).map(|file| &file.id) {
            if look_alike(id.as_ref(), other.as_ref()) {
                let what = format!("plugin '{id}' has a name similar to that of plugin '{other}'");
                self.tell(FolderEvent::Warned(what));
            }
        }
    }
}

/// A bug of the host: faults of a plugin are contained within its load.
fn failed(error: &JoinError) -> Denial {
    tracing::error!(%error, "host panic while loading a file");
    LoadError::Host("a bug; see the log".into()).into()
}
