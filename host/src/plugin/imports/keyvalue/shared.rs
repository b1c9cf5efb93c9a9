//! Values in the store of several nodes: an entry for each key.
//!
//! Of one owner, this node writes one value at a time, after a look at what the owner has. Other nodes may write
//! meanwhile, so a quota is exceeded by at most one value of each of them. A batch is not one transaction.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

use async_trait::async_trait;
use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use tokio::runtime::Handle;

use super::limits::{BatchBytes, Limits, PAGE, check_batch, check_entry, refused, sum};
use super::name::{self, HASH};
use super::store::StoreError;
use super::values::{Entry, Owner, Page, Values};
use crate::plugin::limits::fair_semaphore::FairSemaphore;
use crate::seldom::Seldom;
use crate::store::{self, Durability, Expected, Put, Store};
use crate::sync::lock;

/// Requests of plugins at the same time: what else is in the store has to be found in time.
const AT_ONCE: u32 = 8;
/// Those that wait.
const WAITING: u32 = 4096;
/// Reads of one request at the same time.
const READS: usize = 4;
/// How often an increment is tried again if other nodes write the key.
const ATTEMPTS: usize = 64;

/// The store, and what keeps plugins from each other's way there.
pub(in crate::plugin) struct SharedStore {
    store: Arc<dyn Store>,
    runtime: Handle,
    requests: Arc<FairSemaphore>,
    /// Owners for whom something is written.
    turns: Mutex<HashMap<Arc<str>, Weak<Turn>>>,
    pub(super) failures: Seldom,
}

type Turn = tokio::sync::Mutex<()>;

impl SharedStore {
    pub(super) fn new(store: Arc<dyn Store>, runtime: Handle) -> Arc<Self> {
        let requests = FairSemaphore::new(AT_ONCE, WAITING, true);
        Arc::new(Self { store, runtime, requests, turns: Mutex::default(), failures: Seldom::default() })
    }

    /// Those who write for that owner take turns with it.
    fn turn(&self, owner: &Arc<str>) -> Arc<Turn> {
        let mut turns = lock(&self.turns);
        if let Some(turn) = turns.get(owner).and_then(Weak::upgrade) {
            return turn;
        }
        // As many as there are requests, and one.
        turns.retain(|_, turn| turn.strong_count() > 0);
        let turn = Arc::default();
        turns.insert(owner.clone(), Arc::downgrade(&turn));
        turn
    }
}

/// A bucket.
pub(super) struct SharedValues {
    plugin: Arc<str>,
    place: Place,
}

/// Where its entries are.
#[derive(Clone)]
struct Place {
    shared: Arc<SharedStore>,
    /// What the keys of all users of the plugin begin with.
    of_plugin: Arc<str>,
    /// Those of the owner.
    of_owner: Arc<str>,
    /// Those of the bucket.
    of_bucket: Arc<str>,
    limits: Limits,
}

impl SharedValues {
    pub(super) fn new(shared: Arc<SharedStore>, owner: &Owner) -> Self {
        let (plugin, subject) = (&*owner.plugin, owner.subject.as_deref());
        let (of_plugin, of_owner) = (name::of_plugin(plugin).into(), name::of_owner(plugin, subject).into());
        let of_bucket = name::of_bucket(plugin, subject, &owner.bucket).into();
        let place = Place { shared, of_plugin, of_owner, of_bucket, limits: owner.limits };
        Self { plugin: owner.plugin.clone(), place }
    }

    /// Runs a request when it is its turn. What has begun goes on when nobody waits for it any more: a write is not
    /// left half done, and a connection stays usable.
    async fn run<R: Send + 'static, F: Future<Output = Result<R, StoreError>> + Send + 'static>(
        &self,
        work: impl FnOnce(Place) -> F + Send + 'static,
    ) -> Result<R, StoreError> {
        let permit = self.place.shared.requests.acquire(&self.plugin).await;
        let permit = permit.ok_or_else(|| refused("too many requests wait for the store".into()))?;
        let work = work(self.place.clone());
        let task = self.place.shared.runtime.spawn(async move {
            let _permit = permit;
            work.await
        });
        task.await.unwrap_or_else(|error| Err(StoreError::Failed(error.to_string())))
    }
}

impl Place {
    fn name(&self, key: &str) -> String {
        name::of_key(&self.of_bucket, key)
    }

    /// The key of an entry; `None`: no plugin has written it.
    fn key(&self, name: &str) -> Option<String> {
        name::key(name.strip_prefix(&*self.of_bucket)?)
    }

    /// The hash in the name of an entry.
    fn hash(&self, name: &str) -> Option<u64> {
        u64::from_str_radix(name.strip_prefix(&*self.of_bucket)?.get(..HASH)?, 16).ok()
    }

    async fn get(&self, key: &str) -> Result<Option<store::Entry>, StoreError> {
        Ok(self.shared.store.get(&self.name(key)).await?)
    }

    async fn keys(&self, cursor: Option<u64>) -> Result<Page, StoreError> {
        // After all keys of that hash: `~` comes after the characters of names.
        let after = cursor.map(|hash| format!("{}{hash:016x}~", self.of_bucket)).unwrap_or_default();
        let mut page = self.shared.store.keys(&self.of_bucket, &after, PAGE).await?;
        let mut cursor = None;
        if page.more {
            // The next page may begin with a key of the same hash as the last one: it begins with all of them.
            let last = page.keys.last().and_then(|name| self.hash(name));
            let kept = page.keys.iter().rposition(|name| self.hash(name) != last).map_or(PAGE, |last| last + 1);
            page.keys.truncate(kept);
            cursor = page.keys.last().and_then(|name| self.hash(name));
        }
        Ok((page.keys.iter().filter_map(|name| self.key(name)).collect(), cursor))
    }

