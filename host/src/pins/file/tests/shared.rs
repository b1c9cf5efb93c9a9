//! Pins of several nodes.

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::broadcast;

use super::{id, lock, pin};
use crate::pins::file::PinChanges;
use crate::pins::{PinFile, Pins};
use crate::store::{Changed, Document, Entry, Keys, Page, Put, Sqlite, Store, StoreError, Usage};

/// A store, and the thread on which it is used.
struct SharedStore {
    runtime: Runtime,
    store: Arc<Sqlite>,
    _folder: TempDir,
}

impl SharedStore {
    fn new() -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a thread");
        let folder = tempfile::tempdir().expect("a folder");
        Self { runtime, store: Sqlite::new(folder.path().join("store.db")), _folder: folder }
    }

    /// The pins of a node that has this file.
    fn node(&self, file: &PinFile) -> PinFile {
        let document = Document::new(self.store.clone(), "pins", "the store", self.runtime.handle().clone());
        PinFile::in_store(file.folder().to_owned(), document)
    }
}

/// Waits for a change; `otherwise` says what is wrong if there is none.
fn wait(changes: &mut PinChanges, otherwise: &str) {
    let until = Instant::now() + Duration::from_secs(10);
    while !changes.take() {
        assert!(Instant::now() < until, "{otherwise}");
        thread::yield_now();
    }
}

/// Two nodes with folders of their own, and one store.
#[test]
fn nodes_have_the_pins_of_their_store() {
    let store = SharedStore::new();
    let ((_first, own), (_second, none)) = (lock(), lock());
    // What was decided on this machine before it had a store.
    own.update(|pins| pins.insert(&id("a"), pin(b"a"))).expect("it is written");
    let (one, other) = (store.node(&own), store.node(&none));
    assert!(one.read().expect("pins").get(&id("a")).is_some() && other.read() == Ok(Pins::default()));
    let mut changes = other.changes();
    one.update(|pins| pins.insert(&id("b"), pin(b"b"))).expect("it is written");
    wait(&mut changes, "the other node is not told");
    let both = other.read().expect("pins");
    assert!(both.get(&id("a")).is_some() && both.get(&id("b")).is_some());
    other.update(|pins| pins.revoke(&id("a"), pin(b"a").content)).expect("it is written");
    assert!(one.read().expect("pins").is_revoked(pin(b"a").content));
    assert!(own.read().expect("the file").get(&id("b")).is_none(), "the file stays as it was");
}

/// Each node has the same files in a folder of its own.
#[test]
fn pins_of_nodes_say_where_in_the_plugin_folder_a_file_is_and_not_where_that_is() {
    let store = SharedStore::new();
    let ((_first, own), (_second, none)) = (lock(), lock());
    let here = own.for_plugins(Path::new("/here"));
    here.update(|pins| pins.insert(&id("a"), here.with_place(pin(b"a"), Path::new("/here/a.wasm")))).expect("written");
    let node = |file: &PinFile, plugins: &str| store.node(file).for_plugins(Path::new(plugins));
    let (one, other) = (node(&here, "/here"), node(&none, "/elsewhere"));
    one.update(|pins| pins.insert(&id("b"), one.with_place(pin(b"b"), Path::new("/here/sub/b.wasm"))))
        .expect("written");
    let pins = other.read().expect("pins");
    for (plugin, file) in [("a", "a.wasm"), ("b", "sub/b.wasm")] {
        let pin = pins.get(&id(plugin)).expect("it is pinned");
        assert_eq!((pin.folder.as_deref(), pin.file.as_deref()), (None, Some(file)));
        // The other node has nothing to write about them.
        assert_eq!(other.with_place(pin.clone(), &Path::new("/elsewhere").join(file)), *pin);
    }
}

