use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;

use super::{Folder, PluginSettings};
use crate::catalog::watcher::Watcher;
use crate::catalog::{Catalog, FolderEvent, files};
use crate::pins::{Guard, Rules, Trust};
use crate::plugin::{Digest, Grants, Limits, PluginId, Sandbox, SandboxSettings, Signatures};

/// A component with one function, which is a tool.
const PLUGIN: &str = r#"(component
    (core module $m (func (export "f") (param i32) (result i32) local.get 0))
    (core instance $i (instantiate $m))
    (func (export "same") (param "x" u32) (result u32) (canon lift (core func $i "f"))))"#;

pub(super) fn put(root: &Path, name: &str) {
    let component = wat::parse_str(PLUGIN).expect("valid text");
    fs::write(root.join(format!("{name}.wasm")), component).expect("a file");
}

pub(super) fn following(root: &Path, guard: Guard) -> (Folder, Arc<Catalog>, mpsc::UnboundedReceiver<FolderEvent>) {
    let (sender, events) = mpsc::unbounded_channel();
    let catalog = Arc::new(Catalog::default());
    let sandbox = Sandbox::new(SandboxSettings::default()).expect("a sandbox");
    let settings = |_: &PluginId| PluginSettings {
        limits: Limits::default(),
        grants: Grants::default(),
        naming: Default::default(),
    };
    (Folder::new(root.to_owned(), catalog.clone(), sandbox, settings, sender).with_guard(guard), catalog, events)
}

pub(super) fn refusals(events: &mut mpsc::UnboundedReceiver<FolderEvent>) -> Vec<String> {
    let mut found = Vec::new();
    while let Ok(event) = events.try_recv() {
        if let FolderEvent::Refused(refusal) = event {
            found.push(refusal.reason);
        }
    }
    found
}

/// The callback for signers is where a test can make a load panic.
#[tokio::test]
async fn a_load_that_panics_blocks_neither_its_file_nor_others() {
    let root = tempfile::tempdir().expect("a folder");
    put(root.path(), "p");
    let calls = AtomicUsize::new(0);
    let signatures = move || {
        // The first call is at the start of the load, the second one within it.
        assert_ne!(calls.fetch_add(1, Ordering::SeqCst), 1, "a bug");
        Signatures::default()
    };
    let rules = |_: &PluginId| Rules { trust: Trust::Dev, ..Rules::default() };
    let (mut folder, catalog, mut events) = following(root.path(), Guard::new(None, rules, signatures));
    folder.load_once().await.expect("a folder");
    let refused = refusals(&mut events);
    assert!(refused.len() == 1 && refused[0].contains("host error"), "{refused:?}");
    assert!(catalog.snapshot().members().is_empty());

    put(root.path(), "q");
    folder.load_once().await.expect("a folder");
    assert_eq!(refusals(&mut events), [""; 0]);
    let names: Vec<String> = catalog.snapshot().tools.names().map(str::to_owned).collect();
    assert_eq!(names, ["p_same", "q_same"], "it is loaded at its next change");
}

/// No event follows when the system can read it again.
#[tokio::test]
async fn a_subfolder_that_cannot_be_read_now_is_read_again() {
    let root = tempfile::tempdir().expect("a folder");
    let sub = root.path().join("sub");
    fs::create_dir(&sub).expect("a folder");
    put(&sub, "p");
    let (mut folder, _, _) = following(root.path(), Guard::permissive());
    let mut scan = files::scan(root.path()).expect("a folder");
    scan.plugins.clear();
    scan.unread = true;
    folder.apply_scan(scan);
    assert!(folder.files.is_empty());
    tokio::time::sleep_until(folder.next_due().expect("a retry")).await;
    folder.on_timer(&mut Watcher::new(root.path().to_owned()));
    assert!(folder.files.contains_key(&sub.join("p.wasm")));
    assert!(folder.next_retry().is_none(), "once");
}

