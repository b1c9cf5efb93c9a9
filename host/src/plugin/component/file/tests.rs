use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::*;

#[test]
fn only_regular_files_of_this_user_are_read() {
    let dir = tempfile::tempdir().expect("a folder");
    let at = |name: &str| dir.path().join(name);
    let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a mode");
    fs::write(at("good"), b"bytes").expect("written");
    mode(&at("good"), 0o644);
    assert_eq!(read(&at("good")).as_deref(), Ok(b"bytes".as_slice()));

    symlink(at("good"), at("link")).expect("a link");
    assert_eq!(read(&at("link")), Err(LoadError::Symlink));
    mknodat(CWD, at("fifo"), FileType::Fifo, Mode::RUSR, 0).expect("a FIFO");
    assert_eq!(read(&at("fifo")), Err(LoadError::NotAFile("a FIFO")));
    assert_eq!(read(dir.path()), Err(LoadError::NotAFile("a directory")));
    assert_eq!(read(Path::new("/dev/null")), Err(LoadError::NotAFile("a device")));
    assert!(matches!(read(&at("none")), Err(LoadError::Unreadable(_))));

    mode(&at("good"), 0o666);
    assert_eq!(read(&at("good")), Err(LoadError::WritableByOthers));

    let huge = fs::File::create(at("huge")).expect("a file");
    huge.set_len(500 << 20).expect("sparse");
    mode(&at("huge"), 0o644);
    let size = 500 << 20;
    assert_eq!(read(&at("huge")), Err(LoadError::TooLarge { size, limit: MAX_SIZE }));
}
