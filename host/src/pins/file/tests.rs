mod shared;

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tempfile::TempDir;

use super::{NEXT_FILE, PinFile};
use crate::pins::{Pin, Pins, PluginVersion};
use crate::plugin::{Access, Digest, PluginId, Signer};

fn lock() -> (TempDir, PinFile) {
    let home = tempfile::tempdir().expect("a folder");
    let lock = PinFile::new(home.path().join("state/wharf"));
    (home, lock)
}

fn id(name: &str) -> PluginId {
    PluginId::parse(name).expect("an id")
}

fn pin(content: &[u8]) -> Pin {
    let version = PluginVersion {
        content: Digest::of(content),
        signer: Some(Signer::recorded("RWa")),
        grants: [Access::Elicit].into(),
        granted: [].into(),
        surface: Some(Digest::of(b"surface")),
        needs: [Access::Keyvalue].into(),
        has_skills: false,
    };
    Pin::new(&version, true)
}

#[test]
fn pins_are_read_back_as_written() {
    let (_home, lock) = lock();
    assert_eq!(lock.read(), Ok(Pins::default()));
    assert!(!lock.folder().exists(), "reading creates nothing");
    lock.update(|pins| {
        pins.insert(&id("a"), pin(b"a"));
        pins.revoke(&id("b"), Digest::of(b"b"));
    })
    .expect("it is written");
    let pins = lock.read().expect("it is read");
    let read = pins.get(&id("a")).expect("a pin");
    assert_eq!(*read, Pin { time: read.time, ..pin(b"a") });
    assert!(pins.is_revoked(Digest::of(b"b")) && !pins.is_revoked(Digest::of(b"a")));
    // Approval undoes the revocation.
    lock.update(|pins| pins.approve(&id("b"), pin(b"b"))).expect("it is written");
    assert!(!lock.read().expect("it is read").is_revoked(Digest::of(b"b")));
}

/// As one who adds files and removes them again can have it.
#[test]
fn a_full_file_keeps_what_people_decided_and_can_be_read() {
    let (_home, lock) = lock();
    let automatic = Pin { approved: false, folder: Some("x".repeat(2000)), ..pin(b"a") };
    lock.update(|pins| {
        pins.approve(&id("approved"), Pin { gone: Some(SystemTime::UNIX_EPOCH), ..pin(b"b") });
        pins.insert(&id("served"), automatic.clone());
        pins.revoke(&id("revoked"), Digest::of(b"c"));
    })
    .expect("it is written");
    for round in 0..4 {
        lock.update(|pins| {
            for number in 0..700 {
                let name = id(&format!("r{round}-{number}"));
                pins.insert(&name, automatic.clone());
                pins.mark_missing(&name);
            }
        })
        .expect("it is written");
    }
    let pins = lock.read().expect("it is read");
    assert!(pins.get(&id("served")).is_some() && pins.is_revoked(Digest::of(b"c")));
    assert!(pins.all().count() < 1600, "{}", pins.all().count());
    // Of pins that are in use none is dropped, and no more are written than can be read.
    let fill =
        |pins: &mut Pins| (0..2200).for_each(|number| pins.insert(&id(&format!("s{number}")), automatic.clone()));
    let refused = lock.update(fill).expect_err("it is too large").to_string();
    assert!(refused.contains("it would have more than 4 MiB"), "{refused}");
    assert_eq!(lock.read(), Ok(pins));
}

#[test]
fn an_update_without_a_change_does_not_write() {
    let (_home, lock) = lock();
    lock.update(|pins| pins.insert(&id("a"), pin(b"a"))).expect("it is written");
    let mut changes = lock.changes();
    lock.update(|pins| pins.mark_missing(&id("nobody"))).expect("nothing to write");
    assert!(!changes.take());
}

/// A process that is killed between writing and renaming leaves the new file in any state.
#[test]
fn an_interrupted_write_changes_nothing() {
    let (_home, lock) = lock();
    lock.update(|pins| pins.insert(&id("a"), pin(b"a"))).expect("it is written");
    let before = lock.read();
    let whole = fs::read(lock.folder().join("lock.toml")).expect("the file");
    for written in 0..=whole.len() {
        fs::write(lock.folder().join(NEXT_FILE), &whole[..written]).expect("a partial file");
        assert_eq!(lock.read(), before);
    }
    lock.update(|pins| pins.insert(&id("b"), pin(b"b"))).expect("it is written");
    assert!(lock.read().expect("it is read").get(&id("b")).is_some());
    assert!(!lock.folder().join(NEXT_FILE).exists());
}

#[test]
fn a_truncated_file_is_an_error_and_left_unchanged() {
    let (_home, lock) = lock();
    lock.update(|pins| pins.insert(&id("a"), pin(b"a"))).expect("it is written");
    let file = lock.folder().join("lock.toml");
    let (before, whole) = (lock.read().expect("it is read"), fs::read(&file).expect("the file"));
    let mut damaged = 0;
    for length in 0..whole.len() {
        fs::write(&file, &whole[..length]).expect("a damaged file");
        match lock.read() {
            // Only the last line break is missing, or optional keys at the end.
            Ok(pins) => assert!(pins == before || length > 0, "{length}"),
            Err(error) => {
                damaged += 1;
                assert!(error.to_string().contains("lock.toml"), "{error}");
                assert!(lock.update(|pins| pins.insert(&id("b"), pin(b"b"))).is_err());
                assert_eq!(fs::read(&file).expect("the file"), &whole[..length]);
            }
        }
    }
    assert!(damaged > whole.len() / 2);
}

#[test]
fn a_file_that_others_can_write_is_not_read() {
    let (home, lock) = lock();
    lock.update(|pins| pins.insert(&id("a"), pin(b"a"))).expect("it is written");
    let file = lock.folder().join("lock.toml");
    let mode =
        |path: &std::path::Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a mode");
    for bad in [0o620, 0o602] {
        mode(&file, bad);
        assert!(lock.read().is_err_and(|error| error.to_string().contains("other users can write")));
    }
    mode(&file, 0o600);
    mode(lock.folder(), 0o770);
    assert!(lock.read().is_err());
    mode(lock.folder(), 0o700);
    assert!(lock.read().is_ok());
    let elsewhere = home.path().join("elsewhere.toml");
    fs::rename(&file, &elsewhere).expect("moved");
    symlink(elsewhere, &file).expect("a link");
    assert!(lock.read().is_err());
}

#[test]
fn concurrent_updates_are_all_written() {
    let (_home, lock) = lock();
    let lock = Arc::new(lock);
    let writers = (0..4).map(|writer| {
        let lock = lock.clone();
        std::thread::spawn(move || {
            for n in 0..10 {
                lock.update(|pins| pins.insert(&id(&format!("p{writer}-{n}")), pin(b"a"))).expect("it is written");
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.join().expect("no panic");
    }
    assert_eq!(lock.read().expect("it is read").all().count(), 40);
}

#[test]
fn pins_of_removed_plugins_expire() {
    let day = Duration::from_secs(24 * 60 * 60);
    let now = SystemTime::now();
    let mut pins = Pins::default();
    let gone = [
        ("here", None),
        ("lately", Some(now - 29 * day)),
        ("yet-to-come", Some(now + day)),
        ("long-ago", Some(now - 31 * day)),
    ];
    for (name, gone) in gone {
        pins.insert(&id(name), Pin { gone, ..pin(b"a") });
    }
    pins.drop_expired(now);
    let left: Vec<&str> = pins.all().map(|(name, _)| name).collect();
    assert_eq!(left, ["here", "lately", "yet-to-come"]);
}
