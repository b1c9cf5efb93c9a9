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
fn what_was_missed_is_looked_for_everywhere() {
    let root = tempfile::tempdir().expect("a folder");
    let mut overflow = event(EventKind::Other, root.path());
    overflow.attrs.set_flag(Flag::Rescan);
    assert_eq!(watching(root.path()).translate(overflow), Some(Signal::Rescan));
}

#[test]
fn a_file_that_came_or_went_is_looked_at() {
    let root = tempfile::tempdir().expect("a folder");
    let plugin = root.path().join("x.wasm");
    let mut watcher = watching(root.path());
    for kind in
        [EventKind::Access(AccessKind::Close(AccessMode::Write)), EventKind::Modify(ModifyKind::Name(RenameMode::To))]
    {
        assert_eq!(watcher.translate(event(kind, &plugin)), Some(Signal::Look(plugin.clone())), "{kind:?}");
    }
    // Another one may have its name by now, and is told of when it is whole.
    let signature = root.path().join("x.wasm.minisig");
    for kind in [EventKind::Modify(ModifyKind::Name(RenameMode::From)), EventKind::Remove(RemoveKind::File)] {
        assert_eq!(watcher.translate(event(kind, &plugin)), Some(Signal::Gone(plugin.clone())), "{kind:?}");
        assert_eq!(watcher.translate(event(kind, &signature)), Some(Signal::Look(plugin.clone())), "{kind:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_is_not_looked_at_while_somebody_writes_it() {
    let root = tempfile::tempdir().expect("a folder");
    let plugin = root.path().join("x.wasm");
    fs::write(&plugin, b"half").expect("the folder can be written");
    let mut watcher = watching(root.path());
    for kind in [EventKind::Create(CreateKind::File), EventKind::Modify(ModifyKind::Data(DataChange::Any))] {
        assert_eq!(watcher.translate(event(kind, &plugin)), None, "{kind:?}");
    }
    // A second name for a file that is there: nobody will close it.
    let linked = root.path().join("y.wasm");
    fs::hard_link(&plugin, &linked).expect("files can be linked");
    let created = event(EventKind::Create(CreateKind::File), &linked);
    assert_eq!(watcher.translate(created), Some(Signal::Look(linked)));
}

#[test]
fn without_word_of_writers_a_file_has_to_rest() {
    let root = tempfile::tempdir().expect("a folder");
    let plugin = root.path().join("x.wasm");
    let mut watcher = Watcher { hears_close: false, ..watching(root.path()) };
    for kind in [EventKind::Create(CreateKind::Any), EventKind::Modify(ModifyKind::Any)] {
        watcher.settling.clear();
        assert_eq!(watcher.translate(event(kind, &plugin)), None, "{kind:?}");
        assert!(watcher.settling.contains_key(&plugin), "{kind:?}");
    }
}

/// Each of these writes within the time that a file has to rest, and each look is begun anew, as a
/// folder does that has something else to do meanwhile.
#[tokio::test]
async fn a_folder_that_is_never_quiet_keeps_no_file_from_being_taken_up() {
    let root = tempfile::tempdir().expect("a folder");
    let plugin = root.path().join("x.wasm");
    let mut watcher = Watcher { hears_close: false, ..watching(root.path()) };
    fs::write(&plugin, b"whole").expect("the folder can be written");
    let busy = root.path().join("busy.wasm");
    let deadline = Instant::now() + Duration::from_secs(10);
    let mut taken_up = Vec::new();
    while !taken_up.contains(&plugin) {
        assert!(Instant::now() < deadline, "only {taken_up:?}");
        fs::write(&busy, format!("{:?}", Instant::now())).expect("the folder can be written");
        if let Ok(Signal::Look(path)) = tokio::time::timeout(SETTLE / 15, watcher.next()).await {
            taken_up.push(path);
        }
    }
}

/// As macOS does, whatever the folder was called when it was watched.
#[test]
fn what_is_told_under_the_path_without_links_is_known_by_the_path_that_was_given() {
    let above = tempfile::tempdir().expect("a folder");
    let real = above.path().canonicalize().expect("it is there").join("real");
    fs::create_dir_all(real.join("inner")).expect("folders");
    let root = above.path().join("plugins");
    std::os::unix::fs::symlink("real", &root).expect("a link");
    let mut watcher = Watcher { hears_close: false, ..watching(&root) };
    watcher.watch(&[root.clone(), root.join("inner")]);
    for file in ["x.wasm", "inner/y.wasm"] {
        assert_eq!(watcher.translate(event(EventKind::Modify(ModifyKind::Any), &real.join(file))), None);
        assert!(watcher.settling.contains_key(&root.join(file)), "{file}: {:?}", watcher.settling);
    }
    assert_eq!(watcher.translate(event(EventKind::Remove(RemoveKind::Any), &real.join("inner"))), Some(Signal::Rescan));
}

#[test]
fn a_file_whose_writer_cannot_be_heard_is_ready_when_it_rests() {
    let root = tempfile::tempdir().expect("a folder");
    let plugin = root.path().join("x.wasm");
    fs::write(&plugin, b"one").expect("the folder can be written");
    let mut watcher = watching(root.path());
    watcher.settle(plugin.clone());
    let mut ready = || {
        watcher.settled();
        watcher.ready.pop_front()
    };
    assert_eq!(ready(), None, "one look tells nothing");
    fs::write(&plugin, b"one and two").expect("the folder can be written");
    assert_eq!(ready(), None, "it has grown");
    assert_eq!(ready(), Some(plugin));
    assert_eq!(ready(), None, "once is enough");
}

#[test]
fn folders_that_come_and_go_are_scanned_for() {
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
    assert!(watcher.folders.is_empty(), "a folder that comes back must be watched anew");
}

/// As Node's `copyFile` does: it is made, made readable, and written after that.
#[cfg(target_os = "linux")]
#[test]
fn a_file_that_becomes_readable_before_it_is_written_is_looked_at_when_it_is_closed() {
    let root = tempfile::tempdir().expect("a folder");
    let plugin = root.path().join("x.wasm");
    fs::write(&plugin, b"").expect("the folder can be written");
    let mut watcher = watching(root.path());
    let readable = EventKind::Modify(ModifyKind::Metadata(MetadataKind::Any));
    for kind in [EventKind::Create(CreateKind::File), EventKind::Access(AccessKind::Open(AccessMode::Any)), readable] {
        assert_eq!(watcher.translate(event(kind, &plugin)), None, "{kind:?}");
    }
    watcher.settled();
    watcher.settled();
    assert!(watcher.ready.is_empty() && watcher.is_written(&plugin));
    let closed = event(EventKind::Access(AccessKind::Close(AccessMode::Write)), &plugin);
    assert_eq!(watcher.translate(closed), Some(Signal::Look(plugin.clone())));
    assert_eq!(watcher.translate(event(readable, &plugin)), Some(Signal::Look(plugin)));
}

/// As `ln` and `rm` of the other name do: nobody opens it, and nobody will close it.
#[test]
fn a_name_for_a_whole_file_is_looked_at_when_nobody_opens_it() {
    let root = tempfile::tempdir().expect("a folder");
    let plugin = root.path().join("x.wasm");
    fs::write(&plugin, b"whole").expect("the folder can be written");
    let mut watcher = watching(root.path());
    assert_eq!(watcher.translate(event(EventKind::Create(CreateKind::File), &plugin)), None);
    watcher.settled();
    watcher.settled();
    assert_eq!(watcher.ready.pop_front(), Some(plugin));
}

/// A link that is put elsewhere, or a folder above that is replaced.
#[test]
fn another_folder_in_the_place_of_the_watched_one_is_noticed() {
    let above = tempfile::tempdir().expect("a folder");
    let root = above.path().join("plugins");
    for version in ["one", "two"] {
        fs::create_dir_all(above.path().join(version).join("inner")).expect("folders");
    }
    std::os::unix::fs::symlink("one", &root).expect("a link");
    let mut watcher = Watcher::new(root.clone());
    let folders = [root.clone(), root.join("inner")];
    watcher.watch(&folders);
    assert!(!watcher.look_around(), "nothing has moved");
    std::os::unix::fs::symlink("two", above.path().join("next")).expect("a link");
    fs::rename(above.path().join("next"), &root).expect("a rename over the link");
    assert!(watcher.look_around());
    assert!(watcher.folders.is_empty(), "both are others now");
    watcher.watch(&folders);
    assert!(!watcher.look_around());
    fs::remove_file(&root).expect("the link goes");
    assert!(watcher.look_around());
    assert!(!watcher.look_around(), "what is gone is told once");
    std::os::unix::fs::symlink("one", &root).expect("a link");
    assert!(watcher.look_around(), "and it is back");
}

#[test]
fn what_the_system_cannot_watch_is_looked_at() {
    let root = tempfile::tempdir().expect("a folder");
    let plugin = root.path().join("x.wasm");
    let mut watcher = Watcher::new(root.path().to_owned());
    watcher.notify = None;
    watcher.watch(&[root.path().to_owned()]);
    let looked = |watcher: &mut Watcher| {
        let rescan = watcher.look_around();
        watcher.settled();
        watcher.settled();
        (rescan, watcher.ready.drain(..).collect::<Vec<_>>())
    };
    assert_eq!(looked(&mut watcher), (false, vec![]));
    fs::write(&plugin, b"one").expect("a file");
    assert_eq!(looked(&mut watcher), (false, vec![plugin.clone()]));
    fs::write(&plugin, b"another").expect("a file");
    assert_eq!(looked(&mut watcher), (false, vec![plugin.clone()]));
    fs::write(root.path().join("x.wasm.minisig"), b"a signature").expect("a file");
    assert_eq!(looked(&mut watcher), (false, vec![plugin.clone()]));
    fs::remove_file(&plugin).expect("it goes");
    assert_eq!(looked(&mut watcher), (false, vec![plugin]));
    assert_eq!(looked(&mut watcher), (false, vec![]));
    fs::create_dir(root.path().join("inner")).expect("a subfolder");
    assert_eq!(looked(&mut watcher), (true, vec![]));
}
