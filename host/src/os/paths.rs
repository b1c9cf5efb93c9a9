//! Paths beside a file, and absolute ones.

use std::path::{Component, Path, PathBuf};

/// The folder of a file: `.` for a bare name, which has an empty parent that the system cannot open.
/// `None` for a root.
pub(crate) fn folder_of(file: &Path) -> Option<&Path> {
    file.parent().map(|folder| if folder.as_os_str().is_empty() { Path::new(".") } else { folder })
}

/// The path with a suffix at its end, such as `.lock`.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// The absolute path, without `..`: the same place has the same text, from whichever folder a command is run. Links stay
/// but before a `..`, which leads elsewhere through them than the text says. A path of which that part does not exist keeps
/// its `..`.
pub(crate) fn absolute(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let parts: Vec<Component> = absolute.components().collect();
    let Some(last) = parts.iter().rposition(|part| *part == Component::ParentDir) else { return absolute };
    let (climbing, rest) = parts.split_at(last + 1);
    match climbing.iter().collect::<PathBuf>().canonicalize() {
        Ok(found) => rest.iter().fold(found, |path, part| path.join(part)),
        Err(_) => absolute,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_place_has_the_same_text() {
        let root = tempfile::tempdir().expect("a folder");
        let root = root.path().canonicalize().expect("a folder");
        std::fs::create_dir_all(root.join("a/b")).expect("a folder");
        for (path, expected) in [("a/./b", "a/b"), ("a/../c/d", "c/d"), ("a/b/../../c", "c"), ("a", "a")] {
            assert_eq!(absolute(&root.join(path)), root.join(expected), "{path}");
        }
        assert_eq!(absolute(Path::new("x")), std::env::current_dir().expect("a folder").join("x"));
        let missing = root.join("no/../x");
        assert!(absolute(&missing).is_absolute());
    }

    #[test]
    fn a_bare_name_is_in_the_current_folder() {
        for (file, folder) in [("a", Some(".")), ("./a", Some(".")), ("b/a", Some("b")), ("/a", Some("/")), ("/", None)]
        {
            assert_eq!(folder_of(Path::new(file)), folder.map(Path::new), "{file}");
        }
    }
}