    async fn set(&self, key: &str, value: Vec<u8>) -> Result<(), StoreError> {
        self.change(key, |_| Ok((value.clone(), ()))).await
    }

    async fn increment(&self, key: &str, delta: u64) -> Result<u64, StoreError> {
        let add = |before: Option<&store::Entry>| {
            let sum = sum(before.map(|entry| entry.value.as_slice()), delta)?;
            let value = sum.to_string().into_bytes();
            check_entry(key, &value)?;
            Ok((value, sum))
        };
        self.change(key, add).await
    }

    /// Writes what `next` makes of what is there, and makes it again if that is something else by then: also a `set` does
    /// not replace whatever is there, since a write that had no answer may arrive later than the next one.
    async fn change<T>(
        &self,
        key: &str,
        next: impl Fn(Option<&store::Entry>) -> Result<(Vec<u8>, T), StoreError>,
    ) -> Result<T, StoreError> {
        let turn = self.shared.turn(&self.of_owner);
        let _turn = turn.lock().await;
        for _ in 0..ATTEMPTS {
            let before = self.get(key).await?;
            let (value, made) = next(before.as_ref())?;
            self.check(key, before.as_ref(), value.len()).await?;
            let expected = before.map_or(Expected::Absent, |entry| Expected::Version(entry.version));
            if self.put(key, value, expected).await?.is_some() {
                return Ok(made);
            }
        }
        Err(refused("other nodes change the value all the time".into()))
    }

    async fn put(&self, key: &str, value: Vec<u8>, expected: Expected) -> Result<Option<u64>, StoreError> {
        let put = Put { key: self.name(key), value, expected, durability: Durability::Process, expires: None };
        Ok(self.shared.store.put(put).await?)
    }

    /// Whether a value of that length may take the place of what is there. A write without growth is allowed: under a
    /// reduced quota a plugin must be able to make room.
    async fn check(&self, key: &str, before: Option<&store::Entry>, length: usize) -> Result<(), StoreError> {
        let (keys, added) = match before {
            Some(before) if before.value.len() >= length => return Ok(()),
            Some(before) => (0, length - before.value.len()),
            None => (1, self.counted(self.name(key).len()) + length),
        };
        let used = self.shared.store.usage(&self.of_owner).await?;
        // What names begin with is ours, not the plugin's.
        let ours = used.entries * (self.of_owner.len() + HASH) as u64;
        self.limits.check(used.entries + keys, used.bytes.saturating_sub(ours) + added as u64)?;
        if let Some(total) = self.limits.total {
            let together = self.shared.store.usage(&self.of_plugin).await?;
            let ours = together.entries * (self.of_owner.len() + HASH) as u64;
            Limits::check_total(total, together.bytes.saturating_sub(ours) + added as u64)?;
        }
        Ok(())
    }

    /// What counts of the length of a name: bucket and key, each a third longer than it is.
    fn counted(&self, name: usize) -> usize {
        name.saturating_sub(self.of_owner.len() + HASH)
    }
}

#[async_trait]
impl Values for SharedValues {
    async fn get(&self, key: String) -> Result<Option<Vec<u8>>, StoreError> {
        self.run(move |place| async move { Ok(place.get(&key).await?.map(|entry| entry.value)) }).await
    }

    async fn exists(&self, key: String) -> Result<bool, StoreError> {
        self.run(move |place| async move { Ok(place.get(&key).await?.is_some()) }).await
    }

    async fn get_many(&self, keys: Vec<String>) -> Result<Vec<Option<Entry>>, StoreError> {
        check_batch(keys.len())?;
        self.run(move |place| async move {
            let reads = keys.into_iter().map(|key| {
                let place = &place;
                async move { Ok::<_, StoreError>((place.get(&key).await?, key)) }
            });
            let (mut left, mut found) = (BatchBytes::NEW, Vec::new());
            let mut reads = stream::iter(reads).buffered(READS);
            while let Some((entry, key)) = reads.try_next().await? {
                left.take(entry.as_ref().map_or(0, |entry| entry.value.len()))?;
                found.push(entry.map(|entry| (key, entry.value)));
            }
            Ok(found)
        })
        .await
    }

    /// In the order of their hashes.
    async fn keys(&self, cursor: Option<u64>) -> Result<Page, StoreError> {
        self.run(move |place| async move { place.keys(cursor).await }).await
    }

    async fn set_many(&self, entries: Vec<Entry>) -> Result<(), StoreError> {
        check_batch(entries.len())?;
        entries.iter().try_for_each(|(key, value)| check_entry(key, value))?;
        self.run(move |place| async move {
            for (key, value) in entries {
                place.set(&key, value).await?;
            }
            Ok(())
        })
        .await
    }

    async fn delete_many(&self, keys: Vec<String>) -> Result<(), StoreError> {
        check_batch(keys.len())?;
        self.run(move |place| async move {
            for key in keys {
                place.shared.store.delete(&place.name(&key)).await?;
            }
            Ok(())
        })
        .await
    }

    async fn increment(&self, key: String, delta: u64) -> Result<u64, StoreError> {
        self.run(move |place| async move { place.increment(&key, delta).await }).await
    }
}
