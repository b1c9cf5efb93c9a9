//! Keeps the catalog equal to a folder of plugin files.
//!
//! A new version is loaded beside the old one and swapped in atomically; if it fails, the old one
//! keeps serving. This module decides when to load, not how.

mod decide;
mod gone;
mod look;
mod reprieve;
mod settle;
mod unserved;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::convert::Infallible;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use futures_util::future::BoxFuture;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::{Id, JoinSet};
use tokio::time;
use tokio_util::sync::CancellationToken;

use super::files;
use super::watcher::{Signal, Watcher};
use super::{Admission, Asked, Catalog, Denial, FolderEvent, Naming, ask};
use crate::pins::{Guard, Reason, Seen};
use crate::plugin::{Digest, Grants, Limits, PluginId, Sandbox, Signatures};
use reprieve::Reprieve;
use unserved::Unserved;

/// Concurrent loads: one that compiles must not block those that need not.
const PARALLEL_LOADS: usize = 4;

/// How a plugin is run and named.
#[derive(Clone, Debug, PartialEq)]
pub struct PluginSettings {
    pub limits: Limits,
    pub grants: Grants,
    pub naming: Naming,
}

/// A plugin folder, and what is needed to load from it.
pub struct Folder {
    root: PathBuf,
    catalog: Arc<Catalog>,
    sandbox: Arc<Sandbox>,
    guard: Arc<Guard>,
    gate: Gate,
    settings: Box<dyn Fn(&PluginId) -> PluginSettings + Send + Sync>,
    events: mpsc::UnboundedSender<FolderEvent>,
    /// Files that belong to a plugin in service or being loaded.
    files: BTreeMap<PathBuf, File>,
    /// Which file owns a plugin id; a second file of the same name waits for it.
    owners: HashMap<PluginId, PathBuf>,
    /// Ignored files that were reported already.
    ignored: HashSet<PathBuf>,
    /// Files over the limit, until one of the others is removed.
    surplus: BTreeSet<PathBuf>,
    /// Those of both that are not reported yet.
    unserved: Unserved,
    loads: JoinSet<Loaded>,
    /// What each of them loads.
    loading: HashMap<Id, Load>,
    /// Loads that wait for those before them to be pinned.
    asked: Vec<(Load, Asked)>,
    /// At most one: what is pinned at the same time.
    pinning: JoinSet<Vec<Result<Admission, Denial>>>,
    /// What that pins.
    to_pin: Vec<Load>,
    /// Incremented whenever decisions of people may have changed.
    decisions: u64,
    /// Number of files seen so far.
    taken_up: u64,
}

/// Awaited before anything new is put into service.
type Gate = Arc<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>;

struct File {
    id: PluginId,
    /// Distinguishes it from an earlier file at its path.
    number: u64,
    state: State,
    /// What serves, if the last load went well.
    loaded: Option<Digest>,
    /// What serves does so under these.
    settings: Option<PluginSettings>,
    /// The surface that the serving version must keep.
    surface: Option<Digest>,
    /// What was seen of what serves.
    seen: Option<Seen>,
    /// What was seen of a version that is held, and why it is.
    held: Option<(Seen, Reason)>,
    /// Whose signatures counted when one was refused for its own.
    unsigned: Option<Signatures>,
    serving: bool,
    /// According to its exports; the serving version may be another one.
    completions: bool,
    /// The serving version is no longer allowed, and serves until the allowed one is loaded.
    reprieve: Option<Reprieve>,
    /// There is no file of that name any more; until when it serves on.
    gone: Option<time::Instant>,
}

#[derive(PartialEq)]
enum State {
    Resting,
    /// To be loaded when there is room.
    Waiting,
    Loading,
    /// It changed while it was being loaded.
    LoadingAgain,
}

/// One load.
struct Load {
    path: PathBuf,
    /// [`File::number`]
    number: u64,
    began: Instant,
    settings: PluginSettings,
    /// Whose signatures counted when it began.
    signatures: Signatures,
    /// [`Folder::decisions`] when it began.
    decisions: u64,
}

