//! The wall around the host: what is in reach works, what is not does not.

use std::fs;
use std::path::Path;

use crate::{Test, attempt, stands};

pub(super) const TESTS: &[Test] = &[
    ("host::reads_and_writes_what_is_within_reach", reads_and_writes_what_is_within_reach),
    ("host::nothing_else_opens", nothing_else_opens),
    ("host::starts_only_what_it_may", starts_only_what_it_may),
];

/// A folder to read, one to write and one that is out of reach, each with a file; in the first
/// two there is also a link to what is out of reach.
fn folders() -> tempfile::TempDir {
    let root = tempfile::tempdir().expect("a folder");
    for folder in ["read", "write", "other"] {
        fs::create_dir(root.path().join(folder)).expect("a folder");
        fs::write(root.path().join(folder).join("file"), folder).expect("a file");
    }
    for folder in ["read", "write"] {
        std::os::unix::fs::symlink("../other/file", root.path().join(folder).join("link")).expect("a link");
    }
    root
}

fn host(root: &Path, what: &str, path: &str) -> crate::Ended {
    let text = |path: &str| root.join(path).display().to_string();
    attempt(&["host", what, &text("read"), &text("write"), &text(path)])
}

fn reads_and_writes_what_is_within_reach() {
    let root = folders();
    for (what, path) in [
        ("read", "read/file"),
        ("list", "read"),
        ("write", "write/file"),
        ("write", "write/fresh"),
        ("remove", "write/fresh"),
        ("socket", "write/socket"),
        ("connect", ""),
        ("thread", ""),
    ] {
        let ended = host(root.path(), what, path);
        // Nobody listens there, but it may ask.
        let wanted = if what == "connect" { "refused: Connection refused (os error 111)" } else { "done" };
        assert_eq!(ended.result, wanted, "{what} {path}, {}", ended.standing);
    }
}

fn nothing_else_opens() {
    let root = folders();
    for (what, path) in [
        ("read", "other/file"),
        ("read", "read/link"),
        ("read", "write/link"),
        ("read", "read/../other/file"),
        ("list", "other"),
        ("list", ""),
        ("write", "read/file"),
        ("write", "read/fresh"),
        ("write", "write/link"),
        ("remove", "read/file"),
        ("socket", "read/socket"),
        ("read", "/etc/passwd"),
    ] {
        let ended = host(root.path(), what, path);
        if stands(&ended, "files") {
            assert_eq!(ended.result, "refused: Permission denied (os error 13)", "{what} {path}");
        }
    }
}

fn starts_only_what_it_may() {
    let root = folders();
    let script = root.path().join("write/script");
    fs::copy("/bin/true", &script).expect("a program");
    let ended = host(root.path(), "start", "/bin/true");
    assert_eq!(ended.result, "done", "{}", ended.standing);
    let ended = host(root.path(), "start", "write/script");
    if stands(&ended, "files") {
        assert_eq!(ended.result, "refused: Permission denied (os error 13)");
    }
}