/// Another machine was the first to write to the store.
#[test]
fn what_a_machine_revokes_holds_there_whatever_is_in_the_store() {
    let store = SharedStore::new();
    let ((_first, own), (_second, none)) = (lock(), lock());
    own.update(|pins| {
        pins.approve(&id("b"), pin(b"b"));
        pins.revoke(&id("a"), pin(b"a").content);
    })
    .expect("it is written");
    let (one, other) = (store.node(&own), store.node(&none));
    let is_revoked = |node: &PinFile| node.read().expect("pins").is_revoked(pin(b"a").content);
    assert_eq!(one.left_behind(), Ok(Vec::new()));
    let mut changes = one.changes();
    // Who does not know of it cannot take it back.
    other.update(|pins| pins.approve(&id("a"), pin(b"a"))).expect("it is written");
    assert!(is_revoked(&one) && !is_revoked(&other));
    assert_eq!((one.left_behind(), other.left_behind()), (Ok(vec!["b".to_owned()]), Ok(Vec::new())));
    one.update(|pins| pins.insert(&id("c"), pin(b"c"))).expect("it is written");
    assert!(is_revoked(&one) && !is_revoked(&other), "it stays that machine's own");
    // Who revokes it there means all nodes; and who sees that can take back both.
    one.update(|pins| pins.revoke(&id("a"), pin(b"a").content)).expect("it is written");
    assert!(is_revoked(&one) && is_revoked(&other));
    other.update(|pins| pins.approve(&id("a"), pin(b"a"))).expect("it is written");
    assert!(!is_revoked(&one) && !is_revoked(&other));
    other.update(|pins| pins.revoke(&id("a"), pin(b"a").content)).expect("it is written");
    assert!(is_revoked(&one) && is_revoked(&other));
    one.update(|pins| pins.approve(&id("a"), pin(b"a"))).expect("it is written");
    assert!(!is_revoked(&one) && !is_revoked(&other));
    // A command without the store's configuration is heard too, and a file that cannot be read holds all.
    changes.take();
    own.update(|pins| pins.revoke(&id("c"), pin(b"c").content)).expect("it is written");
    wait(&mut changes, "the change of the file is not seen");
    assert!(one.read().expect("pins").is_revoked(pin(b"c").content));
    std::fs::write(own.folder().join("lock.toml"), "garbage").expect("a file");
    let error = one.read().expect_err("damaged").to_string();
    assert!(error.contains("lock.toml") && other.read().is_ok(), "{error}");
}

/// As `wharf store publish` does, when nothing has to be approved any more.
#[test]
fn the_first_write_takes_along_what_this_machine_has() {
    let store = SharedStore::new();
    let ((_first, own), (_second, none)) = (lock(), lock());
    own.update(|pins| pins.approve(&id("a"), pin(b"a"))).expect("it is written");
    let (one, other) = (store.node(&own), store.node(&none));
    other.update(|_| ()).expect("usable");
    assert_eq!(one.left_behind(), Ok(Vec::new()), "nothing was written");
    one.update(|_| ()).expect("it is written");
    assert!(other.read().expect("pins").get(&id("a")).is_some_and(|pin| pin.approved));
}

/// A store that does not answer.
struct Away;

#[async_trait]
impl Store for Away {
    async fn get(&self, _: &str) -> Result<Option<Entry>, StoreError> {
        Err(StoreError("it is away".into()))
    }
    async fn put(&self, _: Put) -> Result<Option<u64>, StoreError> {
        Err(StoreError("it is away".into()))
    }
    async fn delete(&self, _: &str) -> Result<bool, StoreError> {
        Err(StoreError("it is away".into()))
    }
    async fn list(&self, _: &str, _: &str, _: usize, _: usize) -> Result<Page, StoreError> {
        Err(StoreError("it is away".into()))
    }
    async fn keys(&self, _: &str, _: &str, _: usize) -> Result<Keys, StoreError> {
        Err(StoreError("it is away".into()))
    }
    async fn usage(&self, _: &str) -> Result<Usage, StoreError> {
        Err(StoreError("it is away".into()))
    }
    async fn remove_expired(&self, _: u64, _: usize) -> Result<usize, StoreError> {
        Err(StoreError("it is away".into()))
    }
    fn watch(&self) -> broadcast::Receiver<Changed> {
        broadcast::Sender::new(1).subscribe()
    }
}

#[test]
fn pins_of_a_store_that_is_away_are_read_later() {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a thread");
    let (_home, own) = lock();
    own.update(|pins| pins.insert(&id("a"), pin(b"a"))).expect("it is written");
    let document = Document::new(Arc::new(Away), "pins", "postgres://db.example/w", runtime.handle().clone());
    let pins = PinFile::in_store(own.folder().to_owned(), document);
    let error = pins.read().expect_err("away");
    assert_eq!(error.to_string(), "use the pins: it is away: pins in postgres://db.example/w");
    assert!(error.temporary && !error.of_writing && pins.try_write().is_err_and(|error| error.of_writing));
    let error = pins.update(|pins| pins.insert(&id("b"), pin(b"b"))).expect_err("away");
    assert!(error.temporary && error.of_writing);
}
