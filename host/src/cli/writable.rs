//! Warns of plugin folders and files that other users can write: they could replace the plugins.

use std::fs;
use std::path::{Path, PathBuf};

use crate::plugin::is_writable_by_others;

/// Maximum number of paths reported; the rest is reported as a count.
const TOLD: usize = 10;

/// Warns of those among `plugins`, which are folders and files, and in the folders.
pub(super) fn tell(plugins: &[PathBuf]) {
    let found: Vec<PathBuf> = plugins.iter().flat_map(|path| within(path)).collect();
    for path in found.iter().take(TOLD) {
        let what = if path.is_dir() { "a folder of plugins" } else { "a plugin's file" };
        let hint = format!("chmod go-w {}", quoted(path));
        tracing::warn!(hint, "other users can write {what}, and so decide what runs: {}", path.display());
    }
    if found.len() > TOLD {
        tracing::warn!("other users can write {} more files and folders of plugins", found.len() - TOLD);
    }
}

/// The path itself, the folders in it and the plugins in all of those, as far as other users can write
/// them.
fn within(path: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    if !path.is_dir() {
        found
            .extend(path.parent().map(|folder| if folder.as_os_str().is_empty() { ".".into() } else { folder.into() }));
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
    entries.filter(|path| !is_hidden(path) && (is_folder(path) || super::folder::is_component(path))).collect()
}

fn is_folder(path: &Path) -> bool {
    // A link to one is passed over.
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}

/// A path as a shell takes it for one word.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%".contains(c);
    if text.chars().all(is_plain) && !text.starts_with('-') {
        return text;
    }
    let before = if text.starts_with('-') { "./" } else { "" };
    format!("{before}'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn what_others_can_write_is_found_with_the_line_that_mends_it() {
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
        assert_eq!(within(&folder), [] as [PathBuf; 0]);
        for path in [folder.clone(), folder.join("sub"), folder.join("sub/b.wasm"), folder.join("a.wasm")] {
            set(&path, 0o757);
            assert_eq!(within(&folder), std::slice::from_ref(&path));
            let mended =
                std::process::Command::new("sh").arg("-c").arg(format!("chmod go-w {}", quoted(&path))).status();
            assert!(mended.expect("a shell").success());
            assert_eq!(within(&folder), [] as [PathBuf; 0]);
        }
        set(&folder, 0o757);
        assert_eq!(within(&folder.join("a.wasm")), std::slice::from_ref(&folder), "of a single file its folder");
        // There, others cannot replace what is mine.
        set(&folder, 0o1777);
        assert_eq!(within(&folder), [] as [PathBuf; 0]);
    }
}
