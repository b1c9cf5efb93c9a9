//! The OS sandbox of the process of one plugin.

use crate::{Test, attempt, is_enforced};

pub(super) const TESTS: &[Test] = &[
    ("plugin::is_killed_by_a_program", is_killed_by_a_program),
    ("plugin::has_sockets_with_the_grant_only", has_sockets_with_the_grant_only),
    ("plugin::opens_no_file_that_is_not_granted", opens_no_file_that_is_not_granted),
    ("plugin::computes", computes),
];

const EACH: [&str; 2] = ["worker", "worker-with-network"];

fn is_killed_by_a_program() {
    for restrictions in EACH {
        let ended = attempt(&[restrictions, "execute", "/bin/true"]);
        if is_enforced(&ended, "calls") {
            assert!(ended.was_killed() && ended.result.is_empty(), "{} {}", ended.status, ended.result);
        }
    }
}

fn has_sockets_with_the_grant_only() {
    for what in ["connect", "listen"] {
        let ended = attempt(&["worker", what, ""]);
        if is_enforced(&ended, "calls") {
            assert!(ended.was_killed() && ended.result.is_empty(), "{what}: {} {}", ended.status, ended.result);
        }
    }
    // Nobody listens there.
    let ended = attempt(&["worker-with-network", "connect", ""]);
    assert!(ended.result.contains("refused"), "{} {}", ended.status, ended.result);
    // It is no server.
    let ended = attempt(&["worker-with-network", "listen", ""]);
    if is_enforced(&ended, "calls") {
        assert!(ended.was_killed() && ended.result.is_empty(), "{} {}", ended.status, ended.result);
    }
}

fn opens_no_file_that_is_not_granted() {
    let home = std::env::current_dir().expect("a folder");
    let home = home.to_str().expect("text");
    for (what, path) in [("list", home), ("list", "/"), ("list", "/tmp"), ("write", "/tmp/wharf-os-sandbox")] {
        let ended = attempt(&["worker", what, path]);
        if is_enforced(&ended, "files") {
            assert!(ended.result.contains("(os error 13)"), "{what} {path}: {}", ended.result);
        }
    }
}

/// With threads, and with native code that was compiled before.
fn computes() {
    for restrictions in EACH {
        for what in ["thread", "code"] {
            let ended = attempt(&[restrictions, what, ""]);
            assert_eq!(ended.result, "done", "{what}: {}", ended.status);
        }
    }
}
