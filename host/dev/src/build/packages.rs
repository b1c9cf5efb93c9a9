//! Whether a project's packages are those that its manifest lists.

use std::io::{self, Write as _};
use std::path::Path;

use blake3::{Hash, Hasher};

use crate::{files, os};

/// Maximum bytes of a file that is compared; a larger one counts as unchanged.
const MAX_LISTED: u64 = 16 << 20;
/// In the folder of the packages: the hash of the files that they were installed from.
const RECORD: &str = ".wharf-installed";
/// Bytes of that.
const MAX_RECORD: u64 = 1 << 10;

/// The packages of a language.
#[derive(Clone, Copy)]
pub(super) struct Packages {
    /// The file that lists them, which people write, and one that fixes their versions.
    pub(super) listed: &'static [&'static str],
    /// Where they are installed.
    pub(super) folder: &'static str,
    /// The shell command that installs them.
    pub(super) install: &'static str,
}

impl Packages {
    /// Whether they were installed from other files than those that are there now. `None` if it is not known: someone
    /// else installed them.
    pub(super) fn are_outdated(&self, dir: &Path) -> Option<bool> {
        let installed = files::read_text(&dir.join(self.folder).join(RECORD), MAX_RECORD).ok()?;
        Some(self.hash(dir)?.to_hex().as_str() != installed.trim_end())
    }

    /// Whether there are packages in the project, and a file that lists them.
    pub(super) fn are_there(&self, dir: &Path) -> bool {
        dir.join(self.folder).is_dir() && dir.join(self.listed[0]).is_file()
    }

    /// Records that they are installed from the files that are there now. Without the record they are only installed
    /// once more.
    pub(super) fn record(&self, dir: &Path) {
        if let Some(hash) = self.hash(dir) {
            let record = dir.join(self.folder).join(RECORD);
            let _ = os::open_or_create(&record).and_then(|mut file| {
                files::require_regular(&file)?;
                file.set_len(0)?;
                writeln!(file, "{}", hash.to_hex())
            });
        }
    }

    fn hash(&self, dir: &Path) -> Option<Hash> {
        let mut hasher = Hasher::new();
        for (number, file) in self.listed.iter().enumerate() {
            let path = dir.join(file);
            match files::read(&path, MAX_LISTED) {
                Ok(text) => {
                    hasher.update(&(text.len() as u64).to_le_bytes()).update(&text);
                }
                // A project need not fix versions.
                Err(error) if number > 0 && error.kind() == io::ErrorKind::NotFound => {}
                Err(_) => return None,
            }
        }
        Some(hasher.finalize())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::Packages;

    #[test]
    fn packages_are_outdated_once_a_file_that_lists_them_changes() {
        let dir = tempfile::tempdir().expect("a folder");
        let write = |file: &str, text: &str| fs::write(dir.path().join(file), text).expect("a file");
        let packages = Packages { listed: &["package.json", "package-lock.json"], folder: "modules", install: "" };
        assert!(!packages.are_there(dir.path()));
        write("package.json", "{}");
        fs::create_dir(dir.path().join("modules")).expect("a folder");
        assert!(packages.are_there(dir.path()));
        assert_eq!(packages.are_outdated(dir.path()), None);
        packages.record(dir.path());
        assert_eq!(packages.are_outdated(dir.path()), Some(false));
        write("package-lock.json", "{}");
        assert_eq!(packages.are_outdated(dir.path()), Some(true));
        packages.record(dir.path());
        write("package.json", "{ }");
        assert_eq!(packages.are_outdated(dir.path()), Some(true));
        write("package.json", "{}");
        assert_eq!(packages.are_outdated(dir.path()), Some(false));
    }
}
