//! From a loaded plugin to one in service.
//!
//! Nothing serves before its pin is on disk. Versions loaded while others are being pinned form the next
//! batch: a start with a hundred new plugins writes the pin file a few times only, and a slow load
//! delays no other. A batch is put into service in one change.

use std::sync::Arc;

use tokio::task::{Id, JoinError};

use super::decide::pinned_surface;
use super::{File, Folder, Load, LoadResult, LoadState};
use crate::catalog::lookalike::look_alike;
use crate::catalog::{
    Admission, FolderEvent, FolderWarning, ListedPlugin, Loaded, Member, NotServed, RefusedFile, admit, load_hint,
};
use crate::pins::{Decision, KnownPins, PluginVersion};
use crate::plugin::{ListingWarning, LoadError, PluginId, Provider};

/// The result of a load, pinning included. `None`: the file's digest is the one in service.
type LoadOutcome = Option<Result<Admission, NotServed>>;

/// What several loads put into service, applied in one change.
#[derive(Default)]
struct Batch {
    members: Vec<Member>,
    /// Plugins whose code was awaited and is refused.
    refused: Vec<PluginId>,
    /// Events to emit once the members are in service.
    events: Vec<FolderEvent>,
    /// Plugins whose grants changed since they were listed.
    to_list: Vec<PluginId>,
}

impl Folder {
    pub(super) fn finish_loads(&mut self, first: Result<(Id, LoadResult), JoinError>) {
        let (mut done, mut uncompiled) = (Vec::new(), Vec::new());
        let mut next = Some(first);
        while let Some(ended) = next {
            next = self.loads.try_join_next_with_id();
            let (task, result) = match ended {
                Err(error) if error.is_cancelled() => {
                    self.finish_aborted(error.id());
                    continue;
                }
                ended => ended.unwrap_or_else(|error| (error.id(), Err(panicked(&error)))),
            };
            let Some(load) = self.loading.remove(&task) else { continue };
            match result {
                Ok(Loaded::Listed(listed)) => self.listed.push((load, listed)),
                Ok(Loaded::Uncompiled(known)) => uncompiled.push((load, known)),
                Ok(Loaded::Unchanged) => done.push((load, None)),
                Err(reason) => done.push((load, Some(Err(reason)))),
            }
        }
        self.serve_known(uncompiled);
        self.apply_results(done);
        self.start_next();
    }

    pub(super) fn finish_pinning(&mut self, pinned: Result<Vec<Result<Admission, NotServed>>, JoinError>) {
        let loads = std::mem::take(&mut self.to_pin);
        let outcomes = pinned.unwrap_or_else(|error| loads.iter().map(|_| Err(panicked(&error))).collect());
        self.apply_results(loads.into_iter().zip(outcomes.into_iter().map(Some)).collect());
        self.start_next();
    }

    fn start_next(&mut self) {
        if self.pinning.is_empty() && !self.listed.is_empty() {
            let mut listed: Vec<ListedPlugin> = Vec::new();
            for (load, plugin) in std::mem::take(&mut self.listed) {
                let Some(file) = self.files.get_mut(&load.path).filter(|file| file.number == load.number) else {
                    continue;
                };
                // It was listed under other grants than those it would serve with.
                if (self.settings)(&file.id).grants.kinds() != load.settings.grants.kinds() {
                    file.state = LoadState::Queued;
                    continue;
                }
                self.to_pin.push(load);
                listed.push(plugin);
            }
            let (guard, gate) = (self.guard.clone(), self.gate.clone());
            self.pinning.spawn(async move {
                gate().await;
                admit(&guard, listed).await
            });
        }
        self.expect_completions();
        self.start_loads();
        self.mark_listed();
    }

    fn apply_results(&mut self, loads: Vec<(Load, LoadOutcome)>) {
        let is_outdated = loads.iter().any(|(load, _)| load.decision_epoch != self.decision_epoch);
        // Reads the pin file: once for all loads.
        let known = if is_outdated { Some(self.guard.read_pins()) } else { None };
        let mut batch = Batch::default();
        for (load, outcome) in loads {
            self.apply_result(load, outcome, known.as_ref(), &mut batch);
        }
        self.retry_unread_settings();
        self.warn(self.catalog.put_all(batch.members));
        self.warn(self.catalog.remove(&batch.refused));
        for event in batch.events {
            self.emit(event);
        }
        for id in batch.to_list {
            self.catalog.list_again(&id);
        }
        if is_outdated || self.files.values().any(File::is_reprieve_over) {
            self.apply_decisions();
        }
        self.fill_places();
    }

