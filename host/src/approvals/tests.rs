use std::fs;
use std::sync::Barrier;
use std::time::Duration;

use tokio::runtime::Handle;

use super::*;
use crate::store::{Sqlite, Store as _};

const HOLDS: Duration = Duration::from_secs(60);

const ONCE: Wanted = Wanted { once: true, of_operator: false, holds: u64::MAX };
const WHILE: Wanted = Wanted { once: false, of_operator: false, holds: u64::MAX };

fn deed() -> Deed {
    let bound = Bound { caller: "ci", plugin: "notes", version: "1", extras: "", tool: "delete", arguments: "{}" };
    Deed::new(bound, "ci".into(), "{}".into(), "{}")
}

fn in_folder(folder: &tempfile::TempDir) -> Approvals {
    Approvals::in_folder(folder.path().join("state"))
}

#[test]
fn a_decision_of_another_process_holds_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let (server, command) = (in_folder(&folder), in_folder(&folder));
    assert_eq!(server.take(&deed(), ONCE).expect("no file"), Standing::Open);
    let request = server.request(deed(), true, HOLDS).expect("it is written");
    assert_eq!(command.list().expect("the file"), std::slice::from_ref(&request));
    assert!(command.decide("other", Decision::Allowed).expect("the file").is_none());
    assert!(command.decide(&request.id, Decision::Allowed).expect("the file").is_some());
    // Several servers, or calls of one, at the same time.
    let barrier = Barrier::new(4);
    let allowed = std::thread::scope(|scope| {
        let calls: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    barrier.wait();
                    in_folder(&folder).take(&deed(), ONCE).expect("the file")
                })
            })
            .collect();
        let standings = calls.into_iter().map(|call| call.join().expect("no panic"));
        standings.filter(|standing| *standing != Standing::Open).count()
    });
    assert_eq!(allowed, 1);
    assert_eq!(command.list().expect("the file"), []);
}

#[test]
fn an_answer_is_used_once_by_all_processes() {
    let folder = tempfile::tempdir().expect("a folder");
    for (first, second) in [(in_folder(&folder), in_folder(&folder)), {
        let memory = Approvals::default();
        (memory.clone(), memory)
    }] {
        assert!(first.spend("state", "ci", HOLDS).expect("it is written"));
        assert!(!second.spend("state", "ci", HOLDS).expect("it is read"));
    }
}

/// By the clock of another node it has expired, and this one would take it still.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_used_once_by_nodes_whose_clocks_differ() {
    let folder = tempfile::tempdir().expect("a folder");
    #[cfg(unix)]
    fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o700)).expect("its owner's");
    let store = Sqlite::new(folder.path().join("store.db"));
    let node = || {
        let document = Document::new(store.clone(), "approvals", "store.db", Handle::current());
        Approvals::in_store(document)
    };
    let (one, other) = (node(), node());
    assert!(one.spend("state", "ci", Duration::ZERO).expect("it is written"));
    assert_eq!(store.remove_expired(now() * 1000 + 3_600_000, 99).await, Ok(0), "an hour ahead");
    // Any other change.
    other.remember(deed(), HOLDS).expect("it is written");
    assert!(!other.spend("state", "ci", HOLDS).expect("it is read"));
    assert!(other.spend("state", "bob", HOLDS).expect("it is written"));
    for number in 1..MAX_SHARED_SPENT.0 {
        assert!(one.spend(&number.to_string(), "ci", HOLDS).expect("it is written"));
    }
    assert!(matches!(one.spend("more", "ci", HOLDS), Err(ApprovalError::Full)));
    assert!(one.spend("more", "bob", HOLDS).expect("others have their own"));
}

#[cfg(unix)]
#[test]
fn a_file_that_others_can_write_decides_nothing() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = tempfile::tempdir().expect("a folder");
    let approvals = in_folder(&folder);
    approvals.remember(deed(), HOLDS).expect("it is written");
    let path = std::path::PathBuf::from(approvals.to_string());
    assert_eq!(fs::metadata(&path).expect("a file").permissions().mode() & 0o777, 0o600);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).expect("permissions");
    assert!(matches!(approvals.take(&deed(), WHILE), Err(ApprovalError::Io(_))));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("permissions");
    assert_eq!(approvals.take(&deed(), WHILE).expect("the file"), Standing::Allowed { by: Decider::User });
    fs::write(&path, "[").expect("a file");
    assert!(matches!(approvals.take(&deed(), WHILE), Err(ApprovalError::Io(_))), "it is damaged");
}
