//! Tells when a plugin file has reached a state worth loading.
//!
//! It never reads a file. Where the system says that a writer has closed a file, that is
//! the moment; elsewhere a file is ready when two looks at it, a while apart, agree.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use notify::event::{AccessKind, AccessMode, ModifyKind, RenameMode};
use notify::{Event, EventKind, RecursiveMode};
use tokio::sync::mpsc;

use super::files;

/// Between two looks at a file whose writer cannot be heard.
const SETTLE: Duration = Duration::from_millis(150);
/// Between attempts to watch a folder that is not there.
const RETRY: Duration = Duration::from_millis(500);

/// Between two looks at a folder that the system cannot watch.
const POLL: Duration = Duration::from_secs(2);

/// What has to be done.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Signal {
    /// This path appeared, changed or went.
    Look(PathBuf),
    /// Something was missed, or a folder came or went: look at everything.
    Rescan,
}

/// Size, time of change and inode: equal stamps mean that nobody wrote in between.
type Stamp = Option<(u64, Option<SystemTime>, u64)>;

pub(super) struct Watcher {
    root: PathBuf,
    notify: Box<dyn notify::Watcher + Send>,
    /// The system says when a writer has closed a file.
    hears_close: bool,
    events: mpsc::UnboundedReceiver<notify::Result<Event>>,
    watched: HashSet<PathBuf>,
    /// Files that may still be written to, and how they looked last.
    settling: HashMap<PathBuf, Stamp>,
}

impl Watcher {
    /// Where the system has no handle left to watch files with, they are polled.
    ///
    /// # Errors
    /// If they cannot be polled either.
    pub(super) fn new(root: PathBuf) -> notify::Result<Self> {
        let (sender, events) = mpsc::unbounded_channel();
        let handler = move |event| {
            // The receiver is gone only when nobody cares any more.
            let _ = sender.send(event);
        };
        let (notify, hears_close): (Box<dyn notify::Watcher + Send>, _) =
            match notify::recommended_watcher(handler.clone()) {
                Ok(native) => (Box::new(native), cfg!(target_os = "linux")),
                Err(error) => {
                    tracing::warn!(%error, "the system cannot watch files; looking every {} s", POLL.as_secs());
                    let config = notify::Config::default().with_poll_interval(POLL);
                    (Box::new(notify::PollWatcher::new(handler, config)?), false)
                }
            };
        Ok(Self { hears_close, root, notify, events, watched: HashSet::new(), settling: HashMap::new() })
    }

    /// Watches exactly these folders. Must be called before they are scanned, so that
    /// nothing falls between the scan and the watch.
    pub(super) fn watch(&mut self, folders: &[PathBuf]) {
        let wanted: HashSet<PathBuf> = folders.iter().cloned().collect();
        for gone in self.watched.difference(&wanted) {
            // The system forgets a folder that was deleted by itself.
            let _ = self.notify.unwatch(gone);
        }
        self.watched.retain(|folder| wanted.contains(folder));
        for folder in wanted {
            if self.watched.contains(&folder) {
                continue;
            }
            match self.notify.watch(&folder, RecursiveMode::NonRecursive) {
                Ok(()) => {
                    self.watched.insert(folder);
                }
                Err(error) => tracing::warn!(folder = %folder.display(), %error, "failed to watch a folder"),
            }
        }
    }

    /// The next thing to do. Cancel-safe: nothing is lost when the future is dropped.
    pub(super) async fn next(&mut self) -> Signal {
        loop {
            let lost = !self.watched.contains(&self.root);
            tokio::select! {
                event = self.events.recv() => match event {
                    Some(Ok(event)) => if let Some(signal) = self.translate(event) {
                        return signal;
                    },
                    Some(Err(error)) => {
                        tracing::warn!(%error, "the file watcher stumbled");
                        return Signal::Rescan;
                    }
                    // `notify` holds the sender, and lives in `self`.
                    None => std::future::pending::<()>().await,
                },
                () = tokio::time::sleep(RETRY), if lost => if self.root.is_dir() {
                    return Signal::Rescan;
                },
                () = tokio::time::sleep(SETTLE), if !lost && !self.settling.is_empty() => if let Some(path) = self.settled() {
                    return Signal::Look(path);
                },
            }
        }
    }

    fn translate(&mut self, event: Event) -> Option<Signal> {
        if event.need_rescan() {
            return Some(Signal::Rescan);
        }
        let path = files::signed(event.paths.last()?);
        if event.paths.iter().any(|path| self.watched.contains(path)) && removes(event.kind) {
            for path in &event.paths {
                self.watched.remove(path);
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
            EventKind::Access(AccessKind::Close(AccessMode::Write)) => {
                self.settling.remove(&path);
                Some(Signal::Look(path))
            }
            EventKind::Modify(ModifyKind::Name(RenameMode::To | RenameMode::From)) | EventKind::Remove(_) => {
                self.settling.remove(&path);
                Some(Signal::Look(path))
            }
            EventKind::Modify(ModifyKind::Name(RenameMode::Both)) => None,
            EventKind::Create(_) if self.hears_close => linked(&path).then_some(Signal::Look(path)),
            EventKind::Modify(ModifyKind::Metadata(_)) if self.hears_close => Some(Signal::Look(path)),
            EventKind::Modify(_) if self.hears_close => None,
            EventKind::Access(_) => None,
            _ => {
                self.settling.insert(path, None);
                None
            }
        }
    }

    /// A file that looks as it did last time.
    fn settled(&mut self) -> Option<PathBuf> {
        let mut ready = None;
        for (path, last) in &mut self.settling {
            let now = stamp(path);
            if ready.is_none() && (now.is_none() || *last == now) {
                ready = Some(path.clone());
            }
            *last = now;
        }
        self.settling.remove(ready.as_ref()?);
        ready
    }
}

fn removes(kind: EventKind) -> bool {
    matches!(kind, EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(RenameMode::From)))
}

/// Whether a new name was given to a file that is there already: nobody will close it.
fn linked(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        std::fs::symlink_metadata(path).is_ok_and(|file| file.nlink() > 1 || !file.is_file())
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        false
    }
}

fn stamp(path: &Path) -> Stamp {
    let file = std::fs::symlink_metadata(path).ok()?;
    #[cfg(unix)]
    let inode = std::os::unix::fs::MetadataExt::ino(&file);
    #[cfg(not(unix))]
    let inode = 0;
    Some((file.len(), file.modified().ok(), inode))
}

#[cfg(test)]
mod tests;
