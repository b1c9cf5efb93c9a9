//! The OS sandbox of the process of one plugin.

use crate::{Test, attempt, is_enforced};

pub(super) const TESTS: &[Test] = &[
    ("plugin::is_killed_by_programs_and_what_reaches_others", is_killed_by_programs_and_what_reaches_others),
    ("plugin::has_no_socket_of_this_machine", has_no_socket_of_this_machine),
    ("plugin::has_sockets_with_the_grant_only", has_sockets_with_the_grant_only),
    ("plugin::opens_no_file_that_is_not_granted", opens_no_file_that_is_not_granted),
    ("plugin::computes", computes),
];

const EACH: [&str; 2] = ["worker", "worker-with-network"];

fn is_killed_by_programs_and_what_reaches_others() {
    let own = std::env::current_exe().expect("this program");
    let own = own.to_str().expect("text");
    for restrictions in EACH {
        for (what, path) in [
            ("execute", "/bin/true"),
            ("process", "/bin/true"),
            ("signal", ""),
            ("priority", ""),
            // Landlock does not guard it.
            ("chmod", own),
        ] {
            let ended = attempt(&[restrictions, what, path]);
            if is_enforced(&ended, "calls") {
                assert!(ended.was_killed() && ended.result.is_empty(), "{what}: {} {}", ended.status, ended.result);
            }
        }
    }
}

/// Landlock does not guard those with a path.
fn has_no_socket_of_this_machine() {
    let ended = attempt(&["worker-with-network", "unix", "/tmp/wharf-os-sandbox-socket"]);
    if is_enforced(&ended, "calls") {
        assert!(ended.result.contains("(os error 97)"), "{} {}", ended.status, ended.result);
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
