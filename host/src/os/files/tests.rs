use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::*;
use crate::os::Errno;

#[test]
fn only_regular_files_are_read_without_blocking() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let result = |path: &Path| read_text(path, 8).map_err(|error| error.to_string());
    let refused = |kind: &str| Err(format!("it is {kind}, not a regular file"));
    fs::write(at("file"), "text").expect("a file");
    symlink(at("file"), at("link")).expect("a link");
    assert_eq!((result(&at("file")).as_deref(), result(&at("link")).as_deref()), (Ok("text"), Ok("text")));
    mknodat(CWD, at("fifo"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a FIFO");
    symlink(at("fifo"), at("to-fifo")).expect("a link");
    assert_eq!((result(&at("fifo")), result(&at("to-fifo"))), (refused("a FIFO"), refused("a FIFO")));
    // With a writer it is still a FIFO.
    let writer = OpenOptions::new().read(true).write(true).open(at("fifo")).expect("both ends");
    io::Write::write_all(&mut &writer, b"text").expect("written");
    assert_eq!(result(&at("fifo")), refused("a FIFO"));
    let _listener = UnixListener::bind(at("socket")).expect("a socket");
    assert_eq!(result(&at("socket")), refused("a socket or device"));
    assert_eq!((result(folder.path()), result(Path::new("/dev/zero"))), (refused("a directory"), refused("a device")));
    fs::write(at("bytes"), [0xff]).expect("a file");
    assert_eq!(result(&at("bytes")).expect_err("no text"), "it is not UTF-8 text");
    assert!(result(&at("none")).is_err());
}

#[test]
fn an_error_is_temporary_unless_it_is_about_the_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("loop");
    symlink(&path, &path).expect("a link");
    assert!(!read_text(&path, 8).expect_err("no file").is_temporary());
    let is_temporary = |error: Errno| is_temporary(&error.into());
    for error in [Errno::AGAIN, Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::IO, Errno::NOSPC, Errno::STALE] {
        assert!(is_temporary(error), "{error}");
    }
    for error in [Errno::NOENT, Errno::ACCESS, Errno::PERM, Errno::NOTDIR, Errno::ISDIR, Errno::LOOP] {
        assert!(!is_temporary(error), "{error}");
    }
}

#[test]
fn larger_files_than_the_limit_are_not_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("file");
    fs::write(&path, "12345678").expect("a file");
    assert_eq!(read(&path, 8).expect("at the limit"), b"12345678");
    assert!(matches!(read(&path, 7), Err(FileError::TooLarge(7))));
    File::create(&path).and_then(|file| file.set_len(3 << 30)).expect("a sparse file");
    assert!(matches!(read(&path, 1 << 20), Err(FileError::TooLarge(_))));
    // It reports a length of zero.
    #[cfg(target_os = "linux")]
    assert!(matches!(read(Path::new("/proc/self/maps"), 64), Err(FileError::TooLarge(64))));
}
