//! Reports when a plugin file is ready to be loaded.
//!
//! It never reads a file. Where the system reports that a writer closed a file, the file is ready
//! then; elsewhere when two stamps of it, an interval apart, are equal.

mod polled;

use std::collections::{HashMap, HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::time::Duration;

use notify::event::{AccessKind, AccessMode, ModifyKind, RenameMode};
use notify::{Event, EventKind, RecursiveMode};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::files;
use crate::os::REPORTS_CLOSE;
use crate::os::files::Links;
use crate::os::stamp::{Identity, Stamp, is_linked};
use polled::Polled;

/// Interval between two checks of a file whose close is not reported.
const SETTLE: Duration = Duration::from_millis(150);
/// Between two looks at whether folders are still those that are watched, and at what is in those
/// that the system cannot watch.
const LOOK: Duration = Duration::from_secs(1);

/// After this long without an event, an open writer is assumed to be gone.
const SILENT: Duration = Duration::from_secs(60);

/// What has to be done.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Signal {
    /// This path appeared or changed.
    Look(PathBuf),
    /// The file at this path is gone. A new file there is reported separately: it may be incomplete.
    Gone(PathBuf),
    /// Events were lost, or a folder appeared or disappeared: scan everything.
    Rescan,
}

pub(super) struct Watcher {
    root: PathBuf,
    /// The root as some systems spell it in events.
    canonical: Option<PathBuf>,
    /// `None`: no file watch handles left.
    notify: Option<Box<dyn notify::Watcher + Send>>,
    /// Whether the system reports that a writer closed a file.
    hears_close: bool,
    events: mpsc::UnboundedReceiver<notify::Result<Event>>,
    /// So that there is one also where nothing is watched.
    _sender: mpsc::UnboundedSender<notify::Result<Event>>,
    folders: HashMap<PathBuf, Followed>,
    /// When they are looked at next.
    look_at: Instant,
    /// Files that were just created; the next open of one is its writer.
    created: HashSet<PathBuf>,
    /// Files open for writing as far as reported, and when that was last; their close will follow.
    writing: HashMap<PathBuf, Instant>,
    /// Files that may still be written to, and how they looked last.
    settling: HashMap<PathBuf, Option<Stamp>>,
    /// When these are looked at next.
    settle_at: Option<Instant>,
    ready: VecDeque<PathBuf>,
    /// Whether the polling of folders was logged.
    told: bool,
}

/// A folder that is followed.
struct Followed {
    identity: Identity,
    /// What was last seen in it, if the system cannot watch it.
    polled: Option<Polled>,
}

impl Watcher {
    /// Where no file watch handles left, they are polled.
    pub(super) fn new(root: PathBuf) -> Self {
        let (sender, events) = mpsc::unbounded_channel();
        let heard = sender.clone();
        let handler = move |event| {
            // The receiver is gone only during shutdown.
            let _ = heard.send(event);
        };
        let notify = notify::recommended_watcher(handler)
            .inspect_err(|error| tracing::debug!(%error, "no file watch handles left"));
        Self {
            root,
            canonical: None,
            notify: notify.ok().map(|native| Box::new(native) as _),
            hears_close: REPORTS_CLOSE,
            events,
            _sender: sender,
            folders: HashMap::new(),
            look_at: Instant::now() + LOOK,
            created: HashSet::new(),
            writing: HashMap::new(),
            settling: HashMap::new(),
            settle_at: None,
            ready: VecDeque::new(),
            told: false,
        }
    }

    /// Watches exactly these folders. Must be called before they are scanned, so that
    /// nothing falls between the scan and the watch.
    pub(super) fn watch(&mut self, folders: &[PathBuf]) {
        let wanted: HashSet<&PathBuf> = folders.iter().collect();
        let gone: Vec<PathBuf> = self.folders.keys().filter(|folder| !wanted.contains(folder)).cloned().collect();
        for folder in gone {
            self.forget(&folder);
        }
        for folder in folders {
            if !self.folders.contains_key(folder) {
                self.follow(folder);
            }
        }
        self.tell_polled();
    }

    fn follow(&mut self, folder: &Path) {
        // The identity first: a folder that is replaced right now is seen at the next look.
        let Some(identity) = self.identity(folder) else { return };
        let polled = match self.hear(folder) {
            true => None,
            false => Some(Polled::look(folder)),
        };
        if folder == self.root {
            self.canonical = folder.canonicalize().ok().filter(|canonical| canonical != folder);
        }
        self.folders.insert(folder.to_owned(), Followed { identity, polled });
    }

    /// Whether the system reports events of that folder from here on.
    fn hear(&mut self, folder: &Path) -> bool {
        let Some(notify) = &mut self.notify else { return false };
        let heard = notify.watch(folder, RecursiveMode::NonRecursive);
        heard.inspect_err(|error| tracing::debug!(folder = %folder.display(), %error, "watch a folder")).is_ok()
    }

    fn forget(&mut self, folder: &Path) {
        if self.folders.remove(folder).is_some()
            && let Some(notify) = &mut self.notify
        {
            // The system forgets a folder that was deleted by itself.
            let _ = notify.unwatch(folder);
        }
    }

    /// The plugin folder may be reached by a link; a subfolder that is one is not followed.
    fn identity(&self, folder: &Path) -> Option<Identity> {
        Identity::of_folder(folder, if folder == self.root { Links::Followed } else { Links::NotFollowed })
    }

