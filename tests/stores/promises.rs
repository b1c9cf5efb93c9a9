//! What a store promises, whatever its engine.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use tokio::sync::broadcast::Receiver;
use wharf::store::{Changed, Durability, Entry, Expected, Page, Put, Store, Usage, now};

/// Opens the store as another process would: with connections of its own.
pub(crate) type Open<'a> = &'a (dyn Fn() -> Arc<dyn Store> + Sync);

/// Calls a macro with the names of all promises.
macro_rules! for_each_promise {
    ($macro:ident) => {
        $macro! {
            writes_happen_only_on_what_was_read
            concurrent_writers_take_turns
            one_of_many_adds_or_replaces_an_entry
            entries_are_listed_and_counted_by_prefix_and_expire
            keys_are_in_the_order_of_their_bytes
            values_are_bytes_of_any_length
            changes_of_all_processes_are_reported_at_once
        }
    };
}
pub(crate) use for_each_promise;

/// From a write to its report.
const SOON: Duration = Duration::from_millis(500);

fn put(key: &str, value: &str, expected: Expected) -> Put {
    Put { key: key.into(), value: value.into(), expected, durability: Durability::Power, expires: None }
}

pub(crate) async fn writes_happen_only_on_what_was_read(open: Open<'_>) {
    let (one, two) = (open(), open());
    let first = one.put(put("a/1", "x", Expected::Absent)).await.expect("usable").expect("absent");
    assert_eq!(one.put(put("a/1", "y", Expected::Absent)).await, Ok(None));
    let read = two.get("a/1").await.expect("usable").expect("there");
    assert_eq!(read, Entry { key: "a/1".into(), value: b"x".to_vec(), version: first, expires: None });
    let second = two.put(put("a/1", "z", Expected::Version(first))).await.expect("usable").expect("unchanged");
    assert_eq!(one.put(put("a/1", "w", Expected::Version(first))).await, Ok(None));
    assert!(second > first && first > 0);
    assert!(one.put(put("a/1", "v", Expected::Anything)).await.expect("usable") > Some(second));
    assert_eq!(one.delete("a/1").await, Ok(true));
    assert_eq!(one.delete("a/1").await, Ok(false));
    assert_eq!(two.get("a/1").await, Ok(None));
    // It is another entry, although it has the same key.
    let again = two.put(put("a/1", "x", Expected::Absent)).await.expect("usable").expect("absent");
    assert!(again != first && again != second);
    assert_eq!(one.put(put("a/1", "w", Expected::Version(first))).await, Ok(None));
    assert_eq!(one.put(put("a/2", "w", Expected::Version(first))).await, Ok(None));
}

