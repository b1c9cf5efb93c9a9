use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::sync::watch;

use super::super::known::tests::{listing, with_listing};
use super::super::tests::{following, put, refusals};
use super::super::{File, Folder, LoadState};
use super::{COMPILING, GROWTH, LISTING, first_slice};
use crate::catalog::FolderEvent;
use crate::pins::Guard;
use crate::plugin::{Call, Digest, Grants, Limits, PendingPlugin, PluginId, Provider as _, Surface};

/// A component that takes seconds to compile, and is no plugin: every local is live across every loop. `number` makes it
/// unique.
fn put_slow(root: &Path, number: usize) {
    let (mut loops, locals) = (String::new(), 500);
    for n in 0..800 {
        let (from, to) = (n % locals, (n * 7 + 1) % locals);
        let _ = write!(
            loops,
            "(loop (local.set {to} (i32.add (local.get {to}) (local.get {from}))) (br_if 0 (local.get {to})))"
        );
    }
    let live: String = (0..locals).map(|n| format!("(i32.store (i32.const {}) (local.get {n}))", n * 4)).collect();
    let module = format!(
        "(component (core module (memory 1) (global i64 (i64.const {number})) (func (local {}) {loops} {live})))",
        "i32 ".repeat(locals)
    );
    fs::write(root.join(format!("a{number}.wasm")), wat::parse_str(module).expect("valid text")).expect("a file");
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_take_long_to_compile_give_way_to_others() {
    let root = tempfile::tempdir().expect("a folder");
    put_all_slow(root.path(), 5);
    put(root.path(), "z");
    let (folder, _, mut events) = following(root.path(), Guard::permissive());
    let (_settings, changed) = watch::channel(());
    let following = tokio::spawn(folder.follow(changed));
    let (mut refused, mut loaded) = (0, 0);
    while loaded + refused < 6 {
        match events.recv().await.expect("an event") {
            FolderEvent::Loaded { id, .. } => {
                assert_eq!(id.as_ref(), "z");
                // Three would have ended if the last file had to wait for a place.
                assert!(refused < 3, "{refused}");
                loaded += 1;
            }
            FolderEvent::Refused(_) => refused += 1,
            _ => {}
        }
    }
    assert_eq!((loaded, refused), (1, 5), "the slow ones are compiled to their end");
    following.abort();
}

fn put_all_slow(root: &Path, count: usize) {
    for number in 0..count {
        put_slow(root, number);
    }
}

/// Waits until as many files as possible are being compiled.
async fn until_three_compile(folder: &mut Folder) {
    while folder.loading.values().filter(|load| load.stage.compiles()).count() < 3 {
        let looked_at = folder.loads.join_next_with_id().await.expect("a load");
        folder.finish_loads(looked_at);
    }
}

/// Two that are listed while they are compiled, and one that is not.
#[tokio::test]
async fn a_removed_file_is_not_compiled_to_its_end() {
    let root = tempfile::tempdir().expect("a folder");
    put_all_slow(root.path(), 3);
    for number in 0..2 {
        let path = root.path().join(format!("a{number}.wasm"));
        let component = fs::read(&path).expect("a file");
        fs::write(&path, with_listing(component, &listing("early"))).expect("a file");
    }
    let (mut folder, catalog, mut events) = following(root.path(), Guard::permissive());
    folder.apply_scan(crate::catalog::files::scan(root.path()).expect("a folder"));
    until_three_compile(&mut folder).await;
    assert_eq!(catalog.snapshot().members().len(), 2);
    for number in 0..3 {
        let path = root.path().join(format!("a{number}.wasm"));
        fs::remove_file(&path).expect("a file");
        folder.mark_gone(&path);
    }
    let end = folder.next_grace_end().expect("a grace period");
    // The last one's ends a little later.
    folder.end_grace_periods(end + COMPILING.1, |_| false);
    assert!(catalog.snapshot().members().is_empty());
    while let Some(ended) = folder.loads.join_next_with_id().await {
        assert!(ended.as_ref().is_err_and(|error| error.is_cancelled()));
        folder.finish_loads(ended);
    }
    assert!(folder.loading.is_empty() && folder.files.is_empty());
    assert_eq!(refusals(&mut events), [""; 0]);
}

/// A scan of the folder finds every file again.
#[tokio::test]
async fn a_file_that_did_not_change_keeps_its_compilation() {
    let root = tempfile::tempdir().expect("a folder");
    put_slow(root.path(), 0);
    let (mut folder, _, _events) = following(root.path(), Guard::permissive());
    let path = root.path().join("a0.wasm");
    folder.sync_path(path.clone());
    let looked_at = folder.loads.join_next_with_id().await.expect("a load");
    folder.finish_loads(looked_at);
    folder.sync_path(path.clone());
    assert!(folder.next_slice_end().is_none(), "nothing waits");
    put_slow(root.path(), 1);
    fs::rename(root.path().join("a1.wasm"), &path).expect("replaced");
    folder.sync_path(path);
    let end = folder.next_slice_end().expect("its next version waits");
    folder.end_slices(end);
    let ended = folder.loads.join_next_with_id().await.expect("a load");
    assert!(ended.as_ref().is_err_and(|error| error.is_cancelled()));
    folder.finish_loads(ended);
    assert_eq!(folder.loading.len(), 1, "the next version is being looked at");
}

#[test]
fn first_time_slices_are_short_if_many_wait() {
    let compiling = (Duration::from_secs(2), Duration::from_secs(5));
    for (waiting, expected) in [(0, 5), (2, 5), (5, 2), (4096, 2)] {
        assert_eq!(first_slice(compiling, waiting), Duration::from_secs(expected), "{waiting}");
    }
    // A listing that hangs ends by itself after 2 s.
    for (waiting, expected) in [(1, 2000), (10, 1000), (40, 250), (4096, 250)] {
        assert_eq!(first_slice(LISTING, waiting), Duration::from_millis(expected), "{waiting}");
    }
}

#[test]
fn used_time_slices_count_before_pins_and_pins_before_size() {
    let file = |slices, is_known, size| {
        let new = File::new(PluginId::parse("p").expect("an id"), 1);
        File { slices, is_known, size, ..new }.order()
    };
    let mut order = [file(1, true, 10), file(0, false, 24 << 20), file(0, false, 10), file(0, true, 24 << 20)];
    order.sort();
    assert_eq!(order, [file(0, true, 24 << 20), file(0, false, 10), file(0, false, 24 << 20), file(1, true, 10)]);
    assert_eq!(file(0, false, 200 << 10), file(0, false, 900 << 10), "in path order");
}

/// Files that are replaced again and again, in path order before the others, must not keep those from loading.
#[tokio::test]
async fn a_file_that_waits_keeps_its_place_and_one_that_was_replaced_has_a_new_one() {
    let root = tempfile::tempdir().expect("a folder");
    put_all_slow(root.path(), 8);
    let (mut folder, _, _events) = following(root.path(), Guard::permissive());
    folder.apply_scan(crate::catalog::files::scan(root.path()).expect("a folder"));
    let last = folder.files.keys().last().expect("a file").clone();
    let arrival = folder.files[&last].arrival;
    assert!(arrival.is_some());
    let first = folder.files.keys().next().expect("a file").clone();
    assert!(folder.files[&first].state == LoadState::Loading);
    folder.files.get_mut(&first).expect("a file").arrival = None;
    folder.files.get_mut(&first).expect("a file").state = LoadState::Queued;
    folder.start_loads();
    assert_eq!(folder.files[&last].arrival, arrival);
    assert!(folder.files[&last].order() < folder.files[&first].order());
}

#[tokio::test]
async fn a_plugin_whose_calls_wait_starts_before_others() {
    let id = || PluginId::parse("p").expect("an id");
    let limit = Duration::from_secs(30);
    let (plugin, compiled) = PendingPlugin::new(
        id(),
        Digest::of(b""),
        Surface::default(),
        Limits { timeout: limit, ..Limits::default() },
        Grants::default(),
    );
    let (called, other) = (File { compiling: Some(compiled), ..File::new(id(), 1) }, File::new(id(), 2));
    assert_eq!(called.order(), other.order());
    let mut call = plugin.call_tool("x", "{}".into(), Call::new("1"));
    assert!((&mut call).now_or_never().is_none());
    assert!(called.order() < other.order());
    drop(call);
    assert_eq!(called.order(), other.order());
}

/// What a slow file has used up is as good as several time slices; one that it could not give way to does not stop it.
#[tokio::test]
async fn a_load_is_stopped_for_a_file_with_no_more_time_slices_than_it_had() {
    let root = tempfile::tempdir().expect("a folder");
    put_all_slow(root.path(), 5);
    let (mut folder, _, _events) = following(root.path(), Guard::permissive());
    folder.apply_scan(crate::catalog::files::scan(root.path()).expect("a folder"));
    until_three_compile(&mut folder).await;
    let began = folder.loading.values().map(|load| load.started).max().expect("a load");
    assert!(folder.next_slice_end().is_some_and(|end| end <= began + COMPILING.1));
    folder.end_slices(began + COMPILING.1);
    let stopped = |folder: &Folder| folder.loading.values().filter(|load| load.is_stopped).count();
    assert_eq!(stopped(&folder), 2, "as many as wait");
    folder.end_slices(began + COMPILING.1);
    assert_eq!(stopped(&folder), 2, "once");
    while stopped(&folder) > 0 {
        let ended = folder.loads.join_next_with_id().await.expect("a load");
        folder.finish_loads(ended);
    }
    let mut slices: Vec<u32> = folder.files.values().map(|file| file.slices).collect();
    slices.sort_unstable();
    assert_eq!(slices, [0, 0, 0, 1, 1], "the others compile; these wait");
    let began = folder.loading.values().map(|load| load.started).max().expect("a load");
    let end = folder.next_slice_end().expect("they wait for their second time slice");
    assert!(end > began, "which is longer than the first one");
    let first = folder.loading.values().map(|load| load.started).min().expect("a load");
    assert_eq!(end, first + GROWTH * COMPILING.1);
}
