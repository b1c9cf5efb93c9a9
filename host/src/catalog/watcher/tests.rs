use std::fs;
use std::path::Path;

use notify::event::{CreateKind, DataChange, EventAttributes, Flag, RemoveKind};

use super::*;

fn watching(root: &Path) -> Watcher {
    let mut watcher = Watcher::new(root.to_owned()).expect("files can be watched");
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
    for kind in [
        EventKind::Access(AccessKind::Close(AccessMode::Write)),
        EventKind::Modify(ModifyKind::Name(RenameMode::To)),
        EventKind::Modify(ModifyKind::Name(RenameMode::From)),
        EventKind::Remove(RemoveKind::File),
    ] {
        assert_eq!(watcher.translate(event(kind, &plugin)), Some(Signal::Look(plugin.clone())), "{kind:?}");
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

#[test]
fn a_file_whose_writer_cannot_be_heard_is_ready_when_it_rests() {
    let root = tempfile::tempdir().expect("a folder");
    let plugin = root.path().join("x.wasm");
    fs::write(&plugin, b"one").expect("the folder can be written");
    let mut watcher = watching(root.path());
    watcher.settling.insert(plugin.clone(), None);
    assert_eq!(watcher.settled(), None, "one look tells nothing");
    fs::write(&plugin, b"one and two").expect("the folder can be written");
    assert_eq!(watcher.settled(), None, "it has grown");
    assert_eq!(watcher.settled(), Some(plugin));
    assert_eq!(watcher.settled(), None, "once is enough");
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
    assert!(watcher.watched.is_empty(), "a folder that comes back must be watched anew");
}
