use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::sync::mpsc;

use crate::catalog::folder::tests::{loaded, put};
use crate::catalog::folder::time_slices::PARALLEL_LOADS;
use crate::catalog::{Catalog, Folder, FolderEvent, FolderWarning, PluginSettings};
use crate::pins::{Guard, PinFile, Reason, Rules, Trust};
use crate::plugin::{Call, Fault, Grants, Limits, ListingWarning, PluginId, Sandbox, SandboxSettings, Signatures};

const EVER: Duration = Duration::from_secs(3600);

type Events = mpsc::UnboundedReceiver<FolderEvent>;

/// A folder with a cache in it, whose trust is strict from when `strict` is set.
fn following(root: &Path, strict: &Arc<AtomicBool>) -> (Folder, Arc<Catalog>, Events) {
    following_with(root, strict, &Arc::default())
}

/// The same; its plugins are granted questions from when `granted` is set.
fn following_with(root: &Path, strict: &Arc<AtomicBool>, granted: &Arc<AtomicBool>) -> (Folder, Arc<Catalog>, Events) {
    let (sender, events) = mpsc::unbounded_channel();
    let catalog = Arc::new(Catalog::default());
    let cache_dir = Some(root.join("cache"));
    let sandbox = Sandbox::new(SandboxSettings { cache_dir, ..SandboxSettings::default() }).expect("a sandbox");
    let granted = granted.clone();
    let settings = move |_: &PluginId| PluginSettings {
        limits: Limits::default(),
        grants: Grants { elicit: granted.load(Ordering::Relaxed), ..Grants::default() },
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

/// Looks at the plugin's file, without compiling it; serves what is known of it.
async fn look(root: &Path, folder: &mut Folder) {
    folder.sync_path(root.join("plugins/p.wasm"));
    let looked = folder.loads.join_next_with_id().await.expect("a load");
    folder.finish_loads(looked);
}

#[tokio::test]
async fn an_earlier_listing_serves_until_the_code_is_compiled() {
    let root = loaded_before().await;
    remove_code(root.path());
    let (mut folder, catalog, mut events) = following(root.path(), &Arc::default());
    look(root.path(), &mut folder).await;
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
    look(root.path(), &mut folder).await;
    let provider = catalog.snapshot().tools.get("p_same").expect("a tool").provider.clone();
    let mut call = provider.call_tool("same", r#"{"x":7}"#.into(), Call::new("1"));
    assert!((&mut call).now_or_never().is_none());
    strict.store(true, Ordering::Relaxed);
    loaded(&mut folder).await;
    assert_eq!(names(&catalog), [""; 0]);
    assert_eq!(call.await, Err(Fault::NotLoaded.into()));
}

/// Whether or not the revocation is noticed before the code is there.
#[tokio::test]
async fn a_version_that_is_revoked_while_it_is_compiled_does_not_come_into_service() {
    for noticed in [true, false] {
        let root = embedded(&listing("early"));
        let (folder, catalog, mut events) = following(root.path(), &Arc::default());
        let pins = PinFile::new(root.path().join("state"));
        let guarding = PinFile::new(root.path().join("state"));
        let rules = |_: &PluginId| Rules::default();
        let mut folder = folder.with_guard(Guard::new(Some(guarding), rules, Signatures::default));
        look(root.path(), &mut folder).await;
        let provider = catalog.snapshot().tools.get("p_early").expect("a tool").provider.clone();
        let mut call = provider.call_tool("early", "{}".into(), Call::new("1"));
        assert!((&mut call).now_or_never().is_none());
        let (id, content) = (provider.id().clone(), *provider.digest());
        pins.update(|pins| pins.revoke(&id, content)).expect("it is written");
        if noticed {
            folder.decision_epoch += 1;
            folder.apply_decisions();
            assert_eq!(names(&catalog), [""; 0]);
        }
        loaded(&mut folder).await;
        assert_eq!(names(&catalog), [""; 0], "noticed: {noticed}");
        assert_eq!(call.await, Err(Fault::NotLoaded.into()));
        let is_revoked = |event: &FolderEvent| matches!(event, FolderEvent::Held(held) if held.decision.outcome == Err(Reason::Revoked));
        let mut held = 0;
        while let Ok(event) = events.try_recv() {
            assert!(!matches!(event, FolderEvent::Loaded { .. }));
            held += u32::from(is_revoked(&event));
        }
        assert_eq!(held, 1);
    }
}

#[tokio::test]
async fn a_version_that_is_held_is_not_listed() {
    let before = loaded_before().await;
    remove_code(before.path());
    for (root, known) in [(before, "an earlier listing"), (embedded(&listing("early")), "a listing in the file")] {
        let (mut folder, catalog, _events) = following(root.path(), &Arc::new(AtomicBool::new(true)));
        look(root.path(), &mut folder).await;
        assert_eq!(names(&catalog), [""; 0], "{known}");
        loaded(&mut folder).await;
        assert_eq!(names(&catalog), [""; 0], "{known}");
    }
}

#[tokio::test]
async fn compiled_code_is_loaded_and_not_announced() {
    let root = loaded_before().await;
    let (mut folder, catalog, _events) = following(root.path(), &Arc::default());
    look(root.path(), &mut folder).await;
    assert!(folder.loads.is_empty(), "it was loaded at once");
    loaded(&mut folder).await;
    assert_eq!(names(&catalog), ["p_same"]);
}

/// A component with a custom section of less than 16 kB.
pub(in crate::catalog::folder) fn with_listing(mut component: Vec<u8>, listing: &str) -> Vec<u8> {
    let name = "wharf:listing";
    let size = 1 + name.len() + listing.len();
    component.extend([0, (size % 128) as u8 | 0x80, (size / 128) as u8, name.len() as u8]);
    component.extend(name.bytes().chain(listing.bytes()));
    component
}

/// A folder with a plugin that was not loaded before, and has this listing in its file.
fn embedded(listing: &str) -> tempfile::TempDir {
    let root = tempfile::tempdir().expect("a folder");
    let plugins = root.path().join("plugins");
    fs::create_dir(&plugins).expect("a folder");
    put(&plugins, "p");
    let component = fs::read(plugins.join("p.wasm")).expect("a plugin");
    fs::write(plugins.join("p.wasm"), with_listing(component, listing)).expect("written");
    root
}

/// A listing with one tool.
pub(in crate::catalog::folder) fn listing(tool: &str) -> String {
    let tool = format!(r#"{{"name":"{tool}","inputSchema":{{"type":"object"}},"taskSupport":"forbidden"}}"#);
    format!(r#"{{"tools":[{tool}],"templates":[],"completions":false,"experimental":[],"extensions":[],"methods":[]}}"#)
}

#[tokio::test]
async fn a_listing_in_the_file_serves_until_the_code_is_compiled() {
    let root = embedded(&listing("early"));
    let (mut folder, catalog, mut events) = following(root.path(), &Arc::default());
    look(root.path(), &mut folder).await;
    assert_eq!(names(&catalog), ["p_early"]);
    loaded(&mut folder).await;
    assert_eq!(names(&catalog), ["p_same"], "what it lists itself is served");
    let mut warned = false;
    while let Ok(event) = events.try_recv() {
        warned |= matches!(event, FolderEvent::Warned(FolderWarning::Listing(_, ListingWarning::Untrue)));
    }
    assert!(warned, "an untrue listing is reported");
    // What the load has listed is stored, and counts more than what the file says.
    remove_code(root.path());
    let (mut folder, catalog, _events) = following(root.path(), &Arc::default());
    look(root.path(), &mut folder).await;
    assert_eq!(names(&catalog), ["p_same"]);
}

#[tokio::test]
async fn a_listing_in_the_file_is_checked_as_one_of_the_plugin() {
    let invalid = listing("early").replace("forbidden", "sometimes");
    let large = listing("early").replace("early", &"e".repeat(15_000));
    for (text, reason) in [(String::new(), "empty"), (invalid, "invalid"), (large, "a name that is too long")] {
        let root = embedded(&text);
        let (mut folder, catalog, _events) = following(root.path(), &Arc::default());
        look(root.path(), &mut folder).await;
        assert_eq!(names(&catalog), [""; 0], "{reason}");
        loaded(&mut folder).await;
        assert_eq!(names(&catalog), ["p_same"], "{reason}");
    }
}

/// Otherwise the first files would be compiled before the last ones are listed.
#[tokio::test]
async fn all_files_are_looked_at_before_one_is_compiled() {
    let root = tempfile::tempdir().expect("a folder");
    let plugins = root.path().join("plugins");
    fs::create_dir(&plugins).expect("a folder");
    put(&plugins, "p");
    let component = with_listing(fs::read(plugins.join("p.wasm")).expect("a plugin"), &listing("early"));
    for number in 0..3 * PARALLEL_LOADS {
        fs::write(plugins.join(format!("p{number}.wasm")), &component).expect("written");
    }
    fs::remove_file(plugins.join("p.wasm")).expect("removed");
    let (mut folder, catalog, _events) = following(root.path(), &Arc::default());
    let scan = crate::catalog::files::scan(&plugins).expect("a folder");
    folder.apply_scan(scan);
    while folder.files.values().any(|file| !file.serving) {
        let looked = folder.loads.join_next_with_id().await.expect("a load");
        folder.finish_loads(looked);
    }
    assert!(names(&catalog).iter().all(|name| name.ends_with("_early")), "{:?}", names(&catalog));
    loaded(&mut folder).await;
    assert!(names(&catalog).iter().all(|name| name.ends_with("_same")), "{:?}", names(&catalog));
    assert_eq!(names(&catalog).len(), 3 * PARALLEL_LOADS);
}

#[tokio::test]
async fn a_file_is_looked_at_again_if_decisions_changed_meanwhile() {
    let root = embedded(&listing("early"));
    let (mut folder, catalog, _events) = following(root.path(), &Arc::default());
    folder.sync_path(root.path().join("plugins/p.wasm"));
    folder.decision_epoch += 1;
    let looked = folder.loads.join_next_with_id().await.expect("a load");
    folder.finish_loads(looked);
    assert_eq!(names(&catalog), [""; 0]);
    let looked = folder.loads.join_next_with_id().await.expect("a load");
    folder.finish_loads(looked);
    assert_eq!(names(&catalog), ["p_early"]);
}

/// With grants it may have to be pinned first. Calls that wait are not lost.
#[tokio::test]
async fn other_grants_end_what_is_served_early() {
    let root = embedded(&listing("early"));
    let granted = Arc::new(AtomicBool::new(false));
    let (mut folder, catalog, _events) = following_with(root.path(), &Arc::default(), &granted);
    look(root.path(), &mut folder).await;
    let provider = catalog.snapshot().tools.get("p_early").expect("a tool").provider.clone();
    let mut call = provider.call_tool("same", r#"{"x":7}"#.into(), Call::new("1"));
    assert!((&mut call).now_or_never().is_none());
    granted.store(true, Ordering::Relaxed);
    folder.reconfigure();
    assert_eq!(names(&catalog), [""; 0]);
    loaded(&mut folder).await;
    assert_eq!(names(&catalog), ["p_same"]);
    let called = call.await;
    assert!(format!("{called:?}").contains('7'), "{called:?}");
}
