use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::pins::{AdmittedAs, Guard, ListedVersion, PinFile, PluginVersion, Rules};
use crate::plugin::{Digest, PluginId, Signatures};

/// Changes a pin file in this folder.
type Change = fn(&Path);

const TIME_LIMIT: Duration = Duration::from_secs(60);

fn guard(folder: &Path) -> Arc<Guard> {
    let rules = |_: &PluginId| Rules::default();
    Arc::new(Guard::new(Some(PinFile::new(folder.to_owned())), rules, Signatures::default))
}

/// Admits a version of that plugin, always the same one.
async fn admit(guard: &Arc<Guard>, id: &PluginId) -> AdmittedAs {
    let version = PluginVersion {
        content: Digest::of(b"1"),
        signer: None,
        grants: BTreeSet::new(),
        granted: BTreeSet::new(),
        surface: Some(Digest::of(b"")),
        needs: BTreeSet::new(),
        has_skills: false,
    };
    let listed = ListedVersion { version, surface_text: String::new(), path: "a.wasm".into() };
    guard.admit(vec![(id.clone(), listed)]).await.remove(0).expect("it needs no approval")
}

fn is_marked(guard: &Guard, id: &PluginId) -> bool {
    guard.read_pins().is_some_and(|pins| pins.get(id).expect("a pin").gone.is_some())
}

/// Waits until a removal could not be recorded.
async fn until_failed(guard: &Guard) {
    let deadline = Instant::now() + TIME_LIMIT;
    while guard.last_error.lock().expect("no panic").is_none() {
        assert!(Instant::now() < deadline, "it was recorded");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_removal_is_recorded_when_the_pin_file_can_be_written() {
    let id = PluginId::parse("p").expect("an id");
    // Each is an error also for root.
    let unwritable = |folder: &Path| fs::create_dir(folder.join("lock.toml.next")).expect("a folder");
    let writable = |folder: &Path| fs::remove_dir(folder.join("lock.toml.next")).expect("it goes");
    let damaged = |folder: &Path| {
        fs::rename(folder.join("lock.toml"), folder.join("aside")).expect("renamed");
        fs::write(folder.join("lock.toml"), "?").expect("a file");
    };
    let repaired = |folder: &Path| {
        fs::copy(folder.join("aside"), folder.join("lock.toml")).expect("a copy");
    };
    let causes: [(Change, Change); 2] = [(unwritable, writable), (damaged, repaired)];
    for (fail, mend) in causes {
        let home = tempfile::tempdir().expect("a folder");
        let guard = guard(home.path());
        assert_eq!(admit(&guard, &id).await, AdmittedAs::FirstUse);
        let mut watch = guard.watch();
        fail(home.path());
        guard.mark_missing(vec![id.clone()]);
        until_failed(&guard).await;
        mend(home.path());
        let marked = async {
            while !is_marked(&guard, &id) {
                watch.changed().await;
            }
        };
        tokio::time::timeout(TIME_LIMIT, marked).await.expect("it is tried again");
    }
}

#[tokio::test]
async fn a_plugin_that_is_back_is_not_marked() {
    let home = tempfile::tempdir().expect("a folder");
    let guard = guard(home.path());
    let id = PluginId::parse("p").expect("an id");
    assert_eq!(admit(&guard, &id).await, AdmittedAs::FirstUse);
    let blocker = home.path().join("lock.toml.next");
    fs::create_dir(&blocker).expect("a folder");
    guard.mark_missing(vec![id.clone()]);
    until_failed(&guard).await;
    assert_eq!(admit(&guard, &id).await, AdmittedAs::Unchanged);
    fs::remove_dir(blocker).expect("it goes");
    guard.record_missing();
    assert!(!is_marked(&guard, &id));
}