    fn tell_polled(&mut self) {
        let mut polled =
            self.folders.iter().filter(|(_, followed)| followed.polled.is_some()).map(|(folder, _)| folder);
        let Some(folder) = polled.next() else {
            self.told = false;
            return;
        };
        if !std::mem::replace(&mut self.told, true) {
            let (folder, more, every) = (folder.display(), polled.count(), LOOK.as_secs());
            tracing::warn!(
                %folder, more,
                "a folder cannot be watched; it is polled every {every} s (on Linux, the sysctls \
                 fs.inotify.max_user_watches and max_user_instances limit that)"
            );
        }
    }

    /// The file seems to be open for writing.
    pub(super) fn is_written(&self, path: &Path) -> bool {
        self.writing.contains_key(path)
    }

    /// Checks a file once it has stopped changing.
    pub(super) fn settle(&mut self, path: PathBuf) {
        self.settling.insert(path, None);
        self.settle_at.get_or_insert_with(|| Instant::now() + SETTLE);
    }

    /// The next thing to do. Cancel-safe: nothing is lost when the future is dropped.
    pub(super) async fn next(&mut self) -> Signal {
        loop {
            if let Some(path) = self.ready.pop_front() {
                return Signal::Look(path);
            }
            // A deadline, not a duration: polling this again must not postpone it.
            let (look_at, settle_at) = (self.look_at, self.settle_at);
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
                () = tokio::time::sleep_until(look_at) => {
                    let rescan = self.look_around();
                    self.look_at = Instant::now() + LOOK;
                    if rescan {
                        return Signal::Rescan;
                    }
                }
                () = tokio::time::sleep_until(settle_at.unwrap_or_else(Instant::now)), if settle_at.is_some() => {
                    self.settled();
                }
            }
        }
    }

    /// Whether a watched folder was replaced, created or removed.
    fn look_around(&mut self) -> bool {
        let is_other = |(folder, followed): (&PathBuf, &Followed)| {
            let other = self.identity(folder) != Some(followed.identity);
            other.then(|| folder.clone())
        };
        let others: Vec<PathBuf> = self.folders.iter().filter_map(is_other).collect();
        for folder in &others {
            self.forget(folder);
        }
        let mut rescan = !others.is_empty() || !self.folders.contains_key(&self.root) && self.root.is_dir();
        let polled: Vec<PathBuf> = self
            .folders
            .iter()
            .filter(|(_, followed)| followed.polled.is_some())
            .map(|(path, _)| path.clone())
            .collect();
        for folder in polled {
            // It may have become possible; what came before that is found by the look after it.
            let heard = self.hear(&folder);
            let now = Polled::look(&folder);
            let Some(followed) = self.folders.get_mut(&folder) else { continue };
            let before = followed.polled.take().unwrap_or_default();
            rescan |= folder == self.root && before.folders != now.folders;
            let changed = before.changed(&now);
            followed.polled = (!heard).then_some(now);
            for path in changed {
                self.settle(path);
            }
        }
        self.tell_polled();
        // A close that was not reported.
        self.writing.retain(|path, heard| {
            let rests = heard.elapsed() > SILENT;
            if rests {
                self.ready.push_back(files::signed(path));
            }
            !rests
        });
        rescan
    }

    fn translate(&mut self, mut event: Event) -> Option<Signal> {
        if event.need_rescan() {
            // A close may be among the lost events.
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
        let named = event.paths.last()?.clone();
        let path = files::signed(&named);
        if removes(event.kind) && event.paths.iter().any(|path| self.folders.contains_key(path)) {
            for path in &event.paths {
                self.forget(path);
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
                let signed = named != path;
                let looked = self.closed(&named, path.clone());
                // Removing a signature is a change of the signed file.
                if signed { looked } else { Some(Signal::Gone(path)) }
            }
            EventKind::Modify(ModifyKind::Name(RenameMode::Both)) => None,
            EventKind::Create(_) if self.hears_close && is_linked(&named) => Some(Signal::Look(path)),
            EventKind::Create(_) if self.hears_close => {
                self.created.insert(named);
                self.settle(path);
                None
            }
            EventKind::Access(AccessKind::Open(_)) => {
                if self.created.remove(&named) {
                    self.is_being_written(named, &path);
                }
                None
            }
            EventKind::Access(_) => None,
            // Some programs make a file readable before they write it.
            EventKind::Modify(ModifyKind::Metadata(_)) if self.hears_close => {
                (!self.writing.contains_key(&named)).then_some(Signal::Look(path))
            }
            EventKind::Modify(_) if self.hears_close => {
                self.is_being_written(named, &path);
                None
            }
            _ => {
                self.settle(path);
                None
            }
        }
    }

    fn is_being_written(&mut self, named: PathBuf, path: &Path) {
        self.created.remove(&named);
        self.settling.remove(path);
        self.writing.insert(named, Instant::now());
    }

    fn closed(&mut self, named: &Path, path: PathBuf) -> Option<Signal> {
        self.created.remove(named);
        self.writing.remove(named);
        self.settling.remove(&path);
        Some(Signal::Look(path))
    }

    /// Reports files as ready whose stamp has not changed since the last check.
    fn settled(&mut self) {
        self.created.clear();
        let ready = &mut self.ready;
        self.settling.retain(|path, last| {
            let now = Stamp::of(path, Links::NotFollowed);
            let rests = now.is_none() || *last == now;
            *last = now;
            if rests {
                ready.push_back(path.clone());
            }
            !rests
        });
        self.settle_at = (!self.settling.is_empty()).then(|| Instant::now() + SETTLE);
    }
}

fn removes(kind: EventKind) -> bool {
    matches!(kind, EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(RenameMode::From)))
}

#[cfg(test)]
mod tests;
