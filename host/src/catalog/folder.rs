//! Keeps the catalog in sync with a folder of plugin files.
//!
//! A new version is loaded beside the old one and swapped in atomically; if that fails, the old one
//! keeps serving. This module decides when to load, not how.

mod decide;
mod gone;
mod known;
mod look;
mod places;
mod publish;
mod reprieve;
mod retry;
mod skills;
mod time_slices;
mod unserved;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::convert::Infallible;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use futures_util::future::BoxFuture;
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::task::{AbortHandle, Id, JoinSet};
use tokio::time;
use tokio_util::sync::CancellationToken;

use super::files::{self, Ignored};
use super::watcher::{Signal, Watcher};
use super::{
    Admission, Catalog, FolderEvent, FolderWarning, ListedPlugin, LoadStage, Loaded, NotServed, PluginSettings,
};
use crate::os::files::is_temporary;
use crate::os::stamp::Stamp;
use crate::pins::{Guard, KnownPins, PluginVersion, Reason};
use crate::plugin::{Compiled, Digest, Isolation, PluginId, Sandbox, Signatures};
use reprieve::Reprieve;
use retry::Retry;
use skills::Skills;
pub use time_slices::PARALLEL_LOADS;
use unserved::Unserved;

/// A plugin folder that is kept in sync with a catalog.
pub struct Folder {
    root: PathBuf,
    catalog: Arc<Catalog>,
    sandbox: Arc<Sandbox>,
    guard: Arc<Guard>,
    /// How commands in hints begin.
    program: String,
    gate: Gate,
    settings: Box<dyn Fn(&PluginId) -> PluginSettings + Send + Sync>,
    events: mpsc::UnboundedSender<FolderEvent>,
    /// The files of plugins that are in service, held, refused or being loaded.
    files: BTreeMap<PathBuf, File>,
    /// Which file owns a plugin id; a second file of that name is ignored while the first exists.
    owners: HashMap<PluginId, PathBuf>,
    /// Ignored files, already reported or in `unserved`.
    ignored: HashSet<PathBuf>,
    /// The pins when they were last read, for the order of files; no decision uses them.
    pins: KnownPins,
    /// Files over the limit; one is loaded when another gives its place back.
    over_limit: BTreeSet<PathBuf>,
    /// Files of these two sets that are not reported yet.
    unserved: Unserved,
    retry: Retry,
    skills: Skills,
    loads: JoinSet<LoadResult>,
    /// A load begins to list.
    stage_changed: Arc<Notify>,
    /// By task of `loads`.
    loading: HashMap<Id, Load>,
    /// Listed plugins, to be pinned after the current batch.
    listed: Vec<(Load, ListedPlugin)>,
    /// At most one task, which pins a batch.
    pinning: JoinSet<Vec<Result<Admission, NotServed>>>,
    /// The loads of that batch, in its order.
    to_pin: Vec<Load>,
    /// Incremented whenever approvals, revocations or configured pins may have changed.
    decision_epoch: u64,
    /// How often loads were started.
    round: u64,
    /// The last [`File::number`].
    last_number: u64,
}

/// Awaited before a new version is pinned and put into service.
type Gate = Arc<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>;

struct File {
    id: PluginId,
    /// Distinguishes the file from an earlier one at the same path.
    number: u64,
    state: LoadState,
    /// How many time slices it has used up; a version that is loaded starts again at 0.
    slices: u32,
    /// While it waits: the round in which it began to.
    arrival: Option<u64>,
    /// In bytes, when it was last looked at.
    size: u64,
    /// Whether the plugin has a pin.
    is_known: bool,
    /// Bytes of other files of its name that were compared with the pin.
    compared: u64,
    /// The digest in service, if the last load succeeded.
    loaded: Option<Digest>,
    /// The settings of the version in service.
    settings: Option<PluginSettings>,
    /// Where the version in service runs.
    isolation: Isolation,
    /// The surface that the version in service must keep.
    pinned_surface: Option<Digest>,
    /// Of the version in service.
    serving_info: Option<PluginVersion>,
    /// The held version, and why it is held.
    held: Option<(PluginVersion, Reason)>,
    /// Why the system could not read it at the last load, as it was reported.
    unread: Option<String>,
    /// The trusted signers when a version was refused for its signature.
    refused_signers: Option<Signatures>,
    serving: bool,
    /// What is in service is an earlier listing, or that in the file; calls wait for the load.
    compiling: Option<Compiled>,
    /// What is in service while it compiles is what the file says: its content, and the surface.
    claimed: Option<(Digest, Digest)>,
    /// Whether the file exports completions; the version in service may be another one.
    completions: bool,
    /// The version in service is no longer pinned, and serves until the pinned one is loaded.
    reprieve: Option<Reprieve>,
    /// The file was removed; the plugin serves until then.
    removal_at: Option<time::Instant>,
}

