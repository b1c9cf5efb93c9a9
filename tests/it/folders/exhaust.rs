//! Attempts to exhaust the host's threads, handles and disk space.

use std::fs;
use std::os::unix::net::UnixListener;

use rustix::fs::{CWD, Mode, mkfifoat};
use serde_json::json;

use super::{attempt, bytes_in, granting, home, names_in, of, on, serve};
use crate::support::client::Client;
use crate::support::home::Home;

const MIB: u64 = 1 << 20;

/// A FIFO that is created after its folder was checked.
#[test]
fn a_fifo_in_a_granted_folder_blocks_nothing() {
    let home = home();
    let shared = home.path("shared");
    for mode in ["'read'", "'write'"] {
        let mut client = serve(&home, mode);
        assert_eq!(on(&mut client, "list", "."), "ok");
        mkfifoat(CWD, shared.join("fifo"), Mode::RWXU).expect("a FIFO");
        let socket = UnixListener::bind(shared.join("socket")).expect("a socket");
        let threads = threads(&mut client);
        assert_eq!(of(&mut client, "open-anyway", "fifo", 600), "ok 0");
        for what in ["read", "stat", "list", "write", "append", "truncate", "touch", "resize"] {
            for path in ["fifo", "socket"] {
                let outcome = of(&mut client, what, path, 1);
                let allowed = what == "stat" && outcome.starts_with("ok");
                let refused = ["access", "not-permitted", "not-directory"].contains(&outcome.as_str());
                assert!(allowed || refused, "{what} {path}: {outcome}");
            }
        }
        assert!(self::threads(&mut client) <= threads + 16, "threads were leaked");
        drop(socket);
        fs::remove_file(shared.join("fifo")).expect("the FIFO");
        fs::remove_file(shared.join("socket")).expect("the socket");
        assert_eq!(client.text("echo", json!({"message": "still here"})), "still here");
    }
}

/// Threads of the host.
fn threads(client: &mut Client) -> usize {
    let tasks = format!("/proc/{}/task", client.process().id());
    fs::read_dir(tasks).map_or(0, Iterator::count)
}

#[test]
fn open_files_of_a_call_are_limited() {
    let home = home();
    fs::write(home.path("shared/here"), "hello").expect("a file");
    for mode in ["'read'", "'write'"] {
        let mut client = serve(&home, mode);
        for what in ["open", "open-streams"] {
            assert_eq!(of(&mut client, what, "here", 2000), "ok 64 busy", "{what}");
        }
        // A closed handle is released.
        assert_eq!(of(&mut client, "open-often", "here", 300), "ok 300");
        assert_eq!(client.text("echo", json!({"message": "still here"})), "still here");
    }
}

/// Concurrent calls of plugins that each open as many files as they can.
#[test]
fn open_files_of_all_calls_are_limited() {
    let home = home();
    let plugins = ["folders", "second", "third"];
    let mut settings = String::new();
    for plugin in plugins {
        home.put("folders", plugin);
        settings += &granting(&[(&home.path("shared"), "'read'")]).replace("folders", plugin);
    }
    home.configure(&settings);
    fs::write(home.path("shared/here"), "hello").expect("a file");
    let mut client = Client::start_modern(&home);
    client.tools();
    let arguments = json!({"what": "open", "path": "here", "count": 2000});
    let pending: Vec<u64> = (0..24)
        .map(|n| {
            let name = format!("{}_attempt", plugins[n % 3]);
            client.post("tools/call", json!({"name": name, "arguments": arguments}))
        })
        .collect();
    for id in pending {
        let text = client.answer(id)["result"]["content"][0]["text"].as_str().expect("a text").to_owned();
        let opened = text.strip_prefix("ok ").and_then(|rest| rest.strip_suffix(" busy"));
        assert!(opened.and_then(|opened| opened.parse::<u32>().ok()).is_some_and(|opened| opened <= 64), "{text}");
    }
    // All handles are released.
    assert_eq!(of(&mut client, "open", "here", 2000), "ok 64 busy");
    assert_eq!(client.text("echo", json!({"message": "still here"})), "still here");
}

fn with_quota(home: &Home, quota: &str) -> Client {
    serve(home, &format!("'write', quota = '{quota}'"))
}