    /// `known`: the current pins, if decisions may have changed since the load started.
    fn apply_result(&mut self, load: Load, outcome: LoadOutcome, known: Option<&KnownPins>, batch: &mut Batch) {
        let exists = self.exists(&load.path);
        let Some(file) = self.files.get_mut(&load.path).filter(|file| file.number == load.number) else { return };
        file.state = if file.state == LoadState::Reloading { LoadState::Queued } else { LoadState::Idle };
        file.refused_signers = None;
        let unread = file.unread.take();
        file.shorten_reprieve();
        let id = file.id.clone();
        let compiling = file.compiling.take();
        let claimed = file.claimed.take();
        if compiling.is_some() && std::mem::take(&mut file.serving) && !matches!(outcome, Some(Ok(_))) {
            batch.refused.push(id.clone());
        }
        let settings = (self.settings)(&id);
        // Its grants may have changed since it was listed.
        let read = (settings.grants != load.settings.grants && known.is_none()).then(|| self.guard.read_pins());
        let known = known.or(read.as_ref());
        let stopped = |version: &PluginVersion| {
            let version = version.with_grants(&settings.grants);
            known.and_then(|known| self.guard.may_stay(known, &id, &version).err())
        };
        if matches!(outcome, Some(Err(_))) && file.serving && file.isolation != settings.limits.isolation {
            tracing::warn!(plugin = %id, "the version in service goes on where it runs: `limits.isolation` holds when a version is loaded");
        }
        match outcome {
            None => {
                file.held = None;
                self.emit(FolderEvent::Unchanged(id));
            }
            Some(Ok(Admission { plugin, version, .. })) if let Some(reason) = stopped(&version) => {
                drop(plugin);
                let version = version.with_grants(&settings.grants);
                if compiling.is_some() {
                    batch.refused.push(id.clone());
                }
                let decision = Decision::new(id, &version, Err(reason.clone()));
                file.held = Some((version, reason));
                let still_serving = file.serving;
                self.emit_held(load.path, decision, still_serving);
            }
            Some(Ok(Admission { plugin, version, decision })) => {
                let version = version.with_grants(&settings.grants);
                let digest = *plugin.digest();
                let swapped = std::mem::replace(&mut file.serving, true);
                let decision = match file.serving_info.as_ref().filter(|_| swapped) {
                    Some(served) => decision.replacing(served),
                    None => decision,
                };
                file.loaded = Some(digest);
                file.slices = 0;
                file.isolation = load.settings.limits.isolation;
                (file.serving_info, file.held, file.reprieve) = (Some(version), None, None);
                file.pinned_surface = pinned_surface(&self.guard, file);
                let (naming, pinned_surface) = (settings.naming, file.pinned_surface);
                let tools = plugin.surface().tools.as_ref().map_or(0, Vec::len);
                let mut warnings = plugin.warnings().to_vec();
                // With grants it may list something else than the file can say.
                let may_differ = !load.settings.grants.texts().is_empty();
                let is_untrue = |(content, surface)| content == digest && surface != plugin.surface().digest();
                if claimed.is_some_and(is_untrue) && !may_differ {
                    warnings.push(ListingWarning::Untrue);
                }
                let mut provider: Arc<dyn Provider> = Arc::new(plugin);
                if settings != load.settings {
                    let updated = provider.with_settings(settings.limits.clone(), settings.grants.clone());
                    provider = updated.unwrap_or(provider);
                    if settings.grants != load.settings.grants {
                        batch.to_list.push(id.clone());
                    }
                }
                if let Some(compiling) = compiling {
                    compiling.serve_from(provider.clone());
                }
                file.settings = Some(settings);
                self.emit(FolderEvent::Admitted(decision));
                for warning in warnings {
                    self.emit(FolderEvent::Warned(FolderWarning::Listing(id.clone(), warning)));
                }
                if !swapped {
                    self.warn_of_look_alikes(&id);
                }
                batch.members.push(Member { provider, naming, pinned_surface });
                batch.events.push(FolderEvent::Loaded { id, digest, swapped, tools, took: load.started.elapsed() });
            }
            Some(Err(NotServed::Held(held))) => {
                let (info, decision) = *held;
                let info = info.with_grants(&settings.grants);
                let held = decision.outcome.clone().err().map(|reason| (info, reason));
                // A replaced file is often loaded twice: by its writer's last event, and once it is stable.
                let same =
                    |(a, b): (&(PluginVersion, _), &(PluginVersion, _))| a.0.content == b.0.content && a.1 == b.1;
                let is_known = file.held.as_ref().zip(held.as_ref()).is_some_and(same);
                file.held = held;
                let still_serving = file.serving;
                if !is_known {
                    self.emit_held(load.path, decision, still_serving);
                }
            }
            // The file was removed while it was being read.
            Some(Err(NotServed::Refused(_))) if !exists => self.mark_gone(&load.path),
            Some(Err(NotServed::Refused(error))) => {
                // The next event on the file retries: the reason may have been temporary, like a full disk.
                file.loaded = None;
                // Its next version waits for files that were never tried.
                file.slices = file.slices.max(1);
                file.refused_signers = error.is_of_signature().then_some(load.signatures);
                file.unread = error.is_temporary().then(|| error.to_string());
                let is_reported = file.unread.is_some() && file.unread == unread;
                let still_serving = file.serving;
                if file.unread.is_some() {
                    self.retry_later();
                }
                if is_reported {
                    return;
                }
                if self.is_crowded() {
                    return self.count_refused();
                }
                let refusal = RefusedFile {
                    reason: error.to_string(),
                    hint: load_hint(&error, &load.path),
                    path: load.path,
                    still_serving,
                };
                self.emit(FolderEvent::Refused(refusal));
            }
        }
    }

    fn warn_of_look_alikes(&self, id: &PluginId) {
        for other in self.files.values().filter(|file| file.serving).map(|file| &file.id) {
            if look_alike(id.as_ref(), other.as_ref()) {
                self.emit(FolderEvent::Warned(FolderWarning::LooksAlike(id.clone(), other.clone())));
            }
        }
    }
}

/// A host bug: plugin faults are results of a load, not panics.
fn panicked(error: &JoinError) -> NotServed {
    tracing::error!(%error, "host panic while loading a file");
    LoadError::Host("a bug; see the log".into()).into()
}
