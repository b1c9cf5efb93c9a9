use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;

use super::{Folder, PluginSettings};
use crate::catalog::{Catalog, FolderEvent};
use crate::pins::{Guard, Rules, Trust};
use crate::plugin::{Digest, Grants, Limits, PluginId, Sandbox, SandboxSettings, Signatures};

/// A component with one function, which is a tool.
const PLUGIN: &str = r#"(component
    (core module $m (func (export "f") (param i32) (result i32) local.get 0))
    (core instance $i (instantiate $m))
    (func (export "same") (param "x" u32) (result u32) (canon lift (core func $i "f"))))"#;

fn put(root: &Path, name: &str) {
    let component = wat::parse_str(PLUGIN).expect("valid text");
    fs::write(root.join(format!("{name}.wasm")), component).expect("a file");
}

fn following(root: &Path, guard: Guard) -> (Folder, Arc<Catalog>, mpsc::UnboundedReceiver<FolderEvent>) {
    let (sender, events) = mpsc::unbounded_channel();
    let catalog = Arc::new(Catalog::default());
    let sandbox = Sandbox::new(SandboxSettings::default()).expect("a sandbox");
    let settings = |_: &PluginId| PluginSettings {
        limits: Limits::default(),
        grants: Grants::default(),
        naming: Default::default(),
    };
    (Folder::new(root.to_owned(), catalog.clone(), sandbox, settings, sender).guarded(guard), catalog, events)
}

fn refusals(events: &mut mpsc::UnboundedReceiver<FolderEvent>) -> Vec<String> {
    let mut found = Vec::new();
    while let Ok(event) = events.try_recv() {
        if let FolderEvent::Refused(refusal) = event {
            found.push(refusal.reason);
        }
    }
    found
}

/// What a load asks the configuration for is what can be made to panic from here.
#[tokio::test]
async fn a_load_that_panics_wedges_neither_its_file_nor_others() {
    let root = tempfile::tempdir().expect("a folder");
    put(root.path(), "p");
    let asked = AtomicUsize::new(0);
    let signatures = move || {
        // The first time is when the load is begun, the second one is in it.
        assert_ne!(asked.fetch_add(1, Ordering::SeqCst), 1, "a bug");
        Signatures::default()
    };
    let rules = |_: &PluginId| Rules { trust: Trust::Dev, ..Rules::default() };
    let (mut folder, catalog, mut events) = following(root.path(), Guard::new(None, rules, signatures));
    folder.load_once().await.expect("a folder");
    let told = refusals(&mut events);
    assert!(told.len() == 1 && told[0].contains("host error"), "{told:?}");
    assert!(catalog.snapshot().members().is_empty());

    put(root.path(), "q");
    folder.load_once().await.expect("a folder");
    assert_eq!(refusals(&mut events), [""; 0]);
    let names: Vec<String> = catalog.snapshot().tools.names().map(str::to_owned).collect();
    assert_eq!(names, ["p_same", "q_same"], "at its next change it is loaded");
}

#[tokio::test]
async fn what_is_passed_over_is_told_in_a_few_lines() {
    let root = tempfile::tempdir().expect("a folder");
    for number in 0..1000 {
        fs::write(root.path().join(format!("No Plugin {number}.wasm")), b"x").expect("a file");
    }
    put(root.path(), "p");
    let (mut folder, catalog, mut events) = following(root.path(), Guard::open());
    folder.load_once().await.expect("a folder");
    let told = refusals(&mut events);
    assert!(told.len() <= 17, "{told:?}");
    assert!(told.last().is_some_and(|last| last.contains("984 more files")), "{told:?}");
    assert_eq!(catalog.snapshot().members().len(), 1);
}

/// A plugin whose file is gone serves for a while; what a person decides counts at once all the same.
#[tokio::test]
async fn a_file_that_is_gone_is_served_for_a_while_unless_it_may_not_stay() {
    let root = tempfile::tempdir().expect("a folder");
    for name in ["gone", "replaced", "stopped"] {
        put(root.path(), name);
    }
    let decided = Arc::new(AtomicBool::new(false));
    let stops = decided.clone();
    let rules = move |id: &PluginId| Rules {
        trust: Trust::Dev,
        by_hand: (id.as_ref() == "stopped" && stops.load(Ordering::SeqCst)).then(|| Digest::of(b"another")),
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
        folder.miss(&path);
    }
    assert_eq!(served(), ["gone_same", "replaced_same", "stopped_same"]);
    assert_eq!(catalog.watch().borrow().tools, version);

    decided.store(true, Ordering::SeqCst);
    folder.decide_again();
    assert_eq!(served(), ["gone_same", "replaced_same"], "at once");

    let later = Instant::now() + Duration::from_secs(3600);
    put(root.path(), "replaced");
    folder.end_graces(Instant::now(), |_| false);
    assert_eq!(served(), ["gone_same", "replaced_same"], "it is too early");
    // The one that is there again is being written, as far as is known.
    folder.end_graces(later, |path| path.ends_with("replaced.wasm"));
    assert_eq!(served(), ["replaced_same"]);
    folder.load_once().await.expect("a folder");
    folder.end_graces(later + Duration::from_secs(3600), |_| false);
    assert_eq!(served(), ["replaced_same"]);
    assert_eq!(refusals(&mut events), [""; 0]);
}

