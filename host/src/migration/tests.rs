use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::slice;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::runtime::Handle;

use super::*;
use crate::approvals::{Approvals, Bound, Decision, Deed, Standing, Wanted};
use crate::pins::PinFile;
use crate::plugin::{Digest, KeyvalueFile, PluginId};
use crate::proposals::{Proposal, Proposals};
use crate::store::{Document, Sqlite, Store, lease, now};
use crate::tasks::{Lease, Ledger};

const HOURS: u64 = 2 * 3_600_000;
const DAY: Duration = Duration::from_hours(24);
/// The value "v" of the key "k" in the bucket "default" of a user of the plugin "notes".
const VALUE: &str = "keyvalue/notes/0f/ZGVmYXVsdA/1f2f3a4b5c6d7e8faw";

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o700)).expect("its owner's");
    folder
}

/// A store for several nodes.
fn store(folder: &Path) -> Arc<dyn Store> {
    Sqlite::new(folder.join("shared.db"))
}

/// Nobody is watched for long there.
fn shared(folder: &Path) -> Shared {
    let mut place = Shared::new(store(folder));
    place.watched = Duration::ZERO;
    place
}

fn machine(folder: &Path) -> Machine {
    Machine {
        pins: PinFile::new(folder.to_owned()),
        approvals: Approvals::in_folder(folder.to_owned()),
        proposals: Proposals::in_folder(folder.to_owned()),
        values: KeyvalueFile::new(folder.join("keyvalue.sqlite")),
        tasks: Shared::new(Sqlite::new(folder.join("tasks.db"))),
        folder: folder.to_owned(),
        held: Mutex::default(),
    }
}

fn deed(caller: &str) -> Deed {
    let bound = Bound { caller, plugin: "notes", version: "1", extras: "", tool: "delete", arguments: "{}" };
    Deed::new(bound, caller.to_owned(), "{}".to_owned(), "{}")
}

fn put(key: &str, value: &str, expires: Option<u64>) -> Entry {
    Entry { key: key.to_owned(), value: value.as_bytes().to_vec(), version: 0, expires }
}

async fn migrated(old: &dyn Entries, new: &dyn Entries, from: &str, now: u64) -> Result<Moved, MigrationError> {
    migrate(old, new, from, now, &Progress::default()).await
}

async fn write(place: &dyn Entries, entries: &[Entry]) {
    for entry in entries {
        assert_eq!(place.put(entry).await, Ok(true), "{}", entry.key);
    }
}

async fn all_of(place: &dyn Entries) -> Vec<(String, String)> {
    let entries: Vec<Entry> = all(place, 0).try_collect().await.expect("readable");
    let text = |entry: Entry| (entry.key, String::from_utf8_lossy(&entry.value).into_owned());
    let mut all: Vec<_> = entries.into_iter().map(text).collect();
    all.sort_unstable();
    all
}

const TASK: &str = "tasks/0a/task/0b/1";

