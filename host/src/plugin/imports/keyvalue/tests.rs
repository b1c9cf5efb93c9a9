use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;

use super::limits::Limits;
use super::space::Space;
use super::store::{Store, StoreError};

const QUOTA: u64 = 1 << 20;

/// Runs some work on a plugin's bucket.
async fn within<R: Send + 'static>(
    store: &Store,
    (plugin, bucket, quota): (&'static str, &'static str, u64),
    work: impl FnOnce(Space<'_>) -> Result<R, StoreError> + Send + 'static,
) -> Result<R, StoreError> {
    store
        .run(move |connection| work(Space { connection, owner: plugin, bucket, limits: Limits { quota, total: None } }))
        .await
}

async fn set(store: &Store, place: (&'static str, &'static str, u64), key: &str, bytes: usize) -> String {
    let entry = (key.to_owned(), vec![b'x'; bytes]);
    match within(store, place, |mut space| space.set_many(&[entry])).await {
        Ok(()) => "stored".into(),
        Err(StoreError::Refused(why) | StoreError::Failed(why) | StoreError::Full(why)) => why,
    }
}

#[tokio::test]
async fn buckets_and_plugins_do_not_see_each_other() {
    let store = Store::in_memory(false);
    for (place, value) in [(("a", "default", QUOTA), 1), (("a", "other", QUOTA), 2), (("b", "default", QUOTA), 3)] {
        assert_eq!(set(&store, place, "key", value).await, "stored");
    }
    for (place, value) in [(("a", "default", QUOTA), 1), (("a", "other", QUOTA), 2), (("b", "default", QUOTA), 3)] {
        let found = within(&store, place, |space| space.get("key")).await;
        assert_eq!(found.map(|found| found.map(|bytes| bytes.len())), Ok(Some(value)));
    }
    within(&store, ("a", "default", QUOTA), |mut space| space.delete_many(&["key".into()])).await.expect("deleted");
    assert_eq!(within(&store, ("a", "default", QUOTA), |space| space.exists("key")).await, Ok(false));
    assert_eq!(within(&store, ("b", "default", QUOTA), |space| space.exists("key")).await, Ok(true));
    assert_eq!(within(&store, ("b", "none", QUOTA), |space| space.keys(None)).await, Ok((vec![], None)));
}

#[tokio::test]
async fn exceeded_limits_are_reported_and_change_nothing() {
    let store = Store::in_memory(false);
    let here = ("a", "b", 1000);
    assert_eq!(set(&store, here, &"k".repeat(257), 0).await, "the key has 257 bytes; the limit is 256");
    let value = set(&store, ("a", "b", QUOTA), "k", (256 << 10) + 1).await;
    assert_eq!(value, "the value has 262145 bytes; the limit is 262144");
    // A key's and its bucket's name count.
    assert_eq!(set(&store, here, "k", 998).await, "stored");
    let full = "this plugin may store at most 1000 bytes in all; this write would make it 1001";
    assert_eq!(set(&store, here, "k", 999).await, full);
    assert_eq!(set(&store, ("a", "c", 1000), "", 0).await, full);
    assert_eq!(within(&store, here, |space| space.get("k")).await.map(|found| found.map(|v| v.len())), Ok(Some(998)));
    // A batch is stored whole or not at all.
    let batch = vec![("k".to_owned(), vec![]), ("l".to_owned(), vec![0; 1000])];
    assert!(within(&store, here, move |mut space| space.set_many(&batch)).await.is_err());
    assert_eq!(within(&store, here, |space| space.exists("l")).await, Ok(false));
    // A reduced quota allows what reduces the usage.
    assert_eq!(set(&store, ("a", "b", 10), "k", 500).await, "stored");
    within(&store, here, |mut space| space.delete_many(&["k".into()])).await.expect("deleted");
    assert_eq!(set(&store, here, "k", 998).await, "stored");
}

