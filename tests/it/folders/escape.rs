//! Attempts to escape from a granted folder.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use super::{attempt, granting, home, names_in, on, serve, to};
use crate::support::client::Client;

#[test]
fn no_path_escapes_the_folder() {
    let home = home();
    let (shared, outside) = home.folder_with_links();
    symlink("/proc/self/cwd", shared.join("process")).expect("a link");
    symlink("here", shared.join("inside")).expect("a link");
    let mut client = serve(&home, "'write'");
    // Links within the folder are followed.
    assert_eq!(on(&mut client, "read", "inside"), "ok hello");
    assert_eq!(on(&mut client, "read", "sub/../here"), "ok hello");
    let absolute = outside.join("secret");
    let ways = [
        "../outside/secret",
        "sub/../../outside/secret",
        "./sub/.././../outside/secret",
        absolute.to_str().expect("UTF-8"),
        "relative",
        "absolute",
        "folder/secret",
        "process/secret",
        "/proc/self/root/etc/passwd",
        "root/etc/passwd",
    ];
    for way in ways {
        for what in ["read", "stat", "write", "truncate", "touch", "append", "open-to-write", "create"] {
            let outcome = on(&mut client, what, way);
            assert!(!outcome.starts_with("ok"), "{what} {way}: {outcome}");
        }
        if way.contains('/') {
            for what in ["unlink", "mkdir", "rmdir"] {
                let outcome = on(&mut client, what, way);
                assert!(!outcome.starts_with("ok"), "{what} {way}: {outcome}");
            }
            let outcome = to(&mut client, "rename", "here", way);
            assert!(!outcome.starts_with("ok"), "rename to {way}: {outcome}");
            let outcome = to(&mut client, "rename", way, "taken");
            assert!(!outcome.starts_with("ok"), "rename {way}: {outcome}");
        }
    }
    // A folder where a file is expected, and vice versa.
    for way in ["..", "../", "../outside/", "folder/", "folder/."] {
        assert_ne!(on(&mut client, "list", way).get(..2), Some("ok"), "{way}");
    }
    assert_ne!(on(&mut client, "read", "here/").get(..2), Some("ok"));
    // Encoded separators are not decoded.
    for way in ["%2e%2e/outside/secret", "..%2foutside%2fsecret", "..\\outside\\secret"] {
        assert_eq!(on(&mut client, "read", way), "no-entry", "{way}");
    }
    assert_eq!(fs::read_to_string(outside.join("secret")).expect("it"), "secret");
    assert_eq!(names_in(&outside), ["secret"]);
    assert_eq!(on(&mut client, "read", "here"), "ok hello");
}

#[test]
fn links_cannot_be_created() {
    let home = home();
    fs::write(home.path("shared/here"), "hello").expect("a file");
    let mut client = serve(&home, "'write'");
    for what in ["link", "symlink"] {
        assert_eq!(to(&mut client, what, "here", "there"), "not-permitted", "{what}");
    }
    for target in ["/etc/passwd", "../outside", "/"] {
        assert_eq!(to(&mut client, "symlink", target, "there"), "not-permitted", "{target}");
    }
    assert_eq!(names_in(&home.path("shared")), ["here"]);
}

#[test]
fn files_cannot_be_moved_between_granted_folders() {
    let home = home();
    let [shared, other] = ["shared", "other"].map(|name| home.path(name));
    fs::create_dir(&other).expect("a folder");
    fs::write(shared.join("here"), "hello").expect("a file");
    let across = json!({"path": "here", "to": "there", "to_folder": 1});
    for (mode, code) in [("'write'", "cross-device"), ("'read'", "not-permitted")] {
        home.configure(&granting(&[(&shared, "'write'"), (&other, mode)]));
        let mut client = Client::start_modern(&home);
        assert_eq!(attempt(&mut client, "rename", across.clone()), code);
        assert_eq!(attempt(&mut client, "link", across.clone()), "not-permitted");
    }
    assert_eq!(names_in(&shared), ["here"]);
    assert!(names_in(&other).is_empty());
}

/// The grant holds the open handle, not the path.
#[test]
fn a_folder_replaced_by_a_link_stays_the_granted_one() {
    let home = home();
    let shared = home.path("shared");
    fs::write(shared.join("here"), "hello").expect("a file");
    fs::create_dir(home.path("outside")).expect("a folder");
    fs::write(home.path("outside/here"), "secret").expect("a file");
    let mut client = serve(&home, "'read'");
    assert_eq!(on(&mut client, "read", "here"), "ok hello");
    fs::rename(&shared, home.path("moved")).expect("moved");
    symlink(home.path("outside"), &shared).expect("a link");
    assert_eq!(on(&mut client, "read", "here"), "ok hello");
}
