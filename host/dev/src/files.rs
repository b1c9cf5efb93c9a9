//! Files of a project. Others may have written them: a link may lead out of the project, a pipe has no end, and neither has
//! a device.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use wharf_report::{Failure, ShowPath as _};

use crate::os;

/// Bytes of a source, a manifest or a component.
pub(crate) const MAX_SIZE: u64 = 64 << 20;

/// The bytes of a regular file, which a link may lead to.
///
/// # Errors
/// If it is another kind of file, has more than `max` bytes, or cannot be read.
pub(crate) fn read(path: &Path, max: u64) -> io::Result<Vec<u8>> {
    let file = os::open_without_waiting(path)?;
    require_regular(&file)?;
    let mut bytes = Vec::new();
    file.take(max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max {
        return Err(io::Error::other(format!("it has more than {} KiB", max >> 10)));
    }
    Ok(bytes)
}

/// The same as text.
///
/// # Errors
/// As [`read`], or if it is not UTF-8.
pub(crate) fn read_text(path: &Path, max: u64) -> io::Result<String> {
    String::from_utf8(read(path, max)?).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.utf8_error()))
}

/// Fails for a link in the place of a folder in which files are written and removed: that would happen outside of the
/// project.
pub(crate) fn require_no_link(folder: &Path) -> Result<(), Failure> {
    if !folder.is_symlink() {
        return Ok(());
    }
    let folder = folder.shown();
    Err(Failure::new(format!("build: files would be written outside of the project: {folder} is a link"))
        .hint("remove the link; `wharf build --out FILE` writes the component elsewhere".to_owned()))
}

/// # Errors
/// If it is not one.
pub(crate) fn require_regular(file: &File) -> io::Result<()> {
    match file.metadata()?.is_file() {
        true => Ok(()),
        false => Err(io::Error::other("it is not a regular file")),
    }
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn only_regular_files_up_to_the_limit_are_read() {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("a");
        std::fs::write(&file, "abcd").expect("a file");
        assert_eq!(read(&file, 4).expect("a file"), b"abcd");
        let why = |path: &std::path::Path, max| read(path, max).expect_err("it is refused").to_string();
        assert!(why(&file, 3).contains("it has more than"));
        assert!(why(dir.path(), 3).contains("not a regular file") || cfg!(windows));
        #[cfg(unix)]
        {
            let pipe = dir.path().join("pipe");
            assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("it runs").success());
            assert!(why(&pipe, 3).contains("not a regular file"));
            let zero = dir.path().join("zero");
            std::os::unix::fs::symlink("/dev/zero", &zero).expect("a link");
            assert!(why(&zero, 3).contains("not a regular file"));
        }
    }
}
