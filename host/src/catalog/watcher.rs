//! Reports when a plugin file is ready to be loaded.
//!
//! Never reads a file. Where the system reports that a writer closed a file, the file is ready then;
//! elsewhere when two stamps of it, [`SETTLE`] apart, are equal.

mod polled;

use std::collections::{HashMap, HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::time::Duration;

use notify::event::{AccessKind, AccessMode, ModifyKind, RenameMode};
use notify::{Event, EventKind, RecursiveMode};
use tokio::sync::mpsc;
use tokio::time::Instant;
use wharf_report::ShowPath as _;

use super::files;
use crate::os::REPORTS_CLOSE;
use crate::os::files::Links;
use crate::os::stamp::{Identity, Stamp, is_linked};
use crate::skills;
use polled::Polled;

/// Interval between two checks of a file whose close is not reported.
const SETTLE: Duration = Duration::from_millis(150);
/// Interval between checks whether watched folders were replaced, and polls of the folders that the
/// system cannot watch.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// After this long without an event, a file is no longer assumed to be open for writing.
const WRITER_TIMEOUT: Duration = Duration::from_secs(60);

/// A change that the folder has to handle.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Signal {
    /// This path appeared or changed.
    Changed(PathBuf),
    /// The file at this path was removed. A new file there is reported separately: it may be incomplete.
    Gone(PathBuf),
    /// Events were lost, or a folder appeared or disappeared: scan everything.
    Rescan,
    /// Something changed below the folder of skills.
    Skills,
}

pub(super) struct Watcher {
    root: PathBuf,
    /// The root without symbolic links, as some systems report it in events; `None`: the same.
    canonical: Option<PathBuf>,
    /// `None`: the system has no watch handles left.
    notify: Option<Box<dyn notify::Watcher + Send>>,
    /// Whether the system reports that a writer closed a file.
    reports_close: bool,
    events: mpsc::UnboundedReceiver<notify::Result<Event>>,
    /// Keeps the channel open where `notify` is `None`.
    _sender: mpsc::UnboundedSender<notify::Result<Event>>,
    folders: HashMap<PathBuf, WatchedFolder>,
    /// Those of plugins and those of skills, which may overlap.
    plugin_folders: Vec<PathBuf>,
    skill_folders: Vec<PathBuf>,
    /// Something changed below one of skills.
    skills_changed: bool,
    /// When the folders are checked next.
    poll_at: Instant,
    /// Files that were just created; the next open of one is its writer.
    created: HashSet<PathBuf>,
    /// Files that are open for writing according to events, and when the last event was. A close follows.
    writing: HashMap<PathBuf, Instant>,
    /// Files that may still be written to, and their last stamp.
    settling: HashMap<PathBuf, Option<Stamp>>,
    /// When these are checked next.
    settle_at: Option<Instant>,
    ready: VecDeque<PathBuf>,
    /// Whether it was logged that folders are polled.
    polling_logged: bool,
}

/// A watched folder.
struct WatchedFolder {
    identity: Identity,
    /// Its content at the last poll, if the system cannot watch it.
    polled: Option<Polled>,
}

impl Watcher {
    /// Without watch handles, folders are polled.
    pub(super) fn new(root: PathBuf) -> Self {
        let (sender, events) = mpsc::unbounded_channel();
        let to_events = sender.clone();
        let handler = move |event| {
            // The receiver is gone only during shutdown.
            let _ = to_events.send(event);
        };
        let notify = notify::recommended_watcher(handler)
            .inspect_err(|error| tracing::debug!(%error, "no file watch handles left"));
        Self {
            root,
            canonical: None,
            notify: notify.ok().map(|native| Box::new(native) as _),
            reports_close: REPORTS_CLOSE,
            events,
            _sender: sender,
            folders: HashMap::new(),
            plugin_folders: Vec::new(),
            skill_folders: Vec::new(),
            skills_changed: false,
            poll_at: Instant::now() + POLL_INTERVAL,
            created: HashSet::new(),
            writing: HashMap::new(),
            settling: HashMap::new(),
            settle_at: None,
            ready: VecDeque::new(),
            polling_logged: false,
        }
    }

    /// Watches exactly these folders of plugins. Must be called before they are scanned, so that no change between
    /// the scan and the watch is missed.
    pub(super) fn watch(&mut self, folders: &[PathBuf]) {
        self.plugin_folders = folders.to_vec();
        self.watch_all();
    }

    /// Watches exactly these folders of skills. Returns whether some of them are new.
    pub(super) fn watch_skills(&mut self, folders: &[PathBuf]) -> bool {
        let before = std::mem::replace(&mut self.skill_folders, folders.to_vec());
        if before == folders {
            return false;
        }
        self.watch_all();
        let before: HashSet<PathBuf> = before.into_iter().collect();
        folders.iter().any(|folder| !before.contains(folder))
    }