#[derive(PartialEq)]
enum LoadState {
    Idle,
    /// To be loaded.
    Queued,
    /// The same, for a file whose code has to be compiled: after those of which that is not known.
    Uncompiled,
    Loading,
    /// It changed while it was being loaded, and is loaded again after that.
    Reloading,
}

/// One load.
struct Load {
    task: AbortHandle,
    stage: LoadStage,
    /// How many time slices its file has used up before.
    slices: u32,
    /// It has used up its time slice, and ends.
    is_stopped: bool,
    /// Another file is at its path since.
    is_replaced: bool,
    /// That of the file when it started.
    stamp: Option<Stamp>,
    path: PathBuf,
    /// [`File::number`]
    number: u64,
    started: time::Instant,
    settings: PluginSettings,
    /// The trusted signers when it started.
    signatures: Signatures,
    /// [`Folder::decision_epoch`] when it started.
    decision_epoch: u64,
}

type LoadResult = Result<Loaded, NotServed>;

impl Folder {
    /// `events` receives every event; its receiver may be dropped.
    pub fn new(
        root: PathBuf,
        catalog: Arc<Catalog>,
        sandbox: Arc<Sandbox>,
        settings: impl Fn(&PluginId) -> PluginSettings + Send + Sync + 'static,
        events: mpsc::UnboundedSender<FolderEvent>,
    ) -> Self {
        Self {
            // The watcher reports absolute paths, and paths are compared as text.
            root: std::path::absolute(&root).unwrap_or(root),
            catalog,
            sandbox,
            guard: Arc::new(Guard::permissive()),
            program: "wharf".to_owned(),
            gate: Arc::new(|| Box::pin(std::future::ready(()))),
            settings: Box::new(settings),
            events,
            files: BTreeMap::new(),
            owners: HashMap::new(),
            ignored: HashSet::new(),
            pins: None,
            over_limit: BTreeSet::new(),
            unserved: Unserved::default(),
            retry: Retry::default(),
            skills: Skills::default(),
            loads: JoinSet::new(),
            stage_changed: Arc::default(),
            loading: HashMap::new(),
            listed: Vec::new(),
            pinning: JoinSet::new(),
            to_pin: Vec::new(),
            decision_epoch: 0,
            round: 0,
            last_number: 0,
        }
    }

    /// Begins commands in hints with this, in place of `wharf`.
    pub fn with_program(self, program: String) -> Self {
        Self { program, ..self }
    }

    /// Checks versions against the pins. Without a guard, every version runs.
    pub fn with_guard(self, guard: Guard) -> Self {
        Self { guard: Arc::new(guard), ..self }
    }

    /// Pins and serves new versions only after the future returned by `gate`.
    pub fn with_gate(self, gate: impl Fn() -> BoxFuture<'static, ()> + Send + Sync + 'static) -> Self {
        Self { gate: Arc::new(gate), ..self }
    }