#[test]
fn a_folder_cannot_exceed_its_quota() {
    let home = home();
    let shared = home.path("shared");
    fs::write(shared.join("before"), vec![0; MIB as usize]).expect("a file");
    let mut client = with_quota(&home, "8MiB");
    // 7 MiB remain, less what the directory entries count.
    assert_eq!(of(&mut client, "fill", "f", 1000), "ok 6 quota");
    assert!(bytes_in(&shared) <= 8 * MIB, "{} bytes", bytes_in(&shared));
    for what in ["write", "append", "stream"] {
        assert_eq!(of(&mut client, what, "more", MIB), "quota", "{what}");
    }
    // A sparse region counts in full.
    assert_eq!(of(&mut client, "resize", "f0", 1 << 40), "quota");
    assert_eq!(attempt(&mut client, "write", json!({"path": "f0", "count": 1, "at": 1u64 << 40})), "quota");
    assert_eq!(attempt(&mut client, "write", json!({"path": "f0", "count": 1, "at": u64::MAX})), "file-too-large");
    assert!(bytes_in(&shared) <= 8 * MIB, "{} bytes", bytes_in(&shared));
    // Removing frees space; overwriting needs none.
    assert_eq!(on(&mut client, "unlink", "f0"), "ok");
    assert_eq!(of(&mut client, "stream", "again", MIB), "ok");
    assert_eq!(of(&mut client, "rewrite", "again", 20), "ok 20");
    assert_eq!(of(&mut client, "stream", "more", MIB), "quota");
    assert_eq!(on(&mut client, "truncate", "again"), "ok");
    assert_eq!(of(&mut client, "stream", "more", MIB / 2), "ok");
    let expected = "the folder /0 has used up its quota";
    assert_eq!(client.process().log_with(expected).matches(expected).count(), 1);
    // The quota holds across restarts.
    let names = names_in(&shared);
    let mut client = with_quota(&home, "8MiB");
    assert_eq!(of(&mut client, "stream", "last", MIB), "quota");
    assert!(bytes_in(&shared) <= 8 * MIB, "{} bytes in {names:?}", bytes_in(&shared));
}

#[test]
fn directory_entries_count_towards_the_quota() {
    let home = home();
    let mut client = with_quota(&home, "1MiB");
    assert_eq!(of(&mut client, "many", "f", 1000), "ok 256 quota");
    assert_eq!(of(&mut client, "many-folders", "d", 1000), "ok 0 quota");
    assert_eq!(on(&mut client, "unlink", "f0"), "ok");
    assert_eq!(of(&mut client, "many-folders", "d", 1000), "ok 1 quota");
    assert_eq!(on(&mut client, "rmdir", "d0"), "ok");
    assert_eq!(super::to(&mut client, "rename", "f1", "f2"), "ok");
    assert_eq!(of(&mut client, "many", "g", 1000), "ok 2 quota");
}

#[test]
fn a_removed_file_counts_until_it_is_closed() {
    let home = home();
    let mut client = with_quota(&home, "8MiB");
    // A directory entry counts until it is removed.
    for (what, files) in [("fill-removed", 8), ("fill-then-remove", 7)] {
        assert_eq!(of(&mut client, what, "f", 60), format!("ok {files} quota"), "{what}");
        assert!(names_in(&home.path("shared")).len() <= 1);
        let _ = on(&mut client, "unlink", "f");
        // The files are closed by then; the next measurement of the folder notices it.
        let deadline = std::time::Instant::now() + crate::support::TIMEOUT;
        while of(&mut client, "fill", "g", 4) != "ok 4" {
            assert!(std::time::Instant::now() < deadline, "closed files still count");
        }
        for n in 0..4 {
            assert_eq!(on(&mut client, "unlink", &format!("g{n}")), "ok");
        }
    }
}

/// Files removed by the owner of the folder, not through the host.
#[test]
fn files_removed_by_others_release_quota() {
    let home = home();
    let mut client = with_quota(&home, "4MiB");
    assert_eq!(of(&mut client, "fill", "f", 10), "ok 3 quota");
    for name in names_in(&home.path("shared")) {
        fs::remove_file(home.path("shared").join(name)).expect("a file");
    }
    let deadline = std::time::Instant::now() + crate::support::TIMEOUT;
    while of(&mut client, "fill", "g", 3) != "ok 3" {
        assert!(std::time::Instant::now() < deadline, "removed files still count");
    }
}

#[test]
fn calls_at_the_same_time_share_one_quota() {
    let home = home();
    let mut client = with_quota(&home, "8MiB");
    client.tools();
    let pending: Vec<u64> = (0..6)
        .map(|n| {
            let arguments = json!({"what": "fill", "path": format!("{n}-"), "count": 1000});
            client.post("tools/call", json!({"name": "folders_attempt", "arguments": arguments}))
        })
        .collect();
    for id in pending {
        let text = client.answer(id)["result"]["content"][0]["text"].as_str().expect("a text").to_owned();
        assert!(text.ends_with(" quota"), "{text}");
    }
    let used = bytes_in(&home.path("shared"));
    assert!(used <= 8 * MIB && used > 6 * MIB, "{used} bytes");
}
