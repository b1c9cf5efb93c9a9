//! The sources of a project: a hash of each file, and when they change.
//!
//! Editors and build tools rewrite files without changing them, so contents are compared. What a build or the server
//! writes is no source: a build would trigger the next one.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use blake3::{Hash, Hasher};
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

/// Bytes of a file that are searched for the line of a log.
const SEARCHED: u64 = 64 << 10;

/// The sources at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Contents(BTreeMap<PathBuf, Hash>);

impl Contents {
    /// The files that were added, changed or removed.
    pub(super) fn changed_since(&self, before: &Self) -> BTreeSet<PathBuf> {
        let all = self.0.keys().chain(before.0.keys());
        all.filter(|path| self.0.get(*path) != before.0.get(*path)).cloned().collect()
    }
}

pub(super) struct Sources {
    root: PathBuf,
    watcher: RecommendedWatcher,
    watched: HashSet<PathBuf>,
    events: mpsc::UnboundedReceiver<()>,
    /// Files that this process writes to: `wharf dev 2> log`.
    outputs: Vec<FileId>,
    /// Where components are installed: those in it are no sources.
    installed: Option<PathBuf>,
    /// Files and folders that the server writes to.
    written: Vec<PathBuf>,
    /// A line that this process prints. A file that has it is a log, such as that of `wharf dev 2>&1 | tee log`.
    printed: String,
    /// Such files, which may be emptied later.
    logs: HashSet<PathBuf>,
}

