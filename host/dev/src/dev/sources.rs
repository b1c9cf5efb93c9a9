//! The sources of a project: a hash of their contents, and when they change.
//!
//! Editors and build tools rewrite files without changing them, and a build must not trigger another
//! one, so contents are compared.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use blake3::Hasher;
use notify::event::{AccessKind, AccessMode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::os::{self, FileId};
use crate::project::is_source;

/// No event for this long means that the writer has finished.
const DEBOUNCE: Duration = Duration::from_millis(100);
/// Maximum number of events that extend the debounce.
const MAX_DEBOUNCES: usize = 100;
/// Bytes from which a file is compared by size and modification time only.
const LARGE: u64 = 16 << 20;

pub(super) struct Sources {
    root: PathBuf,
    watcher: RecommendedWatcher,
    watched: HashSet<PathBuf>,
    events: mpsc::UnboundedReceiver<()>,
    /// Files that this process writes to: `wharf dev 2> log`.
    outputs: Vec<FileId>,
    /// Where components are installed: those in it are no sources.
    installed: Option<PathBuf>,
}

impl Sources {
    /// `installed`: the folder that components are installed into, which may be one of the project's.
    pub(super) fn watch(root: &Path, installed: &Path) -> notify::Result<Self> {
        let (sender, events) = mpsc::unbounded_channel();
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            if event.as_ref().map_or(true, may_be_change) {
                // The receiver is gone only during shutdown.
                let _ = sender.send(());
            }
        })?;
        let (root, watched, outputs) = (root.to_owned(), HashSet::new(), os::outputs());
        let mut sources = Self { root, watcher, watched, events, outputs, installed: installed.canonicalize().ok() };
        sources.watcher.watch(&sources.root, RecursiveMode::NonRecursive)?;
        sources.watched.insert(sources.root.clone());
        Ok(sources)
    }

    /// A hash of all sources. New folders are watched from now on.
    pub(super) fn hash(&mut self) -> blake3::Hash {
        let mut hasher = Hasher::new();
        let mut folders = vec![self.root.clone()];
        // A folder that is removed and recreated has to be watched again.
        self.watched.retain(|folder| folder.is_dir());
        while let Some(folder) = folders.pop() {
            // Watch before reading: later changes are events.
            if !self.watched.contains(&folder) && self.watcher.watch(&folder, RecursiveMode::NonRecursive).is_ok() {
                self.watched.insert(folder.clone());
            }
            let mut entries: Vec<_> = fs::read_dir(&folder).into_iter().flatten().flatten().collect();
            entries.sort_by_key(fs::DirEntry::file_name);
            let is_served = self.installed.is_some() && folder.canonicalize().ok() == self.installed;
            for entry in entries.into_iter().filter(|entry| is_source(&entry.file_name().to_string_lossy())) {
                let path = entry.path();
                if is_served && path.extension().is_some_and(|extension| extension == "wasm") {
                    continue;
                }
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    folders.push(path);
                } else {
                    self.hash_file(&mut hasher, &path);
                }
            }
        }
        hasher.finalize()
    }

    fn hash_file(&self, hasher: &mut Hasher, path: &Path) {
        let found = fs::metadata(path);
        let id = found.as_ref().ok().and_then(os::file_id);
        if id.is_some_and(|id| self.outputs.contains(&id)) {
            return;
        }
        hasher.update(path.to_string_lossy().as_bytes()).update(b"\0");
        let Ok(found) = found else { return };
        hasher.update(&found.len().to_le_bytes());
        if found.len() > LARGE {
            hasher.update(format!("{:?}", found.modified().ok()).as_bytes());
        } else if found.is_file()
            && let Ok(bytes) = fs::read(path)
        {
            hasher.update(&bytes);
        }
    }

    /// Discards pending events.
    pub(super) fn discard_events(&mut self) {
        while self.events.try_recv().is_ok() {}
    }

    /// Waits for a change, debounced.
    pub(super) async fn changed(&mut self) {
        // The watcher holds the sender, and lives in `self`.
        let _ = self.events.recv().await;
        for _ in 0..MAX_DEBOUNCES {
            if timeout(DEBOUNCE, self.events.recv()).await.is_err() {
                return;
            }
        }
    }
}

/// Whether the event may be a change; reads are not.
fn may_be_change(event: &Event) -> bool {
    !matches!(event.kind, EventKind::Access(access) if access != AccessKind::Close(AccessMode::Write))
}

#[cfg(test)]
mod tests {
    use super::Sources;

    #[test]
    fn only_contents_of_sources_count() {
        let dir = tempfile::tempdir().expect("a folder");
        let put = |path: &str, text: &str| {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("it is made");
            std::fs::write(path, text).expect("a file");
        };
        put("src/lib.rs", "one");
        let mut sources = Sources::watch(dir.path(), &dir.path().join("dist")).expect("it is watched");
        let first = sources.hash();
        for path in ["dist/a.wasm", "target/x", "node_modules/y/z.js", ".git/HEAD", "src/lib.rs~", "src/.lib.rs.swp"] {
            put(path, "made by tools");
        }
        put("src/lib.rs", "one");
        assert_eq!(sources.hash(), first, "no source has changed");
        put("src/lib.rs", "two");
        let second = sources.hash();
        assert_ne!(second, first);
        put("src/new/part.rs", "");
        assert_ne!(sources.hash(), second, "another file");
        put("src/lib.rs", "one");
        std::fs::remove_dir_all(dir.path().join("src/new")).expect("it goes");
        assert_eq!(sources.hash(), first, "as at the beginning");
    }

    #[test]
    fn what_this_process_writes_is_no_source() {
        let dir = tempfile::tempdir().expect("a folder");
        let log = dir.path().join("log");
        let mut sources = Sources::watch(dir.path(), &dir.path().join("dist")).expect("it is watched");
        let before = sources.hash();
        std::fs::write(&log, "built").expect("a file");
        let id = crate::os::file_id(&log.metadata().expect("a file"));
        if let Some(id) = id {
            assert_ne!(sources.hash(), before, "a file of somebody else");
            sources.outputs.push(id);
            assert_eq!(sources.hash(), before);
        }
    }

    #[test]
    fn a_component_that_is_installed_into_the_project_is_no_source() {
        let dir = tempfile::tempdir().expect("a folder");
        let served = dir.path().join("served");
        std::fs::create_dir(&served).expect("a folder");
        let mut sources = Sources::watch(dir.path(), &served).expect("it is watched");
        let before = sources.hash();
        std::fs::write(served.join("p.wasm"), "built").expect("a file");
        assert_eq!(sources.hash(), before);
        for source in [served.join("lib.rs"), dir.path().join("data.wasm")] {
            std::fs::write(&source, "text").expect("a file");
            assert_ne!(sources.hash(), before);
            std::fs::remove_file(source).expect("it goes");
        }
    }

    #[tokio::test]
    async fn a_change_in_a_new_folder_is_reported() {
        let dir = tempfile::tempdir().expect("a folder");
        let mut sources = Sources::watch(dir.path(), &dir.path().join("dist")).expect("it is watched");
        sources.hash();
        std::fs::create_dir(dir.path().join("deep")).expect("a folder");
        sources.changed().await;
        let before = sources.hash();
        sources.discard_events();
        std::fs::write(dir.path().join("deep/file"), "text").expect("a file");
        sources.changed().await;
        assert_ne!(sources.hash(), before);
    }
}
