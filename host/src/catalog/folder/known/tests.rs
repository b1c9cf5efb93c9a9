use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::sync::mpsc;

use crate::catalog::folder::tests::{loaded, put};
use crate::catalog::{Catalog, Folder, FolderEvent, PluginSettings};
use crate::pins::{Guard, Rules, Trust};
use crate::plugin::{Call, Fault, Grants, Limits, PluginId, Sandbox, SandboxSettings, Signatures};

const EVER: Duration = Duration::from_secs(3600);

type Events = mpsc::UnboundedReceiver<FolderEvent>;

/// A folder with a cache in it, whose trust is strict from when `strict` is set.
fn following(root: &Path, strict: &Arc<AtomicBool>) -> (Folder, Arc<Catalog>, Events) {
    let (sender, events) = mpsc::unbounded_channel();
    let catalog = Arc::new(Catalog::default());
    let cache_dir = Some(root.join("cache"));
    let sandbox = Sandbox::new(SandboxSettings { cache_dir, ..SandboxSettings::default() }).expect("a sandbox");
    let settings = |_: &PluginId| PluginSettings {
        limits: Limits::default(),
        grants: Grants::default(),
        naming: Default::default(),
    };
    let strict = strict.clone();
    let rules = move |_: &PluginId| {
        let trust = if strict.load(Ordering::Relaxed) { Trust::Strict } else { Trust::Dev };
        Rules { trust, ..Rules::default() }
    };
    let guard = Guard::new(None, rules, Signatures::default);
    let plugins = root.join("plugins");
    (Folder::new(plugins, catalog.clone(), sandbox, settings, sender).with_guard(guard), catalog, events)
}

/// A folder with a plugin that was loaded before.
async fn loaded_before() -> tempfile::TempDir {
    let root = tempfile::tempdir().expect("a folder");
    fs::create_dir(root.path().join("plugins")).expect("a folder");
    put(&root.path().join("plugins"), "p");
    let (mut folder, catalog, _events) = following(root.path(), &Arc::default());
    folder.load_once().await.expect("a folder");
    assert_eq!(names(&catalog), ["p_same"]);
    root
}

/// Removes the compiled code, as a newer engine would not find it.
fn remove_code(root: &Path) {
    let entries = fs::read_dir(root.join("cache")).expect("a cache").map(|entry| entry.expect("an entry").path());
    let code: Vec<_> = entries.filter(|path| path.extension().is_some_and(|extension| extension == "cwasm")).collect();
    assert_eq!(code.len(), 1);
    fs::remove_file(&code[0]).expect("removed");
}

fn names(catalog: &Catalog) -> Vec<String> {
    catalog.snapshot().tools.names().map(str::to_owned).collect()
}

/// Serves the plugin's earlier listing.
async fn serve_known(root: &Path, folder: &mut Folder) {
    folder.sync_path(root.join("plugins/p.wasm"));
    let known = folder.known.next().await;
    folder.serve_known(known);
}

#[tokio::test]
async fn an_earlier_listing_serves_until_the_code_is_compiled() {
    let root = loaded_before().await;
    remove_code(root.path());
    let (mut folder, catalog, mut events) = following(root.path(), &Arc::default());
    serve_known(root.path(), &mut folder).await;
    assert_eq!(names(&catalog), ["p_same"]);
    let listings = catalog.listable(EVER).await;
    assert!(!catalog.is_ready());

    let provider = catalog.snapshot().tools.get("p_same").expect("a tool").provider.clone();
    let mut call = provider.call_tool("same", r#"{"x":7}"#.into(), Call::new("1"));
    assert!((&mut call).now_or_never().is_none());
    loaded(&mut folder).await;
    let called = call.await;
    assert!(format!("{called:?}").contains('7'), "{called:?}");
    assert_eq!(catalog.snapshot().listings(), listings, "the lists have not changed");
    let mut first = false;
    while let Ok(event) = events.try_recv() {
        first |= matches!(event, FolderEvent::Loaded { swapped: false, .. });
    }
    assert!(first);
}

#[tokio::test]
async fn an_earlier_listing_ends_with_a_load_that_is_held() {
    let root = loaded_before().await;
    remove_code(root.path());
    let strict = Arc::default();
    let (mut folder, catalog, _events) = following(root.path(), &strict);
    serve_known(root.path(), &mut folder).await;
    let provider = catalog.snapshot().tools.get("p_same").expect("a tool").provider.clone();
    let mut call = provider.call_tool("same", r#"{"x":7}"#.into(), Call::new("1"));
    assert!((&mut call).now_or_never().is_none());
    strict.store(true, Ordering::Relaxed);
    loaded(&mut folder).await;
    assert_eq!(names(&catalog), [""; 0]);
    assert_eq!(call.await, Err(Fault::NotLoaded.into()));
}

#[tokio::test]
async fn a_version_that_is_held_is_not_listed() {
    let root = loaded_before().await;
    remove_code(root.path());
    let (mut folder, catalog, _events) = following(root.path(), &Arc::new(AtomicBool::new(true)));
    folder.sync_path(root.path().join("plugins/p.wasm"));
    loaded(&mut folder).await;
    assert!(folder.known.try_next().is_none());
    assert_eq!(names(&catalog), [""; 0]);
}

#[tokio::test]
async fn compiled_code_is_loaded_and_not_announced() {
    let root = loaded_before().await;
    let (mut folder, catalog, _events) = following(root.path(), &Arc::default());
    folder.sync_path(root.path().join("plugins/p.wasm"));
    loaded(&mut folder).await;
    assert!(folder.known.try_next().is_none());
    assert_eq!(names(&catalog), ["p_same"]);
}
