//! The records of one server in the store.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::sleep;

use crate::json;
use crate::store::{Changed, Durability, Expected, Put, Store, StoreError, Usage, lease};

use super::record::Record;

/// What the keys of all begin with.
pub const PREFIX: &str = "tasks/";
/// How often a change is tried again if others changed the record meanwhile.
const ATTEMPTS: usize = 64;
/// Entries that are looked at, at a time.
const PAGE: usize = 1000;
/// Bytes of records after which no more are read at a time.
const LISTED: usize = 1 << 20;
/// Bytes of a record that is read on the thread that asks for it.
const SMALL: usize = 64 << 10;

/// A record as it was read.
#[derive(Debug, Clone)]
pub struct Kept {
    pub record: Record,
    pub version: u64,
}

/// Some tasks, each with its key.
#[derive(Debug, Default)]
pub struct Listed {
    pub tasks: Vec<(String, Record)>,
    /// Where the next ones begin, if there may be some.
    pub next: Option<String>,
}

/// The records of the servers of one plugin folder.
#[derive(Clone)]
pub struct Ledger {
    store: Arc<dyn Store>,
    /// Begins all keys.
    space: Arc<str>,
}

/// Whether the key is that of a task, of whatever plugin folder.
pub fn is_task(key: &str) -> bool {
    part(key) == Some("task")
}

/// Whether the entry of that key says that a process lives, while it has not expired.
pub fn is_lease(key: &str) -> bool {
    part(key) == Some("node")
}

/// What the keys of one server go on with.
fn part(key: &str) -> Option<&str> {
    key.strip_prefix(PREFIX)?.split('/').nth(1)
}

impl Ledger {
    /// `server` is the same for all processes that serve the same.
    pub fn new(store: Arc<dyn Store>, server: &str) -> Self {
        Self { store, space: format!("{PREFIX}{}", hash(server)).into() }
    }

    /// Finds a task of whatever plugin folder, with the records it is among.
    ///
    /// # Errors
    /// If the store cannot be used.
    pub async fn find(store: &Arc<dyn Store>, id: &str) -> Result<Option<(Self, String, Record)>, StoreError> {
        let mut after = String::new();
        loop {
            let page = store.list(PREFIX, &after, PAGE, LISTED).await?;
            for entry in &page.entries {
                if let Some((space, _)) = entry.key.split_once("/task/")
                    && Record::id_of(&entry.key) == id
                {
                    let ledger = Self { store: store.clone(), space: space.into() };
                    return Ok(ledger.read(&entry.key).await?.map(|kept| (ledger, entry.key.clone(), kept.record)));
                }
            }
            match page.entries.last().filter(|_| page.more) {
                Some(last) => after.clone_from(&last.key),
                None => return Ok(None),
            }
        }
    }

    pub(super) fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    pub(super) fn key_of_node(&self, node: &str) -> String {
        format!("{}/node/{node}", self.space)
    }

    pub(super) fn key_of_run(&self, node: &str, run: &str) -> String {
        format!("{}/run/{node}/{run}", self.space)
    }

    /// The prefix of all that run.
    pub(super) fn runs(&self) -> String {
        format!("{}/run/", self.space)
    }

    fn all(&self) -> String {
        format!("{}/task/", self.space)
    }

    fn all_of(&self, principal: &str) -> String {
        format!("{}{}/", self.all(), hash(principal))
    }

    /// Where a task is. `None`: the text is no id.
    pub fn key(&self, principal: &str, id: &str) -> Option<String> {
        Record::is_id(id).then(|| format!("{}{id}", self.all_of(principal)))
    }

    /// Adds a record; how many bytes it takes. When it returns, every process finds it, also after a power failure.
    ///
    /// # Errors
    /// If the store cannot be used.
    pub async fn add(&self, record: &Record) -> Result<u64, StoreError> {
        let put = self.put(record, Expected::Absent, Durability::Power)?;
        let bytes = put.key.len() + put.value.len();
        match self.store.put(put).await? {
            Some(_) => Ok(bytes as u64),
            None => Err(StoreError("there is a task of that id".into())),
        }
    }

    /// # Errors
    /// If the store cannot be used, or the record is damaged.
    pub async fn get(&self, principal: &str, id: &str) -> Result<Option<Kept>, StoreError> {
        match self.key(principal, id) {
            Some(key) => self.read(&key).await,
            None => Ok(None),
        }
    }

