use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::mpsc;

use super::{Folder, PluginSettings};
use crate::catalog::{Catalog, FolderEvent};
use crate::pins::{Guard, Rules, Trust};
use crate::plugin::{Grants, Limits, PluginId, Sandbox, SandboxSettings, Signatures};

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
    assert!(told.len() == 1 && told[0].contains("the host failed"), "{told:?}");
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
    assert!(told.len() < 20, "{told:?}");
    assert!(told.last().is_some_and(|last| last.contains("992 more files")), "{told:?}");
    assert_eq!(catalog.snapshot().members().len(), 1);
}
