//! The sources of a project: their current state, and when they change.
//!
//! Only contents count. Editors and build tools rewrite files without changing them, and a build must
//! not trigger another one.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use blake3::Hasher;
use notify::event::{AccessKind, AccessMode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::mpsc;
use tokio::time::timeout;

/// Folders of generated files, beside hidden ones.
const NOT_SOURCES: [&str; 6] = ["__pycache__", "build", "dist", "node_modules", "target", "venv"];
/// Debounce interval: no change for this long means that the writer has finished.
const SETTLE: Duration = Duration::from_millis(100);
/// Maximum number of debounce intervals.
const RESTLESS: usize = 100;
/// Bytes from which a file is compared by size and modification time only.
const LARGE: u64 = 16 << 20;

pub(super) struct Sources {
    root: PathBuf,
    watcher: RecommendedWatcher,
    watched: HashSet<PathBuf>,
    events: mpsc::UnboundedReceiver<()>,
}

impl Sources {
    pub(super) fn watch(root: &Path) -> notify::Result<Self> {
        let (sender, events) = mpsc::unbounded_channel();
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            if event.as_ref().map_or(true, changes) {
                // The receiver is gone only during shutdown.
                let _ = sender.send(());
            }
        })?;
        let mut sources = Self { root: root.to_owned(), watcher, watched: HashSet::new(), events };
        sources.watcher.watch(root, RecursiveMode::NonRecursive)?;
        sources.watched.insert(root.to_owned());
        Ok(sources)
    }

    /// A hash of all sources. New folders are watched from now on.
    pub(super) fn look(&mut self) -> blake3::Hash {
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
            for entry in entries.into_iter().filter(|entry| is_source(&entry.file_name().to_string_lossy())) {
                let path = entry.path();
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    folders.push(path);
                } else {
                    hash_file(&mut hasher, &path);
                }
            }
        }
        hasher.finalize()
    }

    /// Discards pending events.
    pub(super) fn forget(&mut self) {
        while self.events.try_recv().is_ok() {}
    }

    /// Waits for a change, debounced.
    pub(super) async fn changed(&mut self) {
        // The watcher holds the sender, and lives in `self`.
        let _ = self.events.recv().await;
        for _ in 0..RESTLESS {
            if timeout(SETTLE, self.events.recv()).await.is_err() {
                return;
            }
        }
    }
}

/// Whether the event may be a change; reads are not.
fn changes(event: &Event) -> bool {
    !matches!(event.kind, EventKind::Access(access) if access != AccessKind::Close(AccessMode::Write))
}

fn is_source(name: &str) -> bool {
    !name.starts_with('.') && !name.ends_with('~') && !NOT_SOURCES.contains(&name)
}

fn hash_file(hasher: &mut Hasher, path: &Path) {
    hasher.update(path.to_string_lossy().as_bytes()).update(b"\0");
    let Ok(found) = fs::metadata(path) else { return };
    hasher.update(&found.len().to_le_bytes());
    if found.len() > LARGE {
        hasher.update(format!("{:?}", found.modified().ok()).as_bytes());
    } else if found.is_file()
        && let Ok(bytes) = fs::read(path)
    {
        hasher.update(&bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::Sources;

    #[test]
    fn only_contents_of_sources_count_as_changes() {
        let dir = tempfile::tempdir().expect("a folder");
        let put = |path: &str, text: &str| {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("it is made");
            std::fs::write(path, text).expect("a file");
        };
        put("src/lib.rs", "one");
        let mut sources = Sources::watch(dir.path()).expect("it is watched");
        let first = sources.look();
        for path in ["dist/a.wasm", "target/x", "node_modules/y/z.js", ".git/HEAD", "src/lib.rs~", "src/.lib.rs.swp"] {
            put(path, "made by tools");
        }
        put("src/lib.rs", "one");
        assert_eq!(sources.look(), first, "no source has changed");
        put("src/lib.rs", "two");
        let second = sources.look();
        assert_ne!(second, first);
        put("src/new/part.rs", "");
        assert_ne!(sources.look(), second, "another file");
        put("src/lib.rs", "one");
        std::fs::remove_dir_all(dir.path().join("src/new")).expect("it is removed");
        assert_eq!(sources.look(), first, "as at first");
    }

    #[tokio::test]
    async fn a_change_in_a_new_folder_is_noticed() {
        let dir = tempfile::tempdir().expect("a folder");
        let mut sources = Sources::watch(dir.path()).expect("it is watched");
        sources.look();
        std::fs::create_dir(dir.path().join("deep")).expect("a folder");
        sources.changed().await;
        let before = sources.look();
        sources.forget();
        std::fs::write(dir.path().join("deep/file"), "text").expect("a file");
        sources.changed().await;
        assert_ne!(sources.look(), before);
    }
}
