//! Paths beside a file.

use std::path::{Path, PathBuf};

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_name_is_in_the_current_folder() {
        for (file, folder) in [("a", Some(".")), ("./a", Some(".")), ("b/a", Some("b")), ("/a", Some("/")), ("/", None)]
        {
            assert_eq!(folder_of(Path::new(file)), folder.map(Path::new), "{file}");
        }
    }
}
