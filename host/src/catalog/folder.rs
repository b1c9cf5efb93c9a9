//! Keeps the catalog equal to a folder of plugin files.
//!
//! A new version is loaded beside the old one and swapped in whole; one that fails leaves
//! the old one serving. It decides when to load, not what loading means.

mod decide;
mod settle;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::convert::Infallible;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use futures_util::future::BoxFuture;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use super::files::{self, MAX_PLUGINS, Scan};
use super::watcher::{Signal, Watcher};
use super::{Admission, Asked, Catalog, Denial, FolderEvent, Naming, Refusal, ask};
use crate::pins::{Guard, Seen};
use crate::plugin::{Digest, Grants, Limits, PluginId, Sandbox, Signatures, exports_completions};

/// Loads under way at once: one that compiles must not hold up those that need not.
const PARALLEL_LOADS: usize = 4;

/// How a plugin is run and named.
#[derive(Clone, Debug, PartialEq)]
pub struct PluginSettings {
    pub limits: Limits,
    pub grants: Grants,
    pub naming: Naming,
}

/// A folder, and what it takes to load from it.
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
    /// Which file holds a plugin id; a second file of the same name has to wait for it.
    owners: HashMap<PluginId, PathBuf>,
    /// Ignored files that were spoken of already.
    ignored: HashSet<PathBuf>,
    /// Files that there is no room for, as long as none of the others goes.
    surplus: BTreeSet<PathBuf>,
    loads: JoinSet<Loaded>,
    /// Loads that wait for those before them to be pinned.
    asked: Vec<(Load, Asked)>,
    /// At most one: what is pinned at the same time.
    pinning: JoinSet<Vec<Pinned>>,
    /// How often what a person decides may have changed.
    decisions: u64,
}

/// What has to be waited for before anything new is put into service.
type Gate = Arc<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>;

struct File {
    id: PluginId,
    state: State,
    /// What serves, if the last load went well.
    loaded: Option<Digest>,
    /// What serves does so under these.
    settings: Option<PluginSettings>,
    /// What was seen of what serves.
    seen: Option<Seen>,
    /// What was seen of a version that is held.
    held: Option<Seen>,
    /// Whose signatures counted when one was refused for its own.
    unsigned: Option<Signatures>,
    serving: bool,
    /// Its exports say so; what serves may be another version.
    completions: bool,
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
    began: Instant,
    settings: PluginSettings,
    /// Whose signatures counted when it began.
    signatures: Signatures,
    /// [`Folder::decisions`] when it began.
    decisions: u64,
}

/// How a load ended.
type Loaded = (Load, Result<Option<Asked>, Denial>);
/// What became of it after that.
type Pinned = (Load, Result<Admission, Denial>);

impl Folder {
    /// `events` hears of everything that happens; it may be dropped.
    pub fn new(
        root: PathBuf,
        catalog: Arc<Catalog>,
        sandbox: Arc<Sandbox>,
        settings: impl Fn(&PluginId) -> PluginSettings + Send + Sync + 'static,
        events: mpsc::UnboundedSender<FolderEvent>,
    ) -> Self {
        catalog.set_sandbox(sandbox.clone());
        Self {
            // The watcher speaks of absolute paths, and a path is compared as it is spelt.
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
            loads: JoinSet::new(),
            asked: Vec::new(),
            pinning: JoinSet::new(),
            decisions: 0,
        }
    }

    /// Holds versions against what is pinned; otherwise every version runs.
    pub fn guarded(self, guard: Guard) -> Self {
        Self { guard: Arc::new(guard), ..self }
    }