#[tokio::test]
async fn ignored_files_are_reported_in_a_few_events() {
    let root = tempfile::tempdir().expect("a folder");
    for number in 0..1000 {
        fs::write(root.path().join(format!("No+Plugin {number}.wasm")), b"x").expect("a file");
    }
    put(root.path(), "p");
    let (mut folder, catalog, mut events) = following(root.path(), Guard::permissive());
    folder.load_once().await.expect("a folder");
    let refused = refusals(&mut events);
    assert!(refused.len() <= 17, "{refused:?}");
    assert!(refused.last().is_some_and(|last| last.contains("984 more files")), "{refused:?}");
    assert_eq!(catalog.snapshot().members().len(), 1);
}

/// A plugin whose file was removed serves for a grace period, unless a decision stops it at once.
#[tokio::test]
async fn a_removed_plugin_serves_for_a_grace_period_unless_it_is_stopped() {
    let root = tempfile::tempdir().expect("a folder");
    for name in ["gone", "replaced", "stopped"] {
        put(root.path(), name);
    }
    let decided = Arc::new(AtomicBool::new(false));
    let is_stopped = decided.clone();
    let rules = move |id: &PluginId| Rules {
        trust: Trust::Dev,
        configured_pin: (id.as_ref() == "stopped" && is_stopped.load(Ordering::SeqCst)).then(|| Digest::of(b"another")),
        ..Rules::default()
    };
    let guard = Guard::new(None, rules, Signatures::default);
    let (mut folder, catalog, mut events) = following(root.path(), guard);
    let served = || catalog.snapshot().tools.names().map(str::to_owned).collect::<Vec<_>>();
    folder.load_once().await.expect("a folder");
    let version = catalog.watch().borrow().tools;
    for name in ["gone", "replaced", "stopped"] {
        let path = root.path().join(format!("{name}.wasm"));
        fs::remove_file(&path).expect("its file");
        folder.mark_gone(&path);
    }
    assert_eq!(served(), ["gone_same", "replaced_same", "stopped_same"]);
    assert_eq!(catalog.watch().borrow().tools, version);

    decided.store(true, Ordering::SeqCst);
    folder.apply_decisions();
    assert_eq!(served(), ["gone_same", "replaced_same"], "at once");

    let later = Instant::now() + Duration::from_secs(3600);
    put(root.path(), "replaced");
    folder.end_grace_periods(Instant::now(), |_| false);
    assert_eq!(served(), ["gone_same", "replaced_same"], "it is too early");
    // The one that exists again is still being written, according to the closure.
    folder.end_grace_periods(later, |path| path.ends_with("replaced.wasm"));
    assert_eq!(served(), ["replaced_same"]);
    folder.load_once().await.expect("a folder");
    folder.end_grace_periods(later + Duration::from_secs(3600), |_| false);
    assert_eq!(served(), ["replaced_same"]);
    assert_eq!(refusals(&mut events), [""; 0]);
}

/// A folder that serves version 1 of `p`, and a configured pin that can be changed.
async fn with_configured_pin(root: &Path) -> (Folder, Arc<Catalog>, Arc<Mutex<Digest>>) {
    let pinned = Arc::new(Mutex::new(Digest::of(&version(1))));
    let of_rules = pinned.clone();
    let rules =
        move |_: &PluginId| Rules { configured_pin: Some(*of_rules.lock().expect("a pin")), ..Rules::default() };
    fs::write(root.join("p.wasm"), version(1)).expect("a file");
    let (mut folder, catalog, _) = following(root, Guard::new(None, rules, Signatures::default));
    folder.load_once().await.expect("a folder");
    assert_eq!(served(&catalog), Some(Digest::of(&version(1))));
    (folder, catalog, pinned)
}

/// The same plugin with other bytes for each number.
fn version(number: u8) -> Vec<u8> {
    let mut component = wat::parse_str(PLUGIN).expect("valid text");
    // A custom section: section id, length, length of its name, its name.
    component.extend([0, 2, 1, number]);
    component
}