    fn watch_all(&mut self) {
        let wanted: HashSet<PathBuf> = self.plugin_folders.iter().chain(&self.skill_folders).cloned().collect();
        let gone: Vec<PathBuf> = self.folders.keys().filter(|folder| !wanted.contains(*folder)).cloned().collect();
        for folder in gone {
            self.remove_folder(&folder);
        }
        for folder in wanted {
            if !self.folders.contains_key(&folder) {
                self.add_folder(&folder);
            }
        }
        self.warn_of_polling();
    }

    fn add_folder(&mut self, folder: &Path) {
        // The identity first: if the folder is replaced right now, the next check detects it.
        let Some(identity) = self.identity(folder) else { return };
        let polled = match self.watch_natively(folder) {
            true => None,
            false => Some(Polled::read(folder).unwrap_or_default()),
        };
        if folder == self.root {
            self.canonical = folder.canonicalize().ok().filter(|canonical| canonical != folder);
        }
        self.folders.insert(folder.to_owned(), WatchedFolder { identity, polled });
    }

    /// Whether the system reports events of the folder from now on.
    fn watch_natively(&mut self, folder: &Path) -> bool {
        let Some(notify) = &mut self.notify else { return false };
        let watched = notify.watch(folder, RecursiveMode::NonRecursive);
        watched.inspect_err(|error| tracing::debug!(folder = %folder.shown(), %error, "watch a folder")).is_ok()
    }

    fn remove_folder(&mut self, folder: &Path) {
        if self.folders.remove(folder).is_some()
            && let Some(notify) = &mut self.notify
        {
            // An error is expected: the system drops the watch of a deleted folder.
            let _ = notify.unwatch(folder);
        }
    }

    /// The plugin folder may be a symbolic link; a subfolder that is one is not watched.
    fn identity(&self, folder: &Path) -> Option<Identity> {
        Identity::of_folder(folder, if folder == self.root { Links::Followed } else { Links::NotFollowed })
    }

    fn warn_of_polling(&mut self) {
        let mut polled = self.folders.iter().filter(|(_, watched)| watched.polled.is_some()).map(|(folder, _)| folder);
        let Some(folder) = polled.next() else {
            self.polling_logged = false;
            return;
        };
        if !std::mem::replace(&mut self.polling_logged, true) {
            let (folder, more, every) = (folder.shown(), polled.count(), POLL_INTERVAL.as_secs());
            tracing::warn!(
                %folder, more,
                "a folder cannot be watched; it is polled every {every} s (on Linux, the sysctls \
                 fs.inotify.max_user_watches and max_user_instances limit that)"
            );
        }
    }

    /// Whether the file is open for writing, according to events.
    pub(super) fn is_being_written(&self, path: &Path) -> bool {
        self.writing.contains_key(path)
    }

    /// Reports a file once it has stopped changing.
    pub(super) fn settle(&mut self, path: PathBuf) {
        self.settling.insert(path, None);
        self.settle_at.get_or_insert_with(|| Instant::now() + SETTLE);
    }

    /// The next change. Cancel-safe: nothing is lost when the future is dropped.
    pub(super) async fn next(&mut self) -> Signal {
        loop {
            if let Some(path) = self.ready.pop_front() {
                return Signal::Changed(path);
            }
            if std::mem::take(&mut self.skills_changed) {
                return Signal::Skills;
            }
            // Deadlines, not durations: calling this again must not postpone them.
            let (poll_at, settle_at) = (self.poll_at, self.settle_at);
            tokio::select! {
                event = self.events.recv() => match event {
                    Some(Ok(event)) => if let Some(signal) = self.translate(event) {
                        return signal;
                    },
                    Some(Err(error)) => {
                        tracing::warn!(%error, "file watcher error, rescanning");
                        return Signal::Rescan;
                    }
                    // A sender lives in `self`.
                    None => std::future::pending::<()>().await,
                },
                () = tokio::time::sleep_until(poll_at) => {
                    let rescan = self.check_folders();
                    self.poll_at = Instant::now() + POLL_INTERVAL;
                    if rescan {
                        return Signal::Rescan;
                    }
                }
                () = tokio::time::sleep_until(settle_at.unwrap_or_else(Instant::now)), if settle_at.is_some() => {
                    self.check_settling();
                }
            }
        }
    }