    /// Loads the current files, and returns when each is in service or refused.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub async fn load_once(&mut self) -> io::Result<()> {
        let scan = files::scan(&self.root)?;
        self.emit(FolderEvent::Found(scan.plugins.len()));
        self.apply_scan(scan);
        self.look_at_skills();
        loop {
            tokio::select! {
                Some(load) = self.loads.join_next_with_id() => self.finish_loads(load),
                Some(pinned) = self.pinning.join_next() => self.finish_pinning(pinned),
                Some(look) = self.skills.looks.join_next() => self.finish_look(look, None),
                else => break,
            }
        }
        self.finish_first_scan();
        Ok(())
    }

    /// Watches the folder forever, on a dedicated thread: scanning many files and rebuilding large lists
    /// is slow. A deleted folder empties the catalog; it is loaded again when it is re-created.
    /// `settings_changed` signals that the settings must be read again.
    ///
    /// # Errors
    /// If the folder cannot be read at the start, or the thread cannot be started.
    pub async fn follow(self, settings_changed: watch::Receiver<()>) -> io::Result<Infallible> {
        let (sender, ended) = oneshot::channel();
        let dropped = CancellationToken::new();
        let _cancel_on_drop = dropped.clone().drop_guard();
        thread::Builder::new().name("wharf-folder".into()).spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
            let failed = runtime.and_then(|runtime| {
                runtime.block_on(async {
                    tokio::select! {
                        failed = self.follow_on_this_thread(settings_changed) => failed.map(Some),
                        () = dropped.cancelled() => Ok(None),
                    }
                })
            });
            // The receiver may have been dropped.
            let _ = sender.send(failed);
        })?;
        match ended.await {
            Ok(Err(error)) => Err(error),
            Ok(Ok(Some(never))) => match never {},
            // A host bug; loaded plugins keep serving.
            Ok(Ok(None)) | Err(_) => {
                tracing::error!("host panic while watching the plugin folder; changes are no longer detected");
                std::future::pending().await
            }
        }
    }

    async fn follow_on_this_thread(mut self, mut settings_changed: watch::Receiver<()>) -> io::Result<Infallible> {
        let mut watcher = Watcher::new(self.root.clone());
        let mut pins = self.guard.watch();
        // Watch, then scan: a change in between is seen twice rather than missed.
        watcher.watch(&files::scan(&self.root)?.folders);
        let scan = files::scan(&self.root)?;
        watcher.watch(&scan.folders);
        self.emit(FolderEvent::Found(scan.plugins.len()));
        self.apply_scan(scan);
        self.look_at_skills();
        loop {
            let is_idle = self.loads.is_empty() && self.pinning.is_empty() && self.knows_skills();
            if is_idle && !self.catalog.is_ready() {
                self.finish_first_scan();
            }
            let due = self.next_due();
            tokio::select! {
                Some(load) = self.loads.join_next_with_id() => self.finish_loads(load),
                Some(pinned) = self.pinning.join_next() => self.finish_pinning(pinned),
                Some(look) = self.skills.looks.join_next() => self.finish_look(look, Some(&mut watcher)),
                // Its time slice now ends earlier.
                () = self.stage_changed.notified() => {}
                Ok(()) = settings_changed.changed() => {
                    self.decision_epoch += 1;
                    self.reconfigure();
                    self.decide_on_skills_again();
                }
                () = pins.changed() => {
                    self.decision_epoch += 1;
                    self.apply_decisions();
                    self.decide_on_skills_again();
                }
                signal = watcher.next() => match signal {
                    Signal::Changed(path) => self.sync_path(path),
                    Signal::Gone(path) => if !self.exists(&path) {
                        self.mark_gone(&path);
                    },
                    Signal::Rescan => {
                        self.rescan(&mut watcher);
                        self.skills_changed();
                    }
                    Signal::Skills => self.skills_changed(),
                },
                () = time::sleep_until(due.unwrap_or_else(time::Instant::now)), if due.is_some() => {
                    self.on_timer(&mut watcher);
                }
            }
        }
    }

    /// Scans the folder and handles every file.
    fn rescan(&mut self, watcher: &mut Watcher) {
        watcher.watch(&files::scan(&self.root).unwrap_or_default().folders);
        // Again: files may have appeared in a new subfolder before it was watched.
        let mut scan = match files::scan(&self.root) {
            // A folder that cannot be read is not an empty one.
            Err(error) if self.root.exists() => {
                if is_temporary(&error) {
                    self.retry.scan = true;
                    self.retry_later();
                }
                return self.ignore(self.root.clone(), Ignored::UnreadRoot(error.to_string()));
            }
            scan => scan.unwrap_or_default(),
        };
        self.ignored.remove(&self.root);
        scan.mark_unfinished(|path| {
            let recent = !self.files.contains_key(path) && files::is_recent(path);
            if recent {
                watcher.settle(path.to_owned());
            }
            recent || watcher.is_being_written(path)
        });
        self.apply_scan(scan);
    }

    /// When [`Folder::on_timer`] has to be called next.
    fn next_due(&self) -> Option<time::Instant> {
        let due = [self.unserved.next_due(), self.next_grace_end(), self.next_retry(), self.next_slice_end()];
        due.into_iter().chain([self.next_look_at_skills()]).flatten().min()
    }

    fn on_timer(&mut self, watcher: &mut Watcher) {
        let now = time::Instant::now();
        if self.unserved.next_due().is_some_and(|due| due <= now) {
            self.emit_unserved();
        }
        self.end_grace_periods(now, |path| watcher.is_being_written(path));
        self.end_slices(now);
        if self.next_retry().is_some_and(|due| due <= now) {
            self.retry(watcher);
        }
        if self.next_look_at_skills().is_some_and(|due| due <= now) {
            self.look_at_skills();
        }
    }

    fn finish_first_scan(&mut self) {
        self.emit_unserved();
        self.catalog.set_ready();
        self.emit(FolderEvent::FirstScanDone);
    }

    fn warn(&self, warnings: Vec<super::Warning>) {
        for warning in warnings {
            self.emit(FolderEvent::Warned(FolderWarning::Name(warning)));
        }
    }

    fn emit(&self, event: FolderEvent) {
        // The receiver may have been dropped.
        let _ = self.events.send(event);
    }
}

#[cfg(test)]
mod tests;