fn served(catalog: &Catalog) -> Option<Digest> {
    catalog.snapshot().members().first().map(|member| *member.provider.digest())
}

/// Changes the configured pin and applies that as [`Folder::follow`] does.
fn pin(folder: &mut Folder, pinned: &Mutex<Digest>, content: &[u8]) {
    *pinned.lock().expect("a pin") = Digest::of(content);
    folder.decision_epoch += 1;
    folder.apply_decisions();
}

/// Waits for all running loads, and for those that follow from them.
pub(super) async fn loaded(folder: &mut Folder) {
    loop {
        tokio::select! {
            Some(load) = folder.loads.join_next_with_id() => folder.finish_loads(load),
            Some(pinned) = folder.pinning.join_next() => folder.finish_pinning(pinned),
            else => break,
        }
    }
}

#[tokio::test]
async fn an_unpinned_version_serves_until_the_newly_pinned_one_is_loaded() {
    let root = tempfile::tempdir().expect("a folder");
    let path = root.path().join("p.wasm");
    let (mut folder, catalog, pinned) = with_configured_pin(root.path()).await;
    // The new version is held, then pinned.
    fs::write(&path, version(2)).expect("a file");
    folder.sync_path(path.clone());
    loaded(&mut folder).await;
    assert_eq!(served(&catalog), Some(Digest::of(&version(1))));
    pin(&mut folder, &pinned, &version(2));
    folder.apply_decisions();
    assert_eq!(served(&catalog), Some(Digest::of(&version(1))), "it serves while the new one is loaded");
    loaded(&mut folder).await;
    assert_eq!(served(&catalog), Some(Digest::of(&version(2))));

    // It is pinned while it is being loaded and checked against the previous pin.
    fs::write(&path, version(3)).expect("a file");
    folder.sync_path(path.clone());
    assert!(!folder.loads.is_empty());
    pin(&mut folder, &pinned, &version(3));
    assert_eq!(served(&catalog), Some(Digest::of(&version(2))));
    loaded(&mut folder).await;
    assert_eq!(served(&catalog), Some(Digest::of(&version(3))));

    // It is pinned before its file was reported.
    fs::write(&path, version(4)).expect("a file");
    pin(&mut folder, &pinned, &version(4));
    assert_eq!(served(&catalog), Some(Digest::of(&version(3))));
    loaded(&mut folder).await;
    assert_eq!(served(&catalog), Some(Digest::of(&version(4))));
}

#[tokio::test]
async fn a_configured_pin_that_cannot_be_loaded_keeps_nothing_in_service() {
    for on_disk in [version(1), version(2)] {
        let root = tempfile::tempdir().expect("a folder");
        let path = root.path().join("p.wasm");
        let (mut folder, catalog, pinned) = with_configured_pin(root.path()).await;
        fs::write(&path, on_disk).expect("a file");
        folder.sync_path(path);
        pin(&mut folder, &pinned, &version(3));
        assert_eq!(served(&catalog), None, "at once");
        loaded(&mut folder).await;
        assert_eq!(served(&catalog), None);
    }

    let root = tempfile::tempdir().expect("a folder");
    let path = root.path().join("p.wasm");
    let (mut folder, catalog, pinned) = with_configured_pin(root.path()).await;
    // A component that cannot be compiled.
    let broken = b"\0asm\x0d\0\x01\0\x0b\x03\x01\x00\x00";
    fs::write(&path, broken).expect("a file");
    pin(&mut folder, &pinned, broken);
    assert_eq!(served(&catalog), Some(Digest::of(&version(1))), "until it has failed");
    // Its file changes meanwhile.
    folder.sync_path(path.clone());
    while served(&catalog).is_some() {
        let load = folder.loads.join_next_with_id().await.expect("it ends with a load");
        folder.finish_loads(load);
        folder.sync_path(path.clone());
    }
    loaded(&mut folder).await;
    assert_eq!(served(&catalog), None);
}