/// A folder that serves the first version of `p`, and whose pin by hand can be changed.
async fn pinned_by_hand(root: &Path) -> (Folder, Arc<Catalog>, Arc<Mutex<Digest>>) {
    let named = Arc::new(Mutex::new(Digest::of(&version(1))));
    let of_rules = named.clone();
    let rules = move |_: &PluginId| Rules { by_hand: Some(*of_rules.lock().expect("a pin")), ..Rules::default() };
    fs::write(root.join("p.wasm"), version(1)).expect("a file");
    let (mut folder, catalog, _) = following(root, Guard::new(None, rules, Signatures::default));
    folder.load_once().await.expect("a folder");
    assert_eq!(served(&catalog), Some(Digest::of(&version(1))));
    (folder, catalog, named)
}

/// Other bytes for each number, of the same plugin.
fn version(number: u8) -> Vec<u8> {
    let mut component = wat::parse_str(PLUGIN).expect("valid text");
    // A custom section: its number, its length, the length of its name, its name.
    component.extend([0, 2, 1, number]);
    component
}

fn served(catalog: &Catalog) -> Option<Digest> {
    catalog.snapshot().members().first().map(|member| *member.provider.digest())
}

/// Takes up a pin as [`Folder::follow`] does.
fn pin(folder: &mut Folder, named: &Mutex<Digest>, content: &[u8]) {
    *named.lock().expect("a pin") = Digest::of(content);
    folder.decisions += 1;
    folder.decide_again();
}

/// Waits for all loads that are under way, and for those that follow from them.
async fn loaded(folder: &mut Folder) {
    loop {
        tokio::select! {
            Some(load) = folder.loads.join_next_with_id() => folder.finish(load),
            Some(pinned) = folder.pinning.join_next() => folder.pinned(pinned),
            else => break,
        }
    }
}

#[tokio::test]
async fn what_a_pin_by_hand_stops_serves_until_the_version_that_it_names_is_loaded() {
    let root = tempfile::tempdir().expect("a folder");
    let path = root.path().join("p.wasm");
    let (mut folder, catalog, named) = pinned_by_hand(root.path()).await;
    // The new version is held, and then pinned.
    fs::write(&path, version(2)).expect("a file");
    folder.look(path.clone());
    loaded(&mut folder).await;
    assert_eq!(served(&catalog), Some(Digest::of(&version(1))));
    pin(&mut folder, &named, &version(2));
    folder.decide_again();
    assert_eq!(served(&catalog), Some(Digest::of(&version(1))), "it serves while the new one is loaded");
    loaded(&mut folder).await;
    assert_eq!(served(&catalog), Some(Digest::of(&version(2))));

    // It is pinned while it is being loaded, and judged by the pin before.
    fs::write(&path, version(3)).expect("a file");
    folder.look(path.clone());
    assert!(!folder.loads.is_empty());
    pin(&mut folder, &named, &version(3));
    assert_eq!(served(&catalog), Some(Digest::of(&version(2))));
    loaded(&mut folder).await;
    assert_eq!(served(&catalog), Some(Digest::of(&version(3))));

    // It is pinned before anybody saw that it came.
    fs::write(&path, version(4)).expect("a file");
    pin(&mut folder, &named, &version(4));
    assert_eq!(served(&catalog), Some(Digest::of(&version(3))));
    loaded(&mut folder).await;
    assert_eq!(served(&catalog), Some(Digest::of(&version(4))));
}

#[tokio::test]
async fn a_pin_by_hand_of_what_is_not_there_or_does_not_load_keeps_nothing_in_service() {
    for on_disk in [version(1), version(2)] {
        let root = tempfile::tempdir().expect("a folder");
        let path = root.path().join("p.wasm");
        let (mut folder, catalog, named) = pinned_by_hand(root.path()).await;
        fs::write(&path, on_disk).expect("a file");
        folder.look(path);
        pin(&mut folder, &named, &version(3));
        assert_eq!(served(&catalog), None, "at once");
        loaded(&mut folder).await;
        assert_eq!(served(&catalog), None);
    }

    let root = tempfile::tempdir().expect("a folder");
    let path = root.path().join("p.wasm");
    let (mut folder, catalog, named) = pinned_by_hand(root.path()).await;
    // A component that cannot be compiled.
    let broken = b"\0asm\x0d\0\x01\0\x0b\x03\x01\x00\x00";
    fs::write(&path, broken).expect("a file");
    pin(&mut folder, &named, broken);
    assert_eq!(served(&catalog), Some(Digest::of(&version(1))), "until it has failed");
    // Its file is touched meanwhile.
    folder.look(path.clone());
    while served(&catalog).is_some() {
        let load = folder.loads.join_next_with_id().await.expect("it ends with a load");
        folder.finish(load);
        folder.look(path.clone());
    }
    loaded(&mut folder).await;
    assert_eq!(served(&catalog), None);
}