#[tokio::test(flavor = "multi_thread")]
async fn what_a_machine_keeps_is_in_a_store_and_on_another_machine_afterwards() {
    let [one, two, three] = [folder(), folder(), folder()];
    let old = machine(one.path());
    let revoked = Digest::of(b"revoked");
    old.pins.update(|pins| pins.revoke(&PluginId::parse("notes").expect("a name"), revoked)).expect("written");
    let request = old.approvals.request(deed("ada"), false, DAY).expect("there is room");
    old.approvals.decide(&request.id, Decision::Denied).expect("written");
    assert!(old.approvals.spend("answer", "ada", DAY).expect("written"));
    let proposal = Proposal { reference: "oci://a.example/x".into(), reason: String::new(), by: "ada".into() };
    old.proposals.add(proposal.clone()).expect("written");
    let later = now() + 60_000;
    write(&old, &[put(VALUE, "v", None), put(TASK, "{}", Some(later)), put("tasks/0a/task/0b/2", "{}", Some(1))]).await;

    let (store, place) = (store(two.path()), shared(two.path()));
    let moved = migrated(&old, &place, "one", now()).await.expect("moved");
    let expected = Moved { tasks: 1, values: 1, approvals: 2, pins: 1, proposals: 1, other: 0, left: 0 };
    assert_eq!(moved, expected);
    let document = |key| Document::new(store.clone(), key, "the store", Handle::current());
    let pins = PinFile::in_store(three.path().to_owned(), document(pins::KEY)).read().expect("pins");
    assert!(pins.is_revoked(revoked));
    let approvals = Approvals::in_store(document(approvals::KEY));
    let wanted = Wanted { once: false, of_operator: false, holds: DAY.as_secs() };
    assert_eq!(approvals.take(&deed("ada"), wanted).expect("readable"), Standing::Denied);
    assert!(!approvals.spend("answer", "ada", DAY).expect("written"), "it was used on the machine");
    assert!(approvals.spend("another", "ada", DAY).expect("written"));
    let task = store.get(TASK).await.expect("readable").expect("there");
    assert_eq!(task.expires, Some(later));
    assert_eq!((store.get(MARK).await, store.get(shared::TURN).await), (Ok(None), Ok(None)));

    write(&place, &[put("state-keys", "{}", None), put("budgets/a", "{}", None)]).await;
    let new = machine(three.path());
    let moved = migrated(&place, &new, "two", now()).await.expect("moved");
    assert_eq!(moved, Moved { approvals: 3, left: 2, ..expected });
    assert!(new.pins.read().expect("pins").is_revoked(revoked));
    assert_eq!(new.approvals.take(&deed("ada"), wanted).expect("readable"), Standing::Denied);
    for answer in ["answer", "another"] {
        assert!(!new.approvals.spend(answer, "ada", DAY).expect("written"), "{answer} was used");
    }
    assert_eq!(new.proposals.read().expect("readable"), [proposal]);
    assert_eq!(Entries::get(&new, VALUE).await, Ok(Some(b"v".to_vec())));
    assert_eq!(Entries::get(&new, TASK).await, Ok(Some(b"{}".to_vec())));
    // Nothing is left to do, and nothing is in the way.
    assert_eq!(migrated(&old, &place, "one", now()).await, Ok(expected));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_in_the_new_place_is_not_overwritten() {
    let [one, two] = [folder(), folder()];
    let (old, new) = (shared(one.path()), shared(two.path()));
    write(&old, &[put("pins", "a", None), put("state-keys", "a", None), put("tasks/0a/task/0b/1", "a", None)]).await;
    write(&new, &[put("pins", "b", None), put("state-keys", "b", None), put("keyvalue/x", "b", None)]).await;
    let before = all_of(&new).await;
    let refused = migrated(&old, &new, "one", now()).await;
    assert_eq!(refused, Err(MigrationError::Conflicts(vec!["pins".into()], 1)));
    assert_eq!(all_of(&new).await, before);
    // The new place's own keys stay.
    write(&new, &[put("pins", "a", None)]).await;
    migrated(&old, &new, "one", now()).await.expect("moved");
    assert_eq!(Entries::get(&new, "state-keys").await, Ok(Some(b"b".to_vec())));
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_moved_from_or_to_where_a_server_is() {
    let [one, two] = [folder(), folder()];
    let (old, new) = (shared(one.path()), shared(two.path()));
    write(&old, &[put("pins", "a", None)]).await;
    let lease = Lease::new(Ledger::new(store(one.path()), "plugins")).expect("random numbers");
    lease.renew().await.expect("written");
    let used = |is_new| Err(MigrationError::Used { is_new });
    assert_eq!(migrated(&old, &new, "one", now()).await, used(false));
    lease.leave().await.expect("written");
    let node = format!("{}a", nodes::PREFIX);
    write(&new, &[put(&node, "{}", Some(lease::expires(now())))]).await;
    assert_eq!(migrated(&old, &new, "one", now()).await, used(true));
    let server = format!("{}a", in_use::PREFIX);
    write(&new, &[put(&node, "{}", Some(1)), put(&server, "", Some(lease::expires(now())))]).await;
    assert_eq!(migrated(&old, &new, "one", now()).await, used(true));
    // One that was killed does not count for long, and is not moved.
    migrated(&old, &new, "one", now() + lease::LEASE).await.expect("moved");
    assert_eq!(migrated(&new, &old, "two", now() + lease::LEASE).await.expect("moved").other, 0);
}

/// Whatever a lease says by a clock that is wrong.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_counts_that_renews_its_lease_and_one_that_is_gone_does_not() {
    let folder = folder();
    let (place, patient) = (shared(folder.path()), Shared::new(store(folder.path())));
    let key = format!("{}a", in_use::PREFIX);
    for wrong in [now() - HOURS, now() + HOURS] {
        let lease = put(&key, "", Some(lease::expires(wrong)));
        write(&place, slice::from_ref(&lease)).await;
        assert_eq!(place.is_used(now()).await, Ok(false), "it is what one has left that was killed");
        let another = put(&format!("{}{wrong}", nodes::PREFIX), "{}", lease.expires);
        for renewed in [lease, another] {
            let renewing = async {
                loop {
                    write(&place, slice::from_ref(&renewed)).await;
                }
            };
            tokio::select! {
                used = patient.is_used(now()) => assert_eq!(used, Ok(true)),
                () = renewing => unreachable!("it has no end"),
            }
        }
    }
}

/// A place whose writes fail from one on, or that is written to while it is read.
struct Faulty {
    store: Shared,
    left: AtomicUsize,
    grows: bool,
}

#[async_trait]
impl Entries for Faulty {
    async fn read(&self, entries: &Sender<Entry>) -> Result<(), StoreError> {
        Entries::read(&self.store, entries).await?;
        if self.grows {
            let key = format!("tasks/0a/task/0b/{}", self.left.fetch_add(1, Ordering::Relaxed));
            Entries::put(&self.store, &put(&key, "{}", None)).await?;
        }
        Ok(())
    }

    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        Entries::get(&self.store, key).await
    }

    async fn put(&self, entry: &Entry) -> Result<bool, StoreError> {
        let takes = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        takes.map_err(|_| StoreError("full".into()))?;
        Entries::put(&self.store, entry).await
    }

    async fn remove(&self, key: &str) -> Result<(), StoreError> {
        Entries::remove(&self.store, key).await
    }

    async fn claim(&self, now: u64) -> Result<bool, StoreError> {
        self.store.claim(now).await
    }

    async fn release(&self) {
        self.store.release().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_that_failed_goes_on_and_no_other_one_mixes_with_it() {
    let [one, two] = [folder(), folder()];
    let (old, new) = (shared(one.path()), shared(two.path()));
    let entries: Vec<Entry> = (0..600).map(|n| put(&format!("tasks/0a/task/0b/{n}"), &n.to_string(), None)).collect();
    write(&old, &entries).await;
    write(&old, &[put("pins", "a", None)]).await;
    let faulty = Faulty { store: shared(two.path()), left: AtomicUsize::new(300), grows: false };
    let progress = Progress::default();
    assert_eq!(progress.to_string(), "looking for what is in the new place: 0 entries");
    let failed = migrate(&old, &faulty, "one", now(), &progress).await;
    assert_eq!(failed, Err(MigrationError::New(StoreError("full".into()))));
    let shown = progress.to_string();
    assert!(shown.starts_with("copying: ") && shown.ends_with(" of 601 entries"), "{shown}");
    assert_eq!(Entries::get(&new, "pins").await, Ok(Some(b"a".to_vec())), "they are first");
    assert_eq!(migrated(&old, &new, "other", now()).await, Err(MigrationError::Begun("one".into())));
    let third = folder();
    let unfinished = migrated(&new, &shared(third.path()), "two", now()).await;
    assert_eq!(unfinished, Err(MigrationError::Unfinished("one".into())));
    // What changed in the old place since then is not in the way.
    write(&old, &[put("tasks/0a/task/0b/0", "new", None)]).await;
    let done = migrate(&old, &new, "one", now(), &progress).await;
    assert_eq!(done.expect("moved").tasks, 600);
    // How many there are was not counted again.
    assert_eq!(progress.to_string(), "looking for what was written meanwhile: 601 entries");
    assert_eq!(all_of(&new).await, all_of(&old).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_place_that_is_written_to_meanwhile_is_not_called_migrated() {
    let [one, two] = [folder(), folder()];
    let (old, new) = (shared(one.path()), shared(two.path()));
    let growing = Faulty { store: shared(one.path()), left: AtomicUsize::new(0), grows: true };
    assert_eq!(migrated(&growing, &new, "one", now()).await, Err(MigrationError::Changed));
    migrated(&old, &new, "one", now()).await.expect("moved");
    assert_eq!(all_of(&new).await, all_of(&old).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_copy_at_a_time_and_one_that_died_does_not_count_for_long() {
    let [one, two, three] = [folder(), folder(), folder()];
    let (old, new) = (shared(one.path()), shared(two.path()));
    write(&old, &[put(TASK, "{}", None)]).await;
    let other = shared(two.path());
    assert_eq!(other.claim(now()).await, Ok(true));
    assert_eq!(migrated(&old, &new, "one", now()).await, Err(MigrationError::Used { is_new: true }));
    assert_eq!(migrated(&new, &old, "two", now()).await, Err(MigrationError::Used { is_new: false }));
    // As if it had been killed.
    drop(other);
    migrated(&old, &new, "one", now() + 61_000).await.expect("moved");
    let (here, there) = (machine(three.path()), machine(three.path()));
    assert_eq!(here.claim(now()).await, Ok(true));
    assert_eq!(migrated(&old, &there, "one", now()).await, Err(MigrationError::Used { is_new: true }));
    here.release().await;
    migrated(&old, &there, "one", now()).await.expect("moved");
    assert_eq!(there.get(MARK).await, Ok(None));
}