impl Sources {
    /// `installed`: the folder that components are installed into, which may be one of the project's; `written`: where the
    /// server writes; `printed`: a line of a log.
    pub(super) fn watch(root: &Path, installed: &Path, written: &[PathBuf], printed: String) -> notify::Result<Self> {
        let (sender, events) = mpsc::unbounded_channel();
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            if event.as_ref().map_or(true, may_be_change) {
                // The receiver is gone only during shutdown.
                let _ = sender.send(());
            }
        })?;
        let mut sources = Self {
            root: root.to_owned(),
            watcher,
            watched: HashSet::new(),
            events,
            outputs: os::outputs(),
            installed: installed.canonicalize().ok(),
            written: written.iter().map(|path| without_links(path)).collect(),
            printed,
            logs: HashSet::new(),
        };
        sources.watcher.watch(&sources.root, RecursiveMode::NonRecursive)?;
        sources.watched.insert(sources.root.clone());
        Ok(sources)
    }

    /// Folders of sources but for the server, which writes there.
    pub(super) fn unwatched(&self) -> impl Iterator<Item = &Path> {
        let is_inside = |path: &&PathBuf| {
            let below = path.strip_prefix(&self.root).ok().filter(|below| !below.as_os_str().is_empty());
            below.is_some_and(|below| below.iter().all(|name| is_source(&name.to_string_lossy())))
        };
        self.written.iter().filter(is_inside).filter(|path| path.is_dir()).map(PathBuf::as_path)
    }

    /// All sources. New folders are watched from now on.
    pub(super) fn contents(&mut self) -> Contents {
        let mut contents = BTreeMap::new();
        let mut folders = vec![self.root.clone()];
        // A folder that is removed and recreated has to be watched again.
        self.watched.retain(|folder| folder.is_dir());
        while let Some(folder) = folders.pop() {
            // Watch before reading: later changes are events.
            if !self.watched.contains(&folder) && self.watcher.watch(&folder, RecursiveMode::NonRecursive).is_ok() {
                self.watched.insert(folder.clone());
            }
            let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
            let is_served = self.installed.is_some() && folder.canonicalize().ok() == self.installed;
            for entry in entries.filter(|entry| is_source(&entry.file_name().to_string_lossy())) {
                let path = entry.path();
                let is_component = path.extension().is_some_and(|extension| extension == "wasm");
                if is_served && is_component || self.written.contains(&path) {
                    continue;
                }
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    folders.push(path);
                } else if let Some(hash) = self.hash(&path) {
                    contents.insert(path, hash);
                }
            }
        }
        Contents(contents)
    }

    /// `None` if the file is no source.
    fn hash(&mut self, path: &Path) -> Option<Hash> {
        let mut hasher = Hasher::new();
        let Ok(found) = fs::metadata(path) else { return Some(hasher.finalize()) };
        if os::file_id(&found).is_some_and(|id| self.outputs.contains(&id)) || self.logs.contains(path) {
            return None;
        }
        if found.is_file()
            && let Ok(mut file) = os::open_without_waiting(path)
        {
            let mut bytes = Vec::new();
            // What cannot be read is as if it ended there.
            let _ = file.by_ref().take(SEARCHED).read_to_end(&mut bytes);
            if bytes.windows(self.printed.len()).any(|part| part == self.printed.as_bytes()) {
                self.logs.insert(path.to_owned());
                return None;
            }
            hasher.update(&found.len().to_le_bytes()).update(&bytes);
            if found.len() > LARGE {
                hasher.update(format!("{:?}", found.modified().ok()).as_bytes());
            } else {
                let _ = io::copy(&mut file, &mut hasher);
            }
        }
        Some(hasher.finalize())
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

/// The path without links, also if it does not exist yet.
fn without_links(path: &Path) -> PathBuf {
    match (path.canonicalize(), path.parent(), path.file_name()) {
        (Ok(found), ..) => found,
        (Err(_), Some(folder), Some(name)) => {
            let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            without_links(folder).join(name)
        }
        _ => path.to_owned(),
    }
}

/// Whether the event may be a change; reads are not.
fn may_be_change(event: &Event) -> bool {
    !matches!(event.kind, EventKind::Access(access) if access != AccessKind::Close(AccessMode::Write))
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::Sources;

    fn watch(dir: &Path, written: &[PathBuf]) -> Sources {
        let dir = dir.canonicalize().expect("a folder");
        Sources::watch(&dir, &dir.join("dist"), written, "is rebuilt".to_owned()).expect("it is watched")
    }

    #[test]
    fn only_contents_of_sources_count() {
        let dir = tempfile::tempdir().expect("a folder");
        let put = |path: &str, text: &str| {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("it is made");
            std::fs::write(path, text).expect("a file");
        };
        put("src/lib.rs", "one");
        let mut sources = watch(dir.path(), &[]);
        let first = sources.contents();
        for path in ["dist/a.wasm", "target/x", "node_modules/y/z.js", ".git/HEAD", "src/lib.rs~", "src/.lib.rs.swp"] {
            put(path, "made by tools");
        }
        put("src/lib.rs", "one");
        assert_eq!(sources.contents(), first, "no source has changed");
        put("src/lib.rs", "two");
        let second = sources.contents();
        assert_ne!(second, first);
        put("src/new/part.rs", "");
        assert_ne!(sources.contents(), second, "another file");
        put("src/lib.rs", "one");
        std::fs::remove_dir_all(dir.path().join("src/new")).expect("it goes");
        assert_eq!(sources.contents(), first, "as at the beginning");
    }

    #[test]
    fn what_this_process_writes_is_no_source() {
        let dir = tempfile::tempdir().expect("a folder");
        let log = dir.path().join("log");
        let mut sources = watch(dir.path(), &[]);
        let before = sources.contents();
        std::fs::write(&log, "built").expect("a file");
        let id = crate::os::file_id(&log.metadata().expect("a file"));
        if let Some(id) = id {
            assert_ne!(sources.contents(), before, "a file of somebody else");
            sources.outputs.push(id);
            assert_eq!(sources.contents(), before);
        }
    }

    #[test]
    fn a_component_that_is_installed_into_the_project_is_no_source() {
        let dir = tempfile::tempdir().expect("a folder");
        let served = dir.path().join("served");
        std::fs::create_dir(&served).expect("a folder");
        let mut sources = Sources::watch(dir.path(), &served, &[], "is rebuilt".to_owned()).expect("it is watched");
        let before = sources.contents();
        std::fs::write(served.join("p.wasm"), "built").expect("a file");
        assert_eq!(sources.contents(), before);
        for source in [served.join("lib.rs"), dir.path().join("data.wasm")] {
            std::fs::write(&source, "text").expect("a file");
            assert_ne!(sources.contents(), before);
            std::fs::remove_file(source).expect("it goes");
        }
    }

    #[test]
    fn all_of_a_large_text_counts_and_changes_are_named() {
        let dir = tempfile::tempdir().expect("a folder");
        let put = |end: &str| std::fs::write(dir.path().join("data"), "x".repeat(100_000) + end).expect("a file");
        put("a");
        let mut sources = watch(dir.path(), &[]);
        let before = sources.contents();
        put("b");
        let changed = sources.contents().changed_since(&before);
        assert!(changed.iter().eq(&[dir.path().canonicalize().expect("it is there").join("data")]), "{changed:?}");
    }

    #[test]
    fn logs_and_what_the_server_writes_are_no_sources() {
        let dir = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(dir.path().join("real")).expect("a folder");
        let link = dir.path().join("link");
        crate::os::link_file(Path::new("real"), &link).expect("a link");
        let put = |path: &str, text: &str| {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("it is made");
            std::fs::write(path, text).expect("a file");
        };
        let mut sources = watch(dir.path(), &[link.join("made/later")]);
        let before = sources.contents();
        put("sub/log", "first\nmade is rebuilt into it\n");
        put("real/made/later/store", "");
        assert_eq!(sources.contents(), before);
        // As a log is emptied while it is written.
        put("sub/log", "");
        assert_eq!(sources.contents(), before);
        put("real/made/other", "");
        assert_ne!(sources.contents(), before);
    }

    #[tokio::test]
    async fn a_change_in_a_new_folder_is_reported() {
        let dir = tempfile::tempdir().expect("a folder");
        let mut sources = watch(dir.path(), &[]);
        sources.contents();
        std::fs::create_dir(dir.path().join("deep")).expect("a folder");
        sources.changed().await;
        let before = sources.contents();
        sources.discard_events();
        std::fs::write(dir.path().join("deep/file"), "text").expect("a file");
        sources.changed().await;
        assert_ne!(sources.contents(), before);
    }
}
