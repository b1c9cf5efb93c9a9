use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use super::*;
use crate::plugin::component::engine::{Allocation, engine};

fn open(dir: &Path) -> Cache {
    let engine = engine(EngineKind::Synchronous, Allocation::OnDemand).expect("an engine");
    Cache::open(dir.to_owned(), &engine)
}

fn entry(dir: &Path) -> PathBuf {
    let entries = fs::read_dir(dir).expect("a folder");
    let mut found = entries.map(|e| e.expect("an entry").path());
    found.find(|path| path.extension().is_some_and(|e| e == "cwasm")).expect("an entry")
}

#[test]
fn entries_are_reused_with_the_same_key() {
    let dir = tempfile::tempdir().expect("a folder");
    let dir = dir.path().join("cache");
    let digest = Digest::of(b"component");
    let cache = open(&dir);
    assert!(cache.get(digest, EngineKind::Synchronous).is_none());
    cache.put(digest, EngineKind::Synchronous, &Artifact::of_compiler(b"code".to_vec()));
    let kept = open(&dir).get(digest, EngineKind::Synchronous).expect("an entry");
    assert_eq!(kept.into_bytes().expect("readable"), b"code");
    let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
    assert_eq!(mode(&dir), 0o700);
    assert_eq!(mode(&dir.join(KEY)), 0o600);
    assert_eq!(mode(&entry(&dir)), 0o600);
}

#[test]
fn modified_entries_are_rejected() {
    let dir = tempfile::tempdir().expect("a folder");
    let dir = dir.path();
    fs::set_permissions(dir, fs::Permissions::from_mode(0o700)).expect("a mode");
    let cache = open(dir);
    let (digest, other) = (Digest::of(b"a"), Digest::of(b"b"));
    cache.put(digest, EngineKind::Synchronous, &Artifact::of_compiler(b"native code".to_vec()));
    let path = entry(dir);
    let good = fs::read(&path).expect("an entry");
    for at in [0, MAC - 1, MAC, good.len() - 1] {
        let mut bad = good.clone();
        bad[at] ^= 1;
        fs::write(&path, bad).expect("written");
        assert!(cache.get(digest, EngineKind::Synchronous).is_none(), "byte {at}");
    }
    for bad in [&good[..MAC + 3], &good[..5], b""] {
        fs::write(&path, bad).expect("written");
        assert!(cache.get(digest, EngineKind::Synchronous).is_none());
    }
    // A valid entry under another component's name.
    fs::write(dir.join(cache.name(other, EngineKind::Synchronous)), &good).expect("written");
    assert!(cache.get(other, EngineKind::Synchronous).is_none());
    // A link to a valid entry.
    fs::write(dir.join("elsewhere"), &good).expect("written");
    fs::remove_file(&path).expect("removed");
    std::os::unix::fs::symlink(dir.join("elsewhere"), &path).expect("a link");
    assert!(cache.get(digest, EngineKind::Synchronous).is_none());
}

#[test]
fn the_least_recently_used_entries_are_removed_first() {
    let dir = tempfile::tempdir().expect("a folder");
    let dir = dir.path().join("cache");
    let mut cache = open(&dir);
    cache.max_total = 3 * (100 + MAC as u64);
    for name in [b"1", b"2", b"3", b"4"] {
        cache.put(Digest::of(name), EngineKind::Synchronous, &Artifact::of_compiler(vec![7; 100]));
        let path = dir.join(cache.name(Digest::of(name), EngineKind::Synchronous));
        let age = u64::from(b'5' - name[0]) * 60;
        if let Ok(file) = File::open(path) {
            file.set_modified(SystemTime::now() - std::time::Duration::from_secs(age)).expect("a time");
        }
    }
    assert!(cache.get(Digest::of(b"1"), EngineKind::Synchronous).is_none());
    for name in [b"2", b"3", b"4"] {
        assert!(cache.get(Digest::of(name), EngineKind::Synchronous).is_some());
    }
}

#[test]
fn a_folder_that_others_can_write_is_not_used() {
    let dir = tempfile::tempdir().expect("a folder");
    let dir = dir.path();
    let mode = |mode| fs::set_permissions(dir, fs::Permissions::from_mode(mode)).expect("a mode");
    mode(0o777);
    let cache = open(dir);
    assert!(!keeps(&cache));
    assert_eq!(fs::read_dir(dir).expect("a folder").count(), 0);
    mode(0o700);
    assert!(keeps(&cache));
    mode(0o770);
    assert!(cache.get(Digest::of(b"component"), EngineKind::Synchronous).is_none());
    mode(0o700);
    assert!(cache.get(Digest::of(b"component"), EngineKind::Synchronous).is_some());
}

/// Whether it stores an entry and returns it.
fn keeps(cache: &Cache) -> bool {
    let digest = Digest::of(b"component");
    cache.put(digest, EngineKind::Synchronous, &Artifact::of_compiler(b"code".to_vec()));
    cache.get(digest, EngineKind::Synchronous).is_some_and(|kept| kept.into_bytes().is_ok_and(|kept| kept == b"code"))
}

/// A way to damage the key's file, or its folder.
type Damage = (&'static str, fn(&Path, &Path));

const DAMAGES: [Damage; 7] = [
    ("empty", |_, key| fs::write(key, b"").expect("written")),
    ("short", |_, key| fs::write(key, [7; 31]).expect("written")),
    ("long", |_, key| fs::write(key, [7; 65]).expect("written")),
    ("of others", |_, key| fs::set_permissions(key, fs::Permissions::from_mode(0o666)).expect("a mode")),
    ("a link", |dir, key| {
        fs::rename(key, dir.join("elsewhere")).expect("renamed");
        std::os::unix::fs::symlink("elsewhere", key).expect("a link");
    }),
    ("missing", |_, key| fs::remove_file(key).expect("removed")),
    ("without its folder", |dir, _| fs::remove_dir_all(dir).expect("removed")),
];

#[test]
fn a_damaged_key_or_a_missing_folder_is_recreated() {
    for (what, damage) in DAMAGES {
        let dir = tempfile::tempdir().expect("a folder");
        let dir = dir.path().join("cache");
        let (cache, path) = (open(&dir), dir.join(KEY));
        assert!(keeps(&cache), "{what}");
        damage(&dir, &path);
        // While it is in use: the entry is compiled and stored again.
        assert!(cache.get(Digest::of(b"component"), EngineKind::Synchronous).is_none(), "{what}");
        assert!(keeps(&cache), "{what}");
        let found = fs::symlink_metadata(&path).expect("a key");
        assert!(found.is_file() && found.len() == 32 && found.mode() & 0o777 == 0o600, "{what}");
        // At a start.
        damage(&dir, &path);
        let cache = open(&dir);
        assert_eq!(fs::metadata(&path).expect("a key").len(), 32, "{what}");
        assert!(keeps(&cache) && keeps(&open(&dir)), "{what}");
    }
}

#[test]
fn a_folder_that_cannot_be_created_is_retried() {
    let dir = tempfile::tempdir().expect("a folder");
    let place = dir.path().join("cache");
    fs::write(&place, b"another file").expect("written");
    let cache = open(&place);
    assert!(!keeps(&cache));
    fs::remove_file(&place).expect("removed");
    assert!(keeps(&cache));
}