#[tokio::test]
async fn keys_are_counted_and_listed_in_pages() {
    let store = Store::in_memory(false);
    for block in 0..10 {
        let entries: Vec<_> = (0..1000).map(|n| (format!("{}", block * 1000 + n), vec![])).collect();
        within(&store, ("a", "b", QUOTA), move |mut space| space.set_many(&entries)).await.expect("stored");
    }
    let one_more = set(&store, ("a", "c", QUOTA), "k", 0).await;
    assert_eq!(one_more, "this plugin may have at most 10000 keys in all its buckets together");
    assert_eq!(set(&store, ("a", "b", QUOTA), "5", 1).await, "stored");

    let (mut keys, mut cursor) = within(&store, ("a", "b", QUOTA), |space| space.keys(None)).await.expect("a page");
    while cursor.is_some() {
        // A key that is deleted between two pages moves no other key out of the listing.
        within(&store, ("a", "b", QUOTA), |mut space| space.delete_many(&["0".into()])).await.expect("deleted");
        let (more, next) = within(&store, ("a", "b", QUOTA), move |space| space.keys(cursor)).await.expect("a page");
        assert!(more.len() <= 1000);
        keys.extend(more);
        cursor = next;
    }
    assert_eq!(keys, (0..10_000).map(|n| n.to_string()).collect::<Vec<_>>());
    let beyond = within(&store, ("a", "b", QUOTA), |space| space.keys(Some(u64::MAX))).await;
    assert_eq!(beyond, Ok((vec![], None)));
}

#[tokio::test]
async fn batches_are_limited() {
    let store = Store::in_memory(false);
    let here = ("a", "b", QUOTA);
    assert_eq!(set(&store, here, "k", 256 << 10).await, "stored");
    let many = |n: usize| vec!["k".to_owned(); n];
    let found = within(&store, here, move |space| space.get_many(many(16))).await.expect("values");
    assert_eq!(found.len(), 16);
    let refusal = |why: &str| Err(StoreError::Refused(why.into()));
    let over = within(&store, here, move |space| space.get_many(many(17))).await;
    assert_eq!(over, refusal("the values of one batch have more than 4194304 bytes"));
    let over = within(&store, here, move |space| space.get_many(many(1001))).await;
    assert_eq!(over, refusal("the batch has 1001 keys; the limit is 1000"));
}

#[tokio::test]
async fn increments_are_whole_numbers() {
    let store = Store::in_memory(false);
    let here = ("a", "b", QUOTA);
    let add = async |delta| within(&store, here, move |mut space| space.increment("n", delta)).await;
    assert_eq!((add(2).await, add(40).await), (Ok(2), Ok(42)));
    assert_eq!(within(&store, here, |space| space.get("n")).await, Ok(Some(b"42".to_vec())));
    assert!(matches!(add(u64::MAX).await, Err(StoreError::Refused(why)) if why.contains("too large")));
    set(&store, here, "n", 3).await;
    assert!(matches!(add(1).await, Err(StoreError::Refused(why)) if why.contains("no whole number")));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_share_a_file_and_lose_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("wharf/keyvalue.sqlite");
    // Each has its own connection, as two processes have.
    let stores = [Store::in_file(file.clone()), Store::in_file(file.clone())];
    let writers = stores.clone().map(|store: Arc<Store>| {
        tokio::spawn(async move {
            for _ in 0..50 {
                within(&store, ("a", "b", QUOTA), |mut space| space.increment("n", 1)).await.expect("counted");
            }
        })
    });
    for writer in writers {
        writer.await.expect("no panic");
    }
    assert_eq!(within(&stores[0], ("a", "b", QUOTA), |space| space.get("n")).await, Ok(Some(b"100".to_vec())));
    let mode = std::fs::metadata(&file).expect("the file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test]
async fn an_invalid_database_is_left_unchanged_and_retried() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("keyvalue.sqlite");
    let rubbish = "no database ".repeat(1000);
    std::fs::write(&file, &rubbish).expect("a file");
    let store = Store::in_file(file.clone());
    let here = ("a", "b", QUOTA);
    let why = set(&store, here, "k", 1).await;
    assert!(why.contains("not a database") && why.contains("keyvalue.sqlite"), "{why}");
    assert_eq!(std::fs::read_to_string(&file).expect("the file"), rubbish);
    std::fs::remove_file(&file).expect("the file");
    assert_eq!(set(&store, here, "k", 1).await, "stored");
}

#[tokio::test]
async fn tables_of_a_later_version_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("keyvalue.sqlite");
    let later = rusqlite::Connection::open(&file).expect("a database");
    later.pragma_update(None, "user_version", 3).expect("a version");
    drop(later);
    let why = set(&Store::in_file(file), ("a", "b", QUOTA), "k", 1).await;
    assert!(why.contains("version 3"), "{why}");
}

