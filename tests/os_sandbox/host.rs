//! The OS sandbox of the host: allowed paths work, others do not.

use std::fs;
use std::path::Path;

use crate::{Test, attempt, is_enforced};

pub(super) const TESTS: &[Test] = &[
    ("host::reads_and_writes_allowed_paths", reads_and_writes_allowed_paths),
    ("host::opens_nothing_else", opens_nothing_else),
    ("host::starts_only_allowed_programs", starts_only_allowed_programs),
];

/// A readable folder, a writable one and one that is not allowed, each with a file; the first two also
/// have a link to the third one's file.
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

fn reads_and_writes_allowed_paths() {
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
        // Nothing listens there, but the attempt is allowed.
        let wanted = if what == "connect" { "refused: Connection refused (os error 111)" } else { "done" };
        assert_eq!(ended.result, wanted, "{what} {path}, {}", ended.enforcement);
    }
}

fn opens_nothing_else() {
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
        if is_enforced(&ended, "files") {
            assert_eq!(ended.result, "refused: Permission denied (os error 13)", "{what} {path}");
        }
    }
}

fn starts_only_allowed_programs() {
    let root = folders();
    let script = root.path().join("write/script");
    fs::copy("/bin/true", &script).expect("a program");
    let ended = host(root.path(), "start", "/bin/true");
    assert_eq!(ended.result, "done", "{}", ended.enforcement);
    let ended = host(root.path(), "start", "write/script");
    if is_enforced(&ended, "files") {
        assert_eq!(ended.result, "refused: Permission denied (os error 13)");
    }
}