    /// Puts nothing new into service before what `gate` gives is ready.
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
                Some(load) = self.loads.join_next() => self.finish(load),
                Some(pinned) = self.pinning.join_next() => self.pinned(pinned),
                else => break,
            }
        }
        self.settled();
        Ok(())
    }

    /// Follows the folder for ever. A folder that is deleted empties the catalog, and is
    /// taken up again when it is back. `settings_changed` says when the settings are to be
    /// asked for again.
    ///
    /// # Errors
    /// If the folder cannot be read at the start, or the system cannot watch files.
    pub async fn follow(mut self, mut settings_changed: watch::Receiver<()>) -> io::Result<Infallible> {
        let mut watcher = Watcher::new(self.root.clone()).map_err(io::Error::other)?;
        let mut pins = self.guard.watch();
        // Watch, then scan: what changes in between is seen twice rather than never.
        watcher.watch(&files::scan(&self.root)?.folders);
        let scan = files::scan(&self.root)?;
        watcher.watch(&scan.folders);
        self.tell(FolderEvent::Found(scan.plugins.len()));
        self.take_up(scan);
        loop {
            if self.loads.is_empty() && self.pinning.is_empty() && !self.catalog.is_ready() {
                self.settled();
            }
            tokio::select! {
                Some(load) = self.loads.join_next() => self.finish(load),
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
                    Signal::Rescan => {
                        let scan = files::scan(&self.root).unwrap_or_default();
                        watcher.watch(&scan.folders);
                        // Again, for what appeared in a new subfolder before it was watched.
                        self.take_up(files::scan(&self.root).unwrap_or_default());
                    }
                },
            }
        }
    }

    fn settled(&self) {
        self.catalog.set_ready();
        self.tell(FolderEvent::Settled);
    }

    fn take_up(&mut self, scan: Scan) {
        for (path, reason) in scan.ignored {
            self.ignore(path, reason);
        }
        let gone: Vec<PathBuf> = self.files.keys().filter(|path| !scan.plugins.contains_key(*path)).cloned().collect();
        for path in gone {
            self.drop_file(&path);
        }
        for path in scan.plugins.into_keys() {
            self.look(path);
        }
        self.catalog.set_looked();
    }

    fn ignore(&mut self, path: PathBuf, reason: String) {
        if self.ignored.insert(path.clone()) {
            self.refuse(path, reason);
        }
    }

    fn refuse(&self, path: PathBuf, reason: String) {
        self.tell(FolderEvent::Refused(Refusal { path, reason, hint: None, still_serving: false }));
    }

    /// Brings one path in step with the file system.
    fn look(&mut self, path: PathBuf) {
        if std::fs::symlink_metadata(&path).is_err() {
            return self.drop_file(&path);
        }
        let id = match files::plugin_of(&path) {
            Some(Ok(id)) => id,
            Some(Err(reason)) => return self.ignore(path, reason),
            None => return,
        };
        // Whoever was there first stays, whatever comes and how it sorts.
        if self.files.len() >= MAX_PLUGINS && !self.files.contains_key(&path) {
            if self.surplus.insert(path.clone()) {
                self.refuse(path, format!("load more than {MAX_PLUGINS} plugins"));
            }
            return;
        }
        match self.owners.get(&id) {
            None if self.catalog.host_uses(&id) => {
                return self.ignore(path, format!("use the plugin's name, which the host itself uses: {id}"));
            }
            Some(owner) if *owner != path => {
                let reason = format!("use the plugin's name, which another file has already: {}", owner.display());
                return self.ignore(path, reason);
            }
            _ => self.owners.insert(id.clone(), path.clone()),
        };
        let completions = exports_completions(&path);
        let new = File {
            id,
            state: State::Resting,
            loaded: None,
            settings: None,
            seen: None,
            held: None,
            unsigned: None,
            serving: false,
            completions,
        };
        let file = self.files.entry(path).or_insert(new);
        file.completions = completions;
        file.state = match file.state {
            State::Resting | State::Waiting => State::Waiting,
            State::Loading | State::LoadingAgain => State::LoadingAgain,
        };
        self.expect_completions();
        self.start_loads();
    }

    /// Tells the catalog what to expect of the files that are being loaded.
    fn expect_completions(&self) {
        let expected = |file: &File| file.completions && file.state != State::Resting;
        self.catalog.expect_completions(self.files.values().any(expected));
    }

    fn drop_file(&mut self, path: &Path) {
        self.ignored.remove(path);
        self.surplus.remove(path);
        // A load that is under way finds no file to belong to when it ends.
        let Some(file) = self.files.remove(path) else { return };
        self.owners.remove(&file.id);
        self.guard.miss(file.id.clone());
        if file.serving {
            self.warn(self.catalog.remove(&file.id));
            self.tell(FolderEvent::Removed(file.id.clone()));
        }
        self.expect_completions();
        // Another file of that name may have been waiting.
        let heirs: Vec<PathBuf> = self
            .ignored
            .iter()
            .filter(|path| matches!(files::plugin_of(path), Some(Ok(id)) if id == file.id))
            .cloned()
            .collect();
        for heir in heirs {
            self.ignored.remove(&heir);
            self.look(heir);
        }
        while self.files.len() < MAX_PLUGINS
            && let Some(next) = self.surplus.pop_first()
        {
            self.look(next);
        }
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
            let (settings, signatures) = ((self.settings)(&file.id), self.guard.signatures());
            let (sandbox, guard, decisions) = (self.sandbox.clone(), self.guard.clone(), self.decisions);
            let load = Load { path: path.clone(), began: Instant::now(), settings, signatures, decisions };
            let (id, loaded) = (file.id.clone(), file.loaded);
            self.loads.spawn(async move {
                let asked = ask(&sandbox, &guard, &load.path, &id, &load.settings, loaded).await;
                (load, asked)
            });
        }
    }

    fn warn(&self, warnings: Vec<super::Warning>) {
        for warning in warnings {
            self.tell(FolderEvent::Warned(warning.to_string()));
        }
    }

    fn tell(&self, event: FolderEvent) {
        // Nobody has to listen.
        let _ = self.events.send(event);
    }
}