#[tokio::test]
async fn errors_have_no_statements() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("keyvalue.sqlite");
    let store = Store::in_file(file.clone());
    assert_eq!(set(&store, ("a", "b", QUOTA), "k", 1).await, "stored");
    let other = rusqlite::Connection::open(&file).expect("a database");
    for (tables, said) in
        [("DROP TABLE entry", "no such table"), ("CREATE TABLE entry (other)", "table entry has no column")]
    {
        other.execute_batch(tables).expect("other tables");
        let why = set(&store, ("a", "b", QUOTA), "k", 1).await;
        assert!(
            why.contains(&format!("not those of this program: {said}")) && why.contains("keyvalue.sqlite"),
            "{why}"
        );
        assert!(!why.contains("SELECT") && !why.contains("INSERT"), "{why}");
    }
}

/// Users of a plugin have values, quotas and lists of their own, and a limit together.
#[tokio::test]
async fn users_of_a_plugin_do_not_see_each_other_and_share_a_total() {
    let store = Store::in_memory(false);
    let set = async |owner: &'static str, key: &str, bytes: usize| {
        let entry = (key.to_owned(), vec![b'x'; bytes]);
        let set = store.run(move |connection| {
            Space { connection, owner, bucket: "b", limits: Limits { quota: 1000, total: Some(2000) } }
                .set_many(&[entry])
        });
        match set.await {
            Ok(()) => "stored".into(),
            Err(StoreError::Refused(why) | StoreError::Failed(why) | StoreError::Full(why)) => why,
        }
    };
    let (ada, bob, eve) = ("a/https://id.example#ada", "a/https://id.example#bob", "a/https://id.example#eve");
    assert_eq!(set(ada, "k", 998).await, "stored");
    assert_eq!(set(bob, "k", 900).await, "stored");
    let together = "the users of this plugin may store at most 2000 bytes together";
    assert_eq!((set(eve, "k", 97).await.as_str(), set(eve, "k", 96).await.as_str()), (together, "stored"));
    // Neither the plugin itself nor others count.
    for other in ["a", "b/https://id.example#ada", "a0", "aa/x"] {
        assert_eq!(set(other, "k", 900).await, "stored", "{other}");
    }
    assert_eq!(set(bob, "k", 1).await, "stored", "less is allowed");
    assert_eq!(within(&store, (bob, "b", 1000), |space| space.get("k")).await, Ok(Some(b"x".to_vec())));
    let keys = within(&store, ("a/https://id.example#zoe", "b", 1000), |space| space.keys(None)).await;
    assert_eq!(keys, Ok((vec![], None)));
}

/// Buckets in a store that several nodes have; the file stands for it.
mod shared {
    use tokio::runtime::Handle;

    use super::*;
    use crate::plugin::imports::keyvalue::place::KeyvaluePlace;
    use crate::plugin::imports::keyvalue::values::{Owner, Values};
    use crate::plugin::imports::keyvalue::{Keyvalue, KeyvalueFile};
    use crate::store::Sqlite;

    struct Nodes {
        folder: tempfile::TempDir,
    }

