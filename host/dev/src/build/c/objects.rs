//! A cache of object files, keyed by their inputs: most of a plugin in C is the wrapper, which does
//! not change between builds.

use std::collections::HashSet;
use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};

use blake3::Hasher;
use wharf_report::Failure;
use wharf_report::ShowPath as _;

use crate::files;

pub(super) struct Objects {
    folder: PathBuf,
    /// Hash of all headers: only the compiler knows which source includes which.
    headers: blake3::Hash,
    used: HashSet<PathBuf>,
}

impl Objects {
    /// `sources`: the folders of headers; subfolders are included.
    pub(super) fn open(folder: PathBuf, sources: &[&Path]) -> Result<Self, Failure> {
        // What is in it and unused is removed.
        files::require_no_link(&folder)?;
        let mut hasher = Hasher::new();
        let mut folders: Vec<PathBuf> = sources.iter().map(|path| path.to_path_buf()).collect();
        let mut hash_all = || -> io::Result<()> {
            while let Some(next) = folders.pop() {
                let mut entries: Vec<DirEntry> = fs::read_dir(next)?.collect::<io::Result<_>>()?;
                entries.sort_by_key(DirEntry::path);
                for entry in entries {
                    let path = entry.path();
                    // A link to a folder may lead anywhere.
                    if entry.file_type()?.is_dir() {
                        folders.push(path);
                    } else if path.extension().is_some_and(|end| end == "h" || end == "hpp") {
                        hasher.update(path.to_string_lossy().as_bytes()).update(&files::read(&path, files::MAX_SIZE)?);
                    }
                }
            }
            Ok(())
        };
        hash_all()
            .and_then(|()| fs::create_dir_all(&folder))
            .map_err(|error| Failure::new(format!("read the headers: {error}")))?;
        Ok(Self { folder, headers: hasher.finalize(), used: HashSet::new() })
    }

    /// The path of a source's object, and whether it exists already.
    pub(super) fn of(&mut self, source: &Path, flags: &[String]) -> Result<(PathBuf, bool), Failure> {
        let text = files::read(source, files::MAX_SIZE)
            .map_err(|error| Failure::new(format!("read {}: {error}", source.shown())))?;
        let mut hasher = Hasher::new();
        hasher.update(self.headers.as_bytes()).update(flags.join("\0").as_bytes()).update(b"\0\0").update(&text);
        let object = self.folder.join(format!("{}.o", hasher.finalize().to_hex()));
        self.used.insert(object.clone());
        let is_cached = object.is_file();
        Ok((object, is_cached))
    }

    /// Moves a new object into the cache, atomically.
    pub(super) fn put(&self, compiled: &Path, object: &Path) -> Result<(), Failure> {
        fs::rename(compiled, object).map_err(|error| Failure::new(format!("write {}: {error}", object.shown())))
    }

    /// Removes objects that this build did not use.
    pub(super) fn prune(&self) {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten().map(|entry| entry.path());
        for old in entries.filter(|path| !self.used.contains(path)) {
            // A file that is left costs disk space only.
            let _ = fs::remove_file(old);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Objects;

    #[test]
    fn what_a_link_leads_to_is_not_pruned() {
        let dir = tempfile::tempdir().expect("a folder");
        let (folder, objects) = (dir.path().join("other"), dir.path().join("objects"));
        std::fs::create_dir(&folder).expect("a folder");
        crate::os::link_file(&folder, &objects).expect("a link");
        let refused = Objects::open(objects, &[]).err().expect("it is refused");
        assert!(refused.into_parts().0.contains("objects is a link"));
    }

    #[test]
    fn an_object_depends_on_source_flags_and_headers() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = |name: &str| dir.path().join(name);
        let put = |name: &str, text: &str| std::fs::write(path(name), text).expect("a file");
        std::fs::create_dir(path("src")).expect("a folder");
        put("src/a.c", "int a;");
        put("src/a.h", "");
        let open = || Objects::open(path("objects"), &[&path("src")]).expect("it opens");
        let flags = ["-Os".to_owned()];
        let mut objects = open();
        let (first, is_cached) = objects.of(&path("src/a.c"), &flags).expect("a name");
        assert!(!is_cached);
        put("made.o", "object");
        objects.put(&path("made.o"), &first).expect("it is cached");
        assert_eq!(open().of(&path("src/a.c"), &flags).expect("a name"), (first.clone(), true));
        assert!(!open().of(&path("src/a.c"), &["-O0".to_owned()]).expect("a name").1, "other flags");
        put("src/a.h", "#define A 1");
        let mut later = open();
        assert!(!later.of(&path("src/a.c"), &flags).expect("a name").1, "another header");
        later.prune();
        assert!(!first.exists(), "unused objects are removed");
        assert!(objects.of(&path("src/missing.c"), &flags).is_err());
    }
}