/// How a load ended. `None`: the file's bytes are those that serve already.
type Loaded = Result<Option<Asked>, Denial>;

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
            // The watcher reports absolute paths, and paths are compared by their spelling.
            root: std::path::absolute(&root).unwrap_or(root),
            catalog,
            sandbox,
            guard: Arc::new(Guard::open()),
            gate: Arc::new(|| Box::pin(std::future::ready(()))),
            settings: Box::new(settings),
            events,
            files: BTreeMap::new(),
            owners: HashMap::new(),
            ignored: HashSet::new(),
            surplus: BTreeSet::new(),
            unserved: Unserved::default(),
            loads: JoinSet::new(),
            loading: HashMap::new(),
            asked: Vec::new(),
            pinning: JoinSet::new(),
            to_pin: Vec::new(),
            decisions: 0,
            taken_up: 0,
        }
    }

    /// Checks versions against the pins; otherwise every version runs.
    pub fn guarded(self, guard: Guard) -> Self {
        Self { guard: Arc::new(guard), ..self }
    }

    /// Puts nothing new into service before the future returned by `gate` is ready.
    pub fn gated(self, gate: impl Fn() -> BoxFuture<'static, ()> + Send + Sync + 'static) -> Self {
        Self { gate: Arc::new(gate), ..self }
    }

    /// Loads what is there now, and returns when all of it is in service or refused.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub async fn load_once(&mut self) -> io::Result<()> {
        let scan = files::scan(&self.root)?;
        self.tell(FolderEvent::Found(scan.plugins.len()));
        self.take_up(scan);
        loop {
            tokio::select! {
                Some(load) = self.loads.join_next_with_id() => self.finish(load),
                Some(pinned) = self.pinning.join_next() => self.pinned(pinned),
                else => break,
            }
        }
        self.settled();
        Ok(())
    }

    /// Watches the folder forever, on a dedicated thread: scanning files and rebuilding lists is slow
    /// for many. A deleted folder empties the catalog, and is loaded again when it is back.
    /// `settings_changed` signals that the settings must be read again.
    ///
    /// # Errors
    /// If the folder cannot be read at the start, or the thread cannot be started.
    pub async fn follow(self, settings_changed: watch::Receiver<()>) -> io::Result<Infallible> {
        let (sender, ended) = oneshot::channel();
        let dropped = CancellationToken::new();
        let _ends_it = dropped.clone().drop_guard();
        thread::Builder::new().name("wharf-folder".into()).spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
            let failed = runtime.and_then(|runtime| {
                runtime.block_on(async {
                    tokio::select! {
                        failed = self.follow_here(settings_changed) => failed.map(Some),
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
            // A bug of the host; loaded plugins keep serving.
            Ok(Ok(None)) | Err(_) => {
                tracing::error!("host panic while watching the plugin folder; changes are no longer detected");
                std::future::pending().await
            }
        }
    }

    async fn follow_here(mut self, mut settings_changed: watch::Receiver<()>) -> io::Result<Infallible> {
        let mut watcher = Watcher::new(self.root.clone());
        let mut pins = self.guard.watch();
        // Watch, then scan: a change in between is seen twice rather than missed.
        watcher.watch(&files::scan(&self.root)?.folders);
        let scan = files::scan(&self.root)?;
        watcher.watch(&scan.folders);
        self.tell(FolderEvent::Found(scan.plugins.len()));
        self.take_up(scan);
        loop {
            if self.loads.is_empty() && self.pinning.is_empty() && !self.catalog.is_ready() {
                self.settled();
            }
            let due = self.due();
            tokio::select! {
                Some(load) = self.loads.join_next_with_id() => self.finish(load),
                Some(pinned) = self.pinning.join_next() => self.pinned(pinned),
                Ok(()) = settings_changed.changed() => {
                    self.reconfigure();
                    self.decisions += 1;
                    self.decide_again();
                }
                () = pins.changed() => {
                    self.decisions += 1;
                    self.decide_again();
                }
                signal = watcher.next() => match signal {
                    Signal::Look(path) => self.look(path),
                    Signal::Gone(path) => if !self.is_there(&path) {
                        self.miss(&path);
                    },
                    Signal::Rescan => self.rescan(&mut watcher),
                },
                () = time::sleep_until(due.unwrap_or_else(time::Instant::now)), if due.is_some() => {
                    self.on_time(&watcher);
                }
            }
        }
    }

    /// Scans the current folder and handles every file.
    fn rescan(&mut self, watcher: &mut Watcher) {
        watcher.watch(&files::scan(&self.root).unwrap_or_default().folders);
        // Again, for what appeared in a new subfolder before it was watched.
        let mut scan = match files::scan(&self.root) {
            // One that cannot be read is not empty.
            Err(error) if self.root.exists() => {
                let reason = format!("read the plugin folder; loaded plugins keep serving: {error}");
                return self.ignore(self.root.clone(), reason);
            }
            scan => scan.unwrap_or_default(),
        };
        self.ignored.remove(&self.root);
        scan.unfinished(|path| {
            let fresh = !self.files.contains_key(path) && files::is_fresh(path);
            if fresh {
                watcher.settle(path.to_owned());
            }
            fresh || watcher.is_written(path)
        });
        self.take_up(scan);
    }

    /// When there is something to do, whatever happens until then.
    fn due(&self) -> Option<time::Instant> {
        self.unserved.due().into_iter().chain(self.next_end()).min()
    }

    fn on_time(&mut self, watcher: &Watcher) {
        let now = time::Instant::now();
        if self.unserved.due().is_some_and(|due| due <= now) {
            self.tell_unserved();
        }
        self.end_graces(now, |path| watcher.is_written(path));
    }

    fn settled(&mut self) {
        self.tell_unserved();
        self.catalog.set_ready();
        self.tell(FolderEvent::Settled);
    }

    fn start_loads(&mut self) {
        for (path, file) in &mut self.files {
            if self.loads.len() >= PARALLEL_LOADS {
                break;
            }
            if file.state != State::Waiting {
                continue;
            }
            file.state = State::Loading;
            if !file.serving {
                let _ = self.events.send(FolderEvent::Loading(file.id.clone()));
            }
            let load = Load {
                path: path.clone(),
                number: file.number,
                began: Instant::now(),
                settings: (self.settings)(&file.id),
                signatures: self.guard.signatures(),
                decisions: self.decisions,
            };
            let (sandbox, guard, path) = (self.sandbox.clone(), self.guard.clone(), path.clone());
            let (id, settings, loaded) = (file.id.clone(), load.settings.clone(), file.loaded);
            let task = self.loads.spawn(async move { ask(&sandbox, &guard, &path, &id, &settings, loaded).await }).id();
            self.loading.insert(task, load);
        }
    }

    fn warn(&self, warnings: Vec<super::Warning>) {
        for warning in warnings {
            self.tell(FolderEvent::Warned(warning.to_string()));
        }
    }

    fn tell(&self, event: FolderEvent) {
        // The receiver may have been dropped.
        let _ = self.events.send(event);
    }
}

#[cfg(test)]
mod tests;