    impl Nodes {
        fn new() -> Self {
            let folder = tempfile::tempdir().expect("a folder");
            std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o700)).expect("its owner's");
            Self { folder }
        }

        /// Another node, with a bucket of an owner.
        fn bucket(&self, subject: Option<&str>, limits: Limits) -> Box<dyn Values> {
            let store = Sqlite::new(self.folder.path().join("store.db"));
            let owner = Owner { plugin: "a".into(), subject: subject.map(Into::into), bucket: "ö/".into(), limits };
            Keyvalue::new(KeyvaluePlace::Shared(store, Handle::current())).of(owner)
        }
    }

    const LIMITS: Limits = Limits { quota: QUOTA, total: None };

    fn refusal<T: std::fmt::Debug>(outcome: Result<T, StoreError>) -> String {
        match outcome.expect_err("refused") {
            StoreError::Refused(why) | StoreError::Failed(why) | StoreError::Full(why) => why,
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn keys_are_listed_in_pages_although_others_write() {
        let nodes = Nodes::new();
        let (one, two) = (nodes.bucket(None, LIMITS), nodes.bucket(None, LIMITS));
        let keys: Vec<String> = (0..2500).map(|number| format!("{number}~ü/")).collect();
        for some in keys.chunks(1000) {
            one.set_many(some.iter().map(|key| (key.clone(), vec![1])).collect()).await.expect("stored");
        }
        let (mut found, mut cursor) = two.keys(None).await.expect("a page");
        two.delete_many(vec![found[0].clone(), "none".into()]).await.expect("deleted");
        while let Some(after) = cursor {
            let (page, next) = two.keys(Some(after)).await.expect("a page");
            assert!(page.len() <= 1000);
            (found, cursor) = ([found, page].concat(), next);
        }
        found.sort_unstable();
        let mut all = keys.clone();
        all.sort_unstable();
        assert_eq!(found, all);
        assert_eq!(one.exists(found[0].clone()).await, one.get(found[0].clone()).await.map(|value| value.is_some()));
        let some = vec![keys[7].clone(), "none".into(), keys[7].clone()];
        let seven = Some((keys[7].clone(), vec![1]));
        assert_eq!(two.get_many(some).await, Ok(vec![seven.clone(), None, seven]));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_number_that_all_nodes_add_to_loses_nothing() {
        let nodes = Nodes::new();
        let adding = (0..4).map(|_| {
            let bucket = nodes.bucket(None, LIMITS);
            tokio::spawn(async move {
                for _ in 0..25 {
                    bucket.increment("n".into(), 2).await.expect("added");
                }
            })
        });
        for added in adding.collect::<Vec<_>>() {
            added.await.expect("no panic");
        }
        let bucket = nodes.bucket(None, LIMITS);
        assert_eq!(bucket.increment("n".into(), 0).await, Ok(200));
        bucket.set_many(vec![("n".into(), b"x".to_vec())]).await.expect("stored");
        assert_eq!(refusal(bucket.increment("n".into(), 1).await), "the value to increment is no whole number");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn limits_hold_for_all_nodes_and_leave_room_for_less() {
        let nodes = Nodes::new();
        let limits = Limits { quota: 1000, total: Some(1500) };
        let (one, two) = (nodes.bucket(Some("ada"), limits), nodes.bucket(Some("ada"), limits));
        let put = async |bucket: &dyn Values, key: &str, bytes: usize| {
            bucket.set_many(vec![(key.to_owned(), vec![b'x'; bytes])]).await
        };
        assert_eq!(put(&*one, "k", 600).await, Ok(()));
        let over = refusal(put(&*two, "l", 600).await);
        assert!(
            over.starts_with("this plugin may store at most 1000 bytes in all; this write would make it 12"),
            "{over}"
        );
        assert_eq!(put(&*two, "k", 900).await, Ok(()));
        assert!(put(&*one, "k", 1100).await.is_err());
        assert_eq!(put(&*one, "k", 800).await, Ok(()), "less is allowed");
        let other = nodes.bucket(Some("bob"), limits);
        assert_eq!(other.get("k".into()).await, Ok(None));
        assert_eq!(
            refusal(put(&*other, "k", 900).await),
            "the users of this plugin may store at most 1500 bytes together"
        );
        assert_eq!(put(&*other, "k", 500).await, Ok(()));
        assert_eq!(refusal(put(&*other, &"k".repeat(257), 1).await), "the key has 257 bytes; the limit is 256");
        let many = (0..1001).map(|number| (number.to_string(), Vec::new())).collect();
        assert_eq!(refusal(one.set_many(many).await), "the batch has 1001 keys; the limit is 1000");
    }

    /// A bucket of an owner in a file of this machine.
    fn local(file: &std::path::Path, subject: Option<&str>) -> Box<dyn Values> {
        let owner =
            Owner { plugin: "a".into(), subject: subject.map(Into::into), bucket: "ö/".into(), limits: LIMITS };
        Keyvalue::new(KeyvaluePlace::File(file.to_owned())).of(owner)
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn values_of_a_machine_are_those_of_a_store_and_of_another_machine() {
        use crate::store::{Durability, Expected, Put, Store as _};
        let nodes = Nodes::new();
        let file = nodes.folder.path().join("one.sqlite");
        let ada = super::super::name::subject("ada");
        for (subject, value) in [(None, 1), (Some(&*ada), 2)] {
            let some = (0..600).map(|n| (format!("{n}~ü/"), vec![value])).collect();
            local(&file, subject).set_many(some).await.expect("stored");
        }
        let (from, store) = (KeyvalueFile::new(file), Sqlite::new(nodes.folder.path().join("store.db")));
        let to = KeyvalueFile::new(nodes.folder.path().join("two.sqlite"));
        let (mut after, mut count) = (Some(0), 0);
        while let Some(row) = after {
            let (values, next) = from.list(row).await.expect("readable");
            for (key, value) in values {
                assert_eq!(from.get(&key).await, Ok(Some(value.clone())));
                to.put(&key, value.clone()).await.expect("stored");
                let (expected, durability) = (Expected::Absent, Durability::Process);
                store
                    .put(Put { key, value, expected, durability, expires: None })
                    .await
                    .expect("usable")
                    .expect("absent");
                count += 1;
            }
            after = next;
        }
        assert_eq!(count, 1200);
        for (subject, value) in [(None, 1), (Some(&*ada), 2)] {
            let two = local(&nodes.folder.path().join("two.sqlite"), subject);
            for place in [nodes.bucket(subject, LIMITS), two] {
                assert_eq!(place.get("599~ü/".into()).await, Ok(Some(vec![value])));
                assert_eq!(place.keys(None).await.expect("a page").0.len(), 600);
                assert_eq!(place.increment("n".into(), 1).await, Ok(1));
            }
        }
    }

    /// Version 1 had the names of users.
    #[tokio::test]
    async fn files_of_an_earlier_version_are_upgraded() {
        let nodes = Nodes::new();
        let file = nodes.folder.path().join("one.sqlite");
        for owner in [None, Some("ada"), Some("b/c")] {
            local(&file, owner).set_many(vec![("k".into(), owner.unwrap_or("-").into())]).await.expect("stored");
        }
        let earlier = rusqlite::Connection::open(&file).expect("a database");
        earlier.pragma_update(None, "user_version", 1).expect("a version");
        drop(earlier);
        for owner in [None, Some("ada"), Some("b/c")] {
            let subject = owner.map(super::super::name::subject);
            let value = Some(owner.unwrap_or("-").as_bytes().to_vec());
            assert_eq!(local(&file, subject.as_deref()).get("k".into()).await, Ok(value));
        }
        let used: i64 = rusqlite::Connection::open(&file)
            .and_then(|file| file.query_row("SELECT count(*) FROM used WHERE keys = 1", [], |row| row.get(0)))
            .expect("readable");
        assert_eq!(used, 3);
    }
}