    /// Polls folders. Returns whether one was replaced, created or removed, which needs a scan.
    fn check_folders(&mut self) -> bool {
        let replaced = |(folder, watched): (&PathBuf, &WatchedFolder)| {
            (self.identity(folder) != Some(watched.identity)).then(|| folder.clone())
        };
        let replaced: Vec<PathBuf> = self.folders.iter().filter_map(replaced).collect();
        for folder in &replaced {
            self.remove_folder(folder);
        }
        let mut rescan = !replaced.is_empty() || !self.folders.contains_key(&self.root) && self.root.is_dir();
        let polled: Vec<PathBuf> =
            self.folders.iter().filter(|(_, watched)| watched.polled.is_some()).map(|(path, _)| path.clone()).collect();
        for folder in polled {
            // It may have become possible to watch it. Watch, then poll: no change in between is missed.
            let is_native = self.watch_natively(&folder);
            // One that is gone was handled above; any other is read at the next poll.
            let Ok(now) = Polled::read(&folder) else { continue };
            self.skills_changed |= self.skill_folders.contains(&folder);
            let Some(watched) = self.folders.get_mut(&folder) else { continue };
            let before = watched.polled.take().unwrap_or_default();
            rescan |= folder == self.root && before.folders != now.folders;
            let changed = before.changed(&now);
            watched.polled = (!is_native).then_some(now);
            for path in changed {
                self.settle(path);
            }
        }
        self.warn_of_polling();
        // Their close was not reported.
        self.writing.retain(|path, last_event| {
            let timed_out = last_event.elapsed() > WRITER_TIMEOUT;
            if timed_out {
                self.ready.push_back(files::signed_file(path));
            }
            !timed_out
        });
        rescan
    }

    fn translate(&mut self, mut event: Event) -> Option<Signal> {
        if event.need_rescan() {
            // Closes may be among the lost events.
            self.writing.clear();
            return Some(Signal::Rescan);
        }
        if let Some(canonical) = &self.canonical {
            for path in &mut event.paths {
                if let Ok(below) = path.strip_prefix(canonical) {
                    *path = self.root.join(below);
                }
            }
        }
        self.skills_changed |= changes(event.kind) && event.paths.iter().any(|path| self.is_of_skills(path));
        let named = event.paths.last()?.clone();
        let path = files::signed_file(&named);
        if removes(event.kind) && event.paths.iter().any(|path| self.folders.contains_key(path)) {
            for path in &event.paths {
                self.remove_folder(path);
            }
            return Some(Signal::Rescan);
        }
        if files::plugin_of(&path).is_none() {
            // A new subfolder has to be watched, and may hold plugins already.
            let new_folder = matches!(event.kind, EventKind::Create(_) | EventKind::Modify(ModifyKind::Name(_)))
                && path.parent() == Some(&self.root)
                && path.is_dir();
            return new_folder.then_some(Signal::Rescan);
        }
        match event.kind {
            EventKind::Access(AccessKind::Close(AccessMode::Write)) => self.closed(&named, path),
            EventKind::Modify(ModifyKind::Name(RenameMode::To)) => self.closed(&named, path),
            EventKind::Modify(ModifyKind::Name(RenameMode::From)) | EventKind::Remove(_) => {
                let is_signature = named != path;
                let changed = self.closed(&named, path.clone());
                // Removing a signature is a change of the signed file.
                if is_signature { changed } else { Some(Signal::Gone(path)) }
            }
            EventKind::Modify(ModifyKind::Name(RenameMode::Both)) => None,
            EventKind::Create(_) if self.reports_close && is_linked(&named) => Some(Signal::Changed(path)),
            EventKind::Create(_) if self.reports_close => {
                self.created.insert(named);
                self.settle(path);
                None
            }
            EventKind::Access(AccessKind::Open(_)) => {
                if self.created.remove(&named) {
                    self.mark_written(named, &path);
                }
                None
            }
            EventKind::Access(_) => None,
            // Some programs, such as Node's `copyFile`, change the mode before they write.
            EventKind::Modify(ModifyKind::Metadata(_)) if self.reports_close => {
                (!self.writing.contains_key(&named)).then_some(Signal::Changed(path))
            }
            EventKind::Modify(_) if self.reports_close => {
                self.mark_written(named, &path);
                None
            }
            _ => {
                self.settle(path);
                None
            }
        }
    }

    fn is_of_skills(&self, path: &Path) -> bool {
        path.strip_prefix(self.root.join(skills::FOLDER)).is_ok_and(|below| below != Path::new(""))
    }

    fn mark_written(&mut self, named: PathBuf, path: &Path) {
        self.created.remove(&named);
        self.settling.remove(path);
        self.writing.insert(named, Instant::now());
    }

    fn closed(&mut self, named: &Path, path: PathBuf) -> Option<Signal> {
        self.created.remove(named);
        self.writing.remove(named);
        self.settling.remove(&path);
        Some(Signal::Changed(path))
    }

    /// Queues the files whose stamp has not changed since the last check.
    fn check_settling(&mut self) {
        self.created.clear();
        let ready = &mut self.ready;
        self.settling.retain(|path, last| {
            let now = Stamp::of(path, Links::NotFollowed);
            let stable = now.is_none() || *last == now;
            *last = now;
            if stable {
                ready.push_back(path.clone());
            }
            !stable
        });
        self.settle_at = (!self.settling.is_empty()).then(|| Instant::now() + SETTLE);
    }
}

fn removes(kind: EventKind) -> bool {
    matches!(kind, EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(RenameMode::From)))
}

/// Whether something was written, and not only read.
fn changes(kind: EventKind) -> bool {
    !matches!(kind, EventKind::Access(access) if access != AccessKind::Close(AccessMode::Write))
}

#[cfg(test)]
mod tests;
