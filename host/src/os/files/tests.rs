use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::*;

#[test]
fn only_regular_files_are_read_and_nobody_is_waited_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let said = |path: &Path| read_text(path, 8).map_err(|error| error.to_string());
    let refused = |kind: &str| Err(format!("{kind} is in its place: use a regular file"));
    fs::write(at("file"), "text").expect("a file");
    symlink(at("file"), at("link")).expect("a link");
    assert_eq!((said(&at("file")).as_deref(), said(&at("link")).as_deref()), (Ok("text"), Ok("text")));
    mknodat(CWD, at("fifo"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a FIFO");
    symlink(at("fifo"), at("to-fifo")).expect("a link");
    assert_eq!((said(&at("fifo")), said(&at("to-fifo"))), (refused("a FIFO"), refused("a FIFO")));
    // One that somebody writes to is none the more a file.
    let writer = OpenOptions::new().read(true).write(true).open(at("fifo")).expect("both ends");
    io::Write::write_all(&mut &writer, b"text").expect("written");
    assert_eq!(said(&at("fifo")), refused("a FIFO"));
    let _listener = UnixListener::bind(at("socket")).expect("a socket");
    assert_eq!(said(&at("socket")), refused("a socket or device"));
    assert_eq!((said(folder.path()), said(Path::new("/dev/zero"))), (refused("a directory"), refused("a device")));
    fs::write(at("bytes"), [0xff]).expect("a file");
    assert_eq!(said(&at("bytes")).expect_err("no text"), "other bytes than UTF-8 are in its place: use a text file");
    assert!(said(&at("none")).is_err());
    symlink(at("loop"), at("loop")).expect("a link");
    assert!(said(&at("loop")).is_err());
}

#[test]
fn the_bound_is_the_last_size_that_is_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("file");
    fs::write(&path, "12345678").expect("a file");
    assert_eq!(read(&path, 8).expect("at the bound"), b"12345678");
    assert!(matches!(read(&path, 7), Err(FileError::TooLarge(7))));
    File::create(&path).and_then(|file| file.set_len(3 << 30)).expect("a sparse file");
    assert!(matches!(read(&path, 1 << 20), Err(FileError::TooLarge(_))));
    // Of no size by its own word.
    #[cfg(target_os = "linux")]
    assert!(matches!(read(Path::new("/proc/self/maps"), 64), Err(FileError::TooLarge(64))));
}