/// However many write at once, each condition holds for one of them.
pub(crate) async fn concurrent_writers_take_turns(open: Open<'_>) {
    let writers = [open(), open()].into_iter().map(|store| async move {
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
    join_all(writers.map(tokio::spawn)).await.into_iter().for_each(|done| done.expect("no panic"));
    assert_eq!(open().get("n").await.expect("usable").expect("there").value.len(), 200);
}

pub(crate) async fn one_of_many_adds_or_replaces_an_entry(open: Open<'_>) {
    for round in 0..10 {
        let key = format!("one/{round}");
        let mut expected = Expected::Absent;
        for _ in 0..2 {
            let writers = (0..16).map(|number| {
                let (store, write) = (open(), put(&key, &number.to_string(), expected));
                tokio::spawn(async move { store.put(write).await })
            });
            let written = join_all(writers).await.into_iter().map(|done| done.expect("no panic").expect("usable"));
            let versions: Vec<u64> = written.flatten().collect();
            let read = open().get(&key).await.expect("usable").expect("there");
            assert_eq!(versions, [read.version], "{expected:?}");
            expected = Expected::Version(read.version);
        }
    }
}

fn keys(page: &Page) -> (String, bool) {
    let keys: Vec<&str> = page.entries.iter().map(|entry| &*entry.key).collect();
    (keys.join(" "), page.more)
}

pub(crate) async fn entries_are_listed_and_counted_by_prefix_and_expire(open: Open<'_>) {
    let store = open();
    for (key, expires) in [("a/1", Some(10)), ("a/2", Some(20)), ("a/3", None), ("ab/1", None), ("b", Some(5))] {
        let write = Put { expires, ..put(key, "four", Expected::Absent) };
        store.put(write).await.expect("usable").expect("absent");
    }
    let list = async |prefix: &str, after: &str, limit: usize, bytes: usize| {
        keys(&open().list(prefix, after, limit, bytes).await.expect("usable"))
    };
    let read = store.get("a/2").await.expect("usable").expect("there");
    assert_eq!(read.expires, Some(20));
    let read = open().list("a/", "", 2, 99).await.expect("usable");
    assert_eq!(read.entries.iter().map(|entry| entry.expires).collect::<Vec<_>>(), [Some(10), Some(20)]);
    assert_eq!(list("a/", "", 2, 99).await, ("a/1 a/2".into(), true));
    assert_eq!(list("a/", "", 3, 99).await, ("a/1 a/2 a/3".into(), false));
    assert_eq!(list("a/", "a/2", 9, 99).await, ("a/3".into(), false));
    assert_eq!(list("c", "", 9, 99).await, (String::new(), false));
    let only = async |prefix: &str, after: &str, limit: usize| {
        let found = open().keys(prefix, after, limit).await.expect("usable");
        (found.keys.join(" "), found.more)
    };
    assert_eq!(only("a/", "", 2).await, ("a/1 a/2".into(), true));
    assert_eq!(only("a/", "a/2", 9).await, ("a/3".into(), false));
    assert_eq!(only("a/", "", 3).await, ("a/1 a/2 a/3".into(), false));
    assert_eq!(only("c", "", 9).await, (String::new(), false));
    // As many as have that many bytes, and one at least.
    assert_eq!(list("a/", "", 9, 8).await, ("a/1 a/2".into(), true));
    assert_eq!(list("a/", "", 9, 1).await, ("a/1".into(), true));
    assert_eq!(list("a/", "", 9, usize::MAX).await, ("a/1 a/2 a/3".into(), false));
    assert_eq!(store.usage("a/").await, Ok(Usage { entries: 3, bytes: 21 }));
    assert_eq!(store.usage("c").await, Ok(Usage::default()));
    // What is written again expires as it was written last.
    let again = Put { expires: Some(30), ..put("b", "longer", Expected::Anything) };
    store.put(again).await.expect("usable");
    assert_eq!(store.usage("b").await, Ok(Usage { entries: 1, bytes: 7 }));
    assert_eq!(store.remove_expired(20, 9).await, Ok(1));
    assert_eq!(store.remove_expired(40, 1).await, Ok(1));
    assert_eq!(store.remove_expired(40, 9).await, Ok(1));
    assert_eq!(list("", "", 3, 99).await, ("a/3 ab/1".into(), false));
}

/// Where nodes share it: it would be gone for all, and others would keep it.
pub(crate) async fn what_has_expired_by_a_clock_that_is_ahead_stays(open: Open<'_>) {
    const HOUR: u64 = 3_600_000;
    let store = open();
    let later = now() + HOUR;
    for (key, expires) in [("gone", 20), ("later", later)] {
        store.put(Put { expires: Some(expires), ..put(key, "x", Expected::Absent) }).await.expect("usable");
    }
    assert_eq!(store.remove_expired(later + HOUR, 9).await, Ok(1));
    assert!(store.get("later").await.expect("usable").is_some());
}

pub(crate) async fn keys_are_in_the_order_of_their_bytes(open: Open<'_>) {
    let store = open();
    let mut all = ["a/b", "a", "A", "a-b", "aB", "ab", "a_b", "a b", "a.b", "Ab", "0", "a0", "a/", "a~"];
    for key in all {
        store.put(put(key, "", Expected::Absent)).await.expect("usable");
    }
    all.sort_unstable();
    let mut found: Vec<String> = Vec::new();
    loop {
        let after = found.last().cloned().unwrap_or_default();
        let page = store.list("", &after, 4, usize::MAX).await.expect("usable");
        found.extend(page.entries.into_iter().map(|entry| entry.key));
        if !page.more {
            break;
        }
    }
    assert_eq!(found, all);
    assert_eq!(keys(&store.list("a/", "", 9, 99).await.expect("usable")).0, "a/ a/b");
}

pub(crate) async fn values_are_bytes_of_any_length(open: Open<'_>) {
    let (store, all) = (open(), (0..=255).collect::<Vec<u8>>());
    for (key, value) in [("none", vec![]), ("all", all.clone()), ("long", all.repeat(16 << 10))] {
        let write = Put { value: value.clone(), ..put(key, "", Expected::Anything) };
        store.put(write).await.expect("usable");
        assert!(open().get(key).await.expect("usable").expect("there").value == value, "{key}");
    }
}

/// The first time at which that key, or any, is said to have been written.
async fn told(changes: &mut Receiver<Changed>, key: &str) -> Instant {
    loop {
        let changed = tokio::time::timeout(Duration::from_secs(20), changes.recv()).await.expect("reported in time");
        match changed.expect("there are few") {
            Changed::Key(changed) if changed != key => {}
            _ => return Instant::now(),
        }
    }
}

pub(crate) async fn changes_of_all_processes_are_reported_at_once(open: Open<'_>) {
    let (one, two) = (open(), open());
    two.get("before").await.expect("usable");
    let mut changes = two.watch();
    one.put(put("other", "", Expected::Absent)).await.expect("usable");
    told(&mut changes, "other").await;
    two.put(put("own", "", Expected::Absent)).await.expect("usable");
    told(&mut changes, "own").await;
    // This machine may be busy: one of many is not late.
    let mut soonest = Duration::MAX;
    for number in 0..10 {
        let key = format!("key/{number}");
        one.put(put(&key, "", Expected::Absent)).await.expect("usable");
        let written = Instant::now();
        soonest = soonest.min(told(&mut changes, &key).await.saturating_duration_since(written));
        one.put(put(&key, "again", Expected::Anything)).await.expect("usable");
        told(&mut changes, &key).await;
    }
    assert!(soonest <= SOON, "{soonest:?}");
}
