use std::path::PathBuf;

use super::*;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("wharf-store-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Self(path)
    }

    /// As another process: with a connection of its own.
    fn store(&self) -> Arc<Sqlite> {
        Sqlite::new(self.0.join("store.db"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn put(key: &str, value: &str, expected: Expected) -> Put {
    Put { key: key.into(), value: value.into(), expected, durability: Durability::Power, expires: None }
}

#[tokio::test]
async fn writes_happen_only_on_what_was_read() {
    let folder = Folder::new("conditions");
    let (one, two) = (folder.store(), folder.store());
    let first = one.put(put("a/1", "x", Expected::Absent)).await.expect("usable").expect("absent");
    assert_eq!(one.put(put("a/1", "y", Expected::Absent)).await, Ok(None));
    let read = two.get("a/1").await.expect("usable").expect("there");
    assert_eq!(read, Entry { key: "a/1".into(), value: b"x".to_vec(), version: first });
    let second = two.put(put("a/1", "z", Expected::Version(first))).await.expect("usable").expect("unchanged");
    assert_eq!(one.put(put("a/1", "w", Expected::Version(first))).await, Ok(None));
    assert!(second > first);
    assert!(one.put(put("a/1", "v", Expected::Anything)).await.expect("usable") > Some(second));
    assert_eq!(one.delete("a/1").await, Ok(true));
    assert_eq!(one.delete("a/1").await, Ok(false));
    assert_eq!(two.get("a/1").await, Ok(None));
}

/// However many write at once, each condition holds for one of them.
#[tokio::test(flavor = "multi_thread")]
async fn concurrent_writers_take_turns() {
    let folder = Folder::new("turns");
    let writers = [folder.store(), folder.store()].into_iter().map(|store| async move {
        for _ in 0..100 {
            loop {
                let read = store.get("n").await.expect("usable");
                let count = read.as_ref().map_or(0, |entry| entry.value.len());
                let expected = read.map_or(Expected::Absent, |entry| Expected::Version(entry.version));
                let durability = Durability::Process;
                let value = vec![b'x'; count + 1];
                let next = Put { key: "n".into(), value, expected, durability, expires: None };
                if store.put(next).await.expect("usable").is_some() {
                    break;
                }
            }
        }
    });
    futures_util::future::join_all(writers.map(tokio::spawn)).await;
    assert_eq!(folder.store().get("n").await.expect("usable").expect("there").value.len(), 200);
}

#[tokio::test]
async fn entries_are_listed_and_counted_by_prefix_and_expire() {
    let folder = Folder::new("prefix");
    let store = folder.store();
    for (key, expires) in [("a/1", Some(10)), ("a/2", Some(20)), ("a/3", None), ("ab/1", None), ("b", Some(5))] {
        let write = Put { expires, ..put(key, "four", Expected::Absent) };
        store.put(write).await.expect("usable").expect("absent");
    }
    let keys = |page: Page| {
        let keys: Vec<String> = page.entries.into_iter().map(|entry| entry.key).collect();
        (keys.join(" "), page.more)
    };
    assert_eq!(keys(store.list("a/", "", 2, 99).await.expect("usable")), ("a/1 a/2".into(), true));
    assert_eq!(keys(store.list("a/", "a/2", 9, 99).await.expect("usable")), ("a/3".into(), false));
    // As many as have that many bytes, and one at least.
    assert_eq!(keys(store.list("a/", "", 9, 8).await.expect("usable")), ("a/1 a/2".into(), true));
    assert_eq!(keys(store.list("a/", "", 9, 1).await.expect("usable")), ("a/1".into(), true));
    assert_eq!(store.usage("a/").await, Ok(Usage { entries: 3, bytes: 21 }));
    assert_eq!(store.remove_expired(20, 1).await, Ok(1));
    assert_eq!(store.remove_expired(20, 9).await, Ok(1));
    assert_eq!(keys(store.list("", "", 3, 99).await.expect("usable")), ("a/2 a/3 ab/1".into(), false));
}

/// What is found in the watcher before anything else.
async fn next(changes: &mut broadcast::Receiver<Changed>) -> String {
    match tokio::time::timeout(Duration::from_secs(20), changes.recv()).await.expect("reported in time") {
        Ok(Changed::Key(key)) => key,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn changes_of_all_processes_are_reported() {
    let folder = Folder::new("watch");
    let (one, two) = (folder.store(), folder.store());
    one.put(put("before", "", Expected::Absent)).await.expect("usable");
    two.get("before").await.expect("usable");
    let mut changes = two.watch();
    one.put(put("other", "", Expected::Absent)).await.expect("usable");
    assert_eq!(next(&mut changes).await, "other");
    two.put(put("own", "", Expected::Absent)).await.expect("usable");
    assert_eq!(next(&mut changes).await, "own");
}

#[tokio::test]
async fn a_file_that_cannot_be_used_is_an_error_until_it_is_repaired() {
    let folder = Folder::new("broken");
    crate::os::private::create_folder(&folder.0).expect("a folder");
    let path = folder.0.join("store.db");
    std::fs::write(&path, "no database, but longer than the header of one, which has a hundred bytes".repeat(9))
        .expect("a file");
    let store = folder.store();
    let error = store.get("a").await.expect_err("no database").0;
    assert!(error.contains("store.db"), "{error}");
    std::fs::remove_file(path).expect("it is there");
    assert_eq!(store.get("a").await, Ok(None));
}