    /// By its key, as [`Self::key`] makes it. One that has expired is not there.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub async fn read(&self, key: &str) -> Result<Option<Kept>, StoreError> {
        let Some(entry) = self.store.get(key).await? else { return Ok(None) };
        let version = entry.version;
        let record = match entry.value.len() {
            ..=SMALL => parse(&entry.value)?,
            _ => spawn_blocking(move || parse(&entry.value)).await.map_err(|error| StoreError(error.to_string()))??,
        };
        let kept = Kept { record, version };
        Ok((kept.record.expires() > super::now()).then_some(kept))
    }

    /// Changes a record, whoever changes it meanwhile. `change` returns `None` if there is nothing to change; it may
    /// run several times. `None`: there is no record, or nothing was changed.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub async fn change<R>(
        &self,
        key: &str,
        durability: Durability,
        mut change: impl FnMut(&mut Record) -> Option<R> + Send,
    ) -> Result<Option<(Record, R)>, StoreError> {
        for _ in 0..ATTEMPTS {
            let Some(Kept { mut record, version }) = self.read(key).await? else { return Ok(None) };
            let Some(result) = change(&mut record) else { return Ok(None) };
            let put = self.put(&record, Expected::Version(version), durability)?;
            if self.store.put(put).await?.is_some() {
                return Ok(Some((record, result)));
            }
        }
        Err(StoreError("others change the task all the time".into()))
    }

    /// Some of the tasks of one principal, or of all, after a key, in the order of their keys.
    ///
    /// # Errors
    /// If the store cannot be used.
    pub async fn list(&self, principal: Option<&str>, after: &str, limit: usize) -> Result<Listed, StoreError> {
        let prefix = principal.map_or_else(|| self.all(), |principal| self.all_of(principal));
        let page = self.store.list(&prefix, after, limit, LISTED).await?;
        let next = page.entries.last().filter(|_| page.more).map(|entry| entry.key.clone());
        let read = move || {
            let now = super::now();
            // One that is damaged hides no other.
            let read = page.entries.into_iter().filter_map(|entry| Some((entry.key, parse(&entry.value).ok()?)));
            read.filter(|(_, record)| record.expires() > now).collect()
        };
        // They may be megabytes.
        let tasks = spawn_blocking(read).await.map_err(|error| StoreError(error.to_string()))?;
        Ok(Listed { tasks, next })
    }

    /// What is kept of one principal, or of all.
    ///
    /// # Errors
    /// If the store cannot be used.
    pub async fn usage(&self, principal: Option<&str>) -> Result<Usage, StoreError> {
        let prefix = principal.map_or_else(|| self.all(), |principal| self.all_of(principal));
        self.store.usage(&prefix).await
    }

    /// Which of these processes live. If leases do not show it, that takes as long as `watched`: who lives renews them.
    ///
    /// # Errors
    /// If the store cannot be used.
    pub async fn living(&self, nodes: &BTreeSet<String>, watched: Duration) -> Result<BTreeSet<String>, StoreError> {
        // Before they are read: this process may be stopped for a while just after that.
        let now = super::now();
        let (mut living, mut others) = (BTreeSet::new(), Vec::new());
        for node in nodes {
            let key = self.key_of_node(node);
            match self.store.get(&key).await? {
                Some(entry) if lease::is_current(&entry, now) => drop(living.insert(node.clone())),
                Some(entry) => others.push((node, key, entry.version)),
                None => {}
            }
        }
        if others.is_empty() {
            return Ok(living);
        }
        sleep(watched).await;
        for (node, key, version) in others {
            if self.store.get(&key).await?.is_some_and(|entry| entry.version != version) {
                living.insert(node.clone());
            }
        }
        Ok(living)
    }

    /// Removes tasks that have expired; returns how many.
    ///
    /// # Errors
    /// If the store cannot be used.
    pub async fn remove_expired(&self, limit: usize) -> Result<usize, StoreError> {
        self.store.remove_expired(super::now(), limit).await
    }

    /// The keys of tasks that change, in whatever process.
    pub fn watch(&self) -> tokio::sync::broadcast::Receiver<Changed> {
        self.store.watch()
    }

    fn put(&self, record: &Record, expected: Expected, durability: Durability) -> Result<Put, StoreError> {
        let value = serde_json::to_vec(record).map_err(|error| StoreError(error.to_string()))?;
        let key = format!("{}{}", self.all_of(record.requester.name()), record.id);
        Ok(Put { key, value, expected, durability, expires: Some(record.expires()) })
    }
}

fn parse(value: &[u8]) -> Result<Record, StoreError> {
    let damaged = |why: String| StoreError(format!("a task's record is damaged: {why}"));
    let text = str::from_utf8(value).map_err(|error| damaged(error.to_string()))?;
    json::read(text).map_err(|error| damaged(error.to_string()))
}

/// Names may be long, and have any characters.
fn hash(name: &str) -> String {
    let mut hash = blake3::hash(name.as_bytes()).to_hex().to_string();
    hash.truncate(32);
    hash
}
