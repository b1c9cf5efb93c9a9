use std::fs;
use std::path::Path;

use notify::event::{CreateKind, DataChange, EventAttributes, Flag, MetadataKind, RemoveKind};

use super::*;

fn watching(root: &Path) -> Watcher {
    let mut watcher = Watcher::new(root.to_owned());
    watcher.watch(&[root.to_owned()]);
    watcher
}

fn event(kind: EventKind, path: &Path) -> Event {
    Event { kind, paths: vec![path.to_owned()], attrs: EventAttributes::new() }
}

#[test]
fn lost_events_cause_a_rescan() {
    let root = tempfile::tempdir().expect("a folder");
    let mut overflow = event(EventKind::Other, root.path());
    overflow.attrs.set_flag(Flag::Rescan);
    assert_eq!(watching(root.path()).translate(overflow), Some(Signal::Rescan));
}

#[test]
fn created_and_removed_files_are_reported() {
    let root = tempfile::tempdir().expect("a folder");
    let plugin = root.path().join("x.wasm");
    let mut watcher = watching(root.path());
    for kind in
        [EventKind::Access(AccessKind::Close(AccessMode::Write)), EventKind::Modify(ModifyKind::Name(RenameMode::To))]
    {
        assert_eq!(watcher.translate(event(kind, &plugin)), Some(Signal::Changed(plugin.clone())), "{kind:?}");
    }
    // A new file of that name is reported when it is complete.
    let signature = root.path().join("x.wasm.minisig");
    for kind in [EventKind::Modify(ModifyKind::Name(RenameMode::From)), EventKind::Remove(RemoveKind::File)] {
        assert_eq!(watcher.translate(event(kind, &plugin)), Some(Signal::Gone(plugin.clone())), "{kind:?}");
        assert_eq!(watcher.translate(event(kind, &signature)), Some(Signal::Changed(plugin.clone())), "{kind:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_is_not_reported_while_it_is_written() {
    let root = tempfile::tempdir().expect("a folder");
    let plugin = root.path().join("x.wasm");
    fs::write(&plugin, b"half").expect("the folder can be written");
    let mut watcher = watching(root.path());
    for kind in [EventKind::Create(CreateKind::File), EventKind::Modify(ModifyKind::Data(DataChange::Any))] {
        assert_eq!(watcher.translate(event(kind, &plugin)), None, "{kind:?}");
    }
    // A hard link to an existing file: no close will follow.
    let linked = root.path().join("y.wasm");
    fs::hard_link(&plugin, &linked).expect("files can be linked");
    let created = event(EventKind::Create(CreateKind::File), &linked);
    assert_eq!(watcher.translate(created), Some(Signal::Changed(linked)));
}

#[test]
fn without_close_events_a_file_has_to_settle() {
    let root = tempfile::tempdir().expect("a folder");
    let plugin = root.path().join("x.wasm");
    let mut watcher = Watcher { reports_close: false, ..watching(root.path()) };
    for kind in [EventKind::Create(CreateKind::Any), EventKind::Modify(ModifyKind::Any)] {
        watcher.settling.clear();
        assert_eq!(watcher.translate(event(kind, &plugin)), None, "{kind:?}");
        assert!(watcher.settling.contains_key(&plugin), "{kind:?}");
    }
}

/// A file is written more often than [`SETTLE`], and `next` is cancelled and called again each time.
#[tokio::test]
async fn a_busy_folder_does_not_delay_other_files() {
    let root = tempfile::tempdir().expect("a folder");
    let plugin = root.path().join("x.wasm");
    let mut watcher = Watcher { reports_close: false, ..watching(root.path()) };
    fs::write(&plugin, b"whole").expect("the folder can be written");
    let busy = root.path().join("busy.wasm");
    let deadline = Instant::now() + Duration::from_secs(10);
    let mut reported = Vec::new();
    while !reported.contains(&plugin) {
        assert!(Instant::now() < deadline, "only {reported:?}");
        fs::write(&busy, format!("{:?}", Instant::now())).expect("the folder can be written");
        if let Ok(Signal::Changed(path)) = tokio::time::timeout(SETTLE / 15, watcher.next()).await {
            reported.push(path);
        }
    }
}

/// As on macOS.
#[test]
fn events_with_canonical_paths_are_mapped_to_the_given_path() {
    let above = tempfile::tempdir().expect("a folder");
    let real = above.path().canonicalize().expect("it is there").join("real");
    fs::create_dir_all(real.join("inner")).expect("folders");
    let root = above.path().join("plugins");
    std::os::unix::fs::symlink("real", &root).expect("a link");
    let mut watcher = Watcher { reports_close: false, ..watching(&root) };
    watcher.watch(&[root.clone(), root.join("inner")]);
    for file in ["x.wasm", "inner/y.wasm"] {
        assert_eq!(watcher.translate(event(EventKind::Modify(ModifyKind::Any), &real.join(file))), None);
        assert!(watcher.settling.contains_key(&root.join(file)), "{file}: {:?}", watcher.settling);
    }
    assert_eq!(watcher.translate(event(EventKind::Remove(RemoveKind::Any), &real.join("inner"))), Some(Signal::Rescan));
}

#[test]
fn a_settling_file_is_ready_when_its_stamp_is_stable() {
    let root = tempfile::tempdir().expect("a folder");
    let plugin = root.path().join("x.wasm");
    fs::write(&plugin, b"one").expect("the folder can be written");
    let mut watcher = watching(root.path());
    watcher.settle(plugin.clone());
    let mut ready = || {
        watcher.check_settling();
        watcher.ready.pop_front()
    };
    assert_eq!(ready(), None, "one stamp is not enough");
    fs::write(&plugin, b"one and two").expect("the folder can be written");
    assert_eq!(ready(), None, "it has grown");
    assert_eq!(ready(), Some(plugin));
    assert_eq!(ready(), None, "it is reported once");
}

#[test]
fn created_and_removed_folders_cause_a_rescan() {
    let root = tempfile::tempdir().expect("a folder");
    let inner = root.path().join("inner");
    fs::create_dir(&inner).expect("a subfolder");
    let mut watcher = watching(root.path());
    let created = event(EventKind::Create(CreateKind::Folder), &inner);
    assert_eq!(watcher.translate(created), Some(Signal::Rescan));
    let deeper = event(EventKind::Create(CreateKind::Folder), &inner.join("deeper"));
    assert_eq!(watcher.translate(deeper), None);
    let other = event(EventKind::Access(AccessKind::Close(AccessMode::Write)), &root.path().join("notes.txt"));
    assert_eq!(watcher.translate(other), None);
    let gone = event(EventKind::Remove(RemoveKind::Folder), root.path());
    assert_eq!(watcher.translate(gone), Some(Signal::Rescan));
    assert!(watcher.folders.is_empty(), "a folder that is created again must be watched again");
}

/// As Node's `copyFile` does: it creates the file, changes its mode, then writes it.
#[cfg(target_os = "linux")]
#[test]
fn a_file_whose_mode_changes_before_it_is_written_is_reported_on_close() {
    let root = tempfile::tempdir().expect("a folder");
    let plugin = root.path().join("x.wasm");
    fs::write(&plugin, b"").expect("the folder can be written");
    let mut watcher = watching(root.path());
    let readable = EventKind::Modify(ModifyKind::Metadata(MetadataKind::Any));
    for kind in [EventKind::Create(CreateKind::File), EventKind::Access(AccessKind::Open(AccessMode::Any)), readable] {
        assert_eq!(watcher.translate(event(kind, &plugin)), None, "{kind:?}");
    }
    watcher.check_settling();
    watcher.check_settling();
    assert!(watcher.ready.is_empty() && watcher.is_being_written(&plugin));
    let closed = event(EventKind::Access(AccessKind::Close(AccessMode::Write)), &plugin);
    assert_eq!(watcher.translate(closed), Some(Signal::Changed(plugin.clone())));
    assert_eq!(watcher.translate(event(readable, &plugin)), Some(Signal::Changed(plugin)));
}

/// As after `ln` and `rm` of the other name: no open and no close will follow.
#[test]
fn a_link_whose_other_name_was_removed_is_reported() {
    let root = tempfile::tempdir().expect("a folder");
    let plugin = root.path().join("x.wasm");
    fs::write(&plugin, b"whole").expect("the folder can be written");
    let mut watcher = watching(root.path());
    assert_eq!(watcher.translate(event(EventKind::Create(CreateKind::File), &plugin)), None);
    watcher.check_settling();
    watcher.check_settling();
    assert_eq!(watcher.ready.pop_front(), Some(plugin));
}

/// A symbolic link with a new target, or a parent folder that is replaced.
#[test]
fn a_replaced_folder_is_detected() {
    let above = tempfile::tempdir().expect("a folder");
    let root = above.path().join("plugins");
    for version in ["one", "two"] {
        fs::create_dir_all(above.path().join(version).join("inner")).expect("folders");
    }
    std::os::unix::fs::symlink("one", &root).expect("a link");
    let mut watcher = Watcher::new(root.clone());
    let folders = [root.clone(), root.join("inner")];
    watcher.watch(&folders);
    assert!(!watcher.check_folders(), "nothing has changed");
    std::os::unix::fs::symlink("two", above.path().join("next")).expect("a link");
    fs::rename(above.path().join("next"), &root).expect("a rename over the link");
    assert!(watcher.check_folders());
    assert!(watcher.folders.is_empty(), "both were replaced");
    watcher.watch(&folders);
    assert!(!watcher.check_folders());
    fs::remove_file(&root).expect("the link goes");
    assert!(watcher.check_folders());
    assert!(!watcher.check_folders(), "a removal is reported once");
    std::os::unix::fs::symlink("one", &root).expect("a link");
    assert!(watcher.check_folders(), "it was created again");
}

#[test]
fn folders_that_cannot_be_watched_are_polled() {
    let root = tempfile::tempdir().expect("a folder");
    let plugin = root.path().join("x.wasm");
    let mut watcher = Watcher::new(root.path().to_owned());
    watcher.notify = None;
    watcher.watch(&[root.path().to_owned()]);
    let poll = |watcher: &mut Watcher| {
        let rescan = watcher.check_folders();
        watcher.check_settling();
        watcher.check_settling();
        (rescan, watcher.ready.drain(..).collect::<Vec<_>>())
    };
    assert_eq!(poll(&mut watcher), (false, vec![]));
    fs::write(&plugin, b"one").expect("a file");
    assert_eq!(poll(&mut watcher), (false, vec![plugin.clone()]));
    fs::write(&plugin, b"another").expect("a file");
    assert_eq!(poll(&mut watcher), (false, vec![plugin.clone()]));
    fs::write(root.path().join("x.wasm.minisig"), b"a signature").expect("a file");
    assert_eq!(poll(&mut watcher), (false, vec![plugin.clone()]));
    fs::remove_file(&plugin).expect("it goes");
    assert_eq!(poll(&mut watcher), (false, vec![plugin]));
    assert_eq!(poll(&mut watcher), (false, vec![]));
    fs::create_dir(root.path().join("inner")).expect("a subfolder");
    assert_eq!(poll(&mut watcher), (true, vec![]));
}

#[tokio::test]
async fn what_is_written_below_the_skills_is_reported_and_what_is_read_is_not() {
    let root = tempfile::tempdir().expect("a folder");
    let skill = root.path().join("skills/demo");
    fs::create_dir_all(&skill).expect("a folder");
    let mut watcher = watching(root.path());
    assert!(watcher.watch_skills(std::slice::from_ref(&skill)) && watcher.folders.contains_key(&skill));
    assert!(!watcher.watch_skills(std::slice::from_ref(&skill)), "it is watched already");
    let file = skill.join("SKILL.md");
    for (kind, wanted) in [
        (EventKind::Access(AccessKind::Open(AccessMode::Any)), false),
        (EventKind::Access(AccessKind::Close(AccessMode::Read)), false),
        (EventKind::Access(AccessKind::Close(AccessMode::Write)), true),
        (EventKind::Create(CreateKind::File), true),
        (EventKind::Remove(RemoveKind::File), true),
    ] {
        watcher.skills_changed = false;
        assert_eq!(watcher.translate(event(kind, &file)), None, "{kind:?}");
        assert_eq!(watcher.skills_changed, wanted, "{kind:?}");
    }
    // The next scan of plugins does not end that.
    watcher.watch(&[root.path().to_owned()]);
    assert!(watcher.folders.contains_key(&skill));
    watcher.skills_changed = true;
    assert_eq!(watcher.next().await, Signal::Skills);
    // Without watch handles, each poll is a change.
    let mut polling = Watcher { notify: None, ..watching(root.path()) };
    polling.watch_skills(&[skill]);
    polling.check_folders();
    assert!(polling.skills_changed);
}
