//! Warns about plugin folders and files that other users can write, and so replace.

use std::fs;
use std::path::{Path, PathBuf};

use wharf_report::{ShowPath as _, shell_word};

use super::wiring::is_component;
use crate::os::paths::folder_of;
use crate::plugin::is_writable_by_others;

/// Maximum number of paths reported; the rest is reported as a count.
const MAX_REPORTED: usize = 10;

/// Warns about `plugins`, which are folders and files, and about entries of the folders.
pub(super) fn warn(plugins: &[PathBuf]) {
    let found: Vec<PathBuf> = plugins.iter().flat_map(|path| writable_in(path)).collect();
    for path in found.iter().take(MAX_REPORTED) {
        let what = if path.is_dir() { "a plugin folder" } else { "a plugin file" };
        let hint = format!("chmod go-w {}", shell_word(path));
        tracing::warn!(hint, "other users can write {what}, and so decide what runs: {}", path.shown());
    }
    if found.len() > MAX_REPORTED {
        let more = found.len() - MAX_REPORTED;
        tracing::warn!("other users can write {more} more plugin files and folders");
    }
}

/// Of the path itself, its subfolders and the plugins in them, those that other users can write.
fn writable_in(path: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    if !path.is_dir() {
        found.extend(folder_of(path).map(Path::to_owned));
    }
    found.push(path.to_owned());
    if path.is_dir() {
        let inner = entries(path);
        let deeper: Vec<PathBuf> = inner.iter().filter(|path| is_folder(path)).flat_map(|path| entries(path)).collect();
        found.extend(inner);
        found.extend(deeper.into_iter().filter(|path| !is_folder(path)));
    }
    found.retain(|path| is_writable_by_others(path));
    found
}

/// Folders and plugins in a folder.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_hidden = |path: &Path| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    entries.filter(|path| !is_hidden(path) && (is_folder(path) || is_component(path))).collect()
}

fn is_folder(path: &Path) -> bool {
    // Symbolic links are skipped.
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn writable_paths_are_found_and_the_hinted_command_fixes_them() {
        let root = tempfile::tempdir().expect("a folder");
        let folder = root.path().join("it's plugins");
        fs::create_dir_all(folder.join("sub")).expect("folders");
        let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("mine");
        for file in ["a.wasm", "sub/b.wasm", "notes.txt"] {
            fs::write(folder.join(file), "").expect("a file");
            set(&folder.join(file), 0o600);
        }
        for path in [root.path(), &folder, &folder.join("sub")] {
            set(path, 0o755);
        }
        assert_eq!(writable_in(&folder), [] as [PathBuf; 0]);
        for path in [folder.clone(), folder.join("sub"), folder.join("sub/b.wasm"), folder.join("a.wasm")] {
            set(&path, 0o757);
            assert_eq!(writable_in(&folder), std::slice::from_ref(&path));
            let fixed =
                std::process::Command::new("sh").arg("-c").arg(format!("chmod go-w {}", shell_word(&path))).status();
            assert!(fixed.expect("a shell").success());
            assert_eq!(writable_in(&folder), [] as [PathBuf; 0]);
        }
        set(&folder, 0o757);
        assert_eq!(writable_in(&folder.join("a.wasm")), std::slice::from_ref(&folder), "the folder of a single file");
        // In a sticky folder others cannot replace files.
        set(&folder, 0o1777);
        assert_eq!(writable_in(&folder), [] as [PathBuf; 0]);
    }
}
