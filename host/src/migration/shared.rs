//! A store for several nodes.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use tokio::sync::mpsc::Sender;

use super::{Entries, MARK, says_who_lives};
use crate::store::{Durability, Entry, Expected, Put, Store, StoreError, Turn, lease, now};
use crate::sync::lock;
use crate::{in_use, nodes, tasks};

/// Who copies.
pub(super) const TURN: &str = "migration/turn";
/// Entries that are read at a time, and bytes of them.
const PAGE: usize = 256;
const PAGE_BYTES: usize = 1 << 20;

/// Whether all is in the store that is to be there: nobody copies to it, from it, or has begun to.
///
/// # Errors
/// If the store cannot be used.
pub async fn is_whole(store: &dyn Store) -> Result<bool, StoreError> {
    let is_taken = store.get(TURN).await?.is_some_and(|turn| !turn.has_expired(now()));
    Ok(!is_taken && store.get(MARK).await?.is_none())
}

/// The entries of a store.
pub struct Shared {
    store: Arc<dyn Store>,
    turn: Mutex<Option<Turn>>,
}

impl Shared {
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store, turn: Mutex::default() }
    }

    /// Sends the entries whose keys begin so.
    pub(super) async fn read_below(&self, prefix: &str, entries: &Sender<Entry>) -> Result<(), StoreError> {
        let mut after = String::new();
        loop {
            let page = self.store.list(prefix, &after, PAGE, PAGE_BYTES).await?;
            let Some(last) = page.entries.last() else { return Ok(()) };
            after.clone_from(&last.key);
            for entry in page.entries {
                if entries.send(entry).await.is_err() {
                    return Ok(());
                }
            }
            if !page.more {
                return Ok(());
            }
        }
    }

    /// Whether a server says that it lives.
    pub(super) async fn is_used(&self, now: u64) -> Result<bool, StoreError> {
        for prefix in [nodes::PREFIX, in_use::PREFIX, tasks::PREFIX] {
            let mut after = String::new();
            loop {
                let page = self.store.keys(prefix, &after, PAGE).await?;
                for key in page.keys.iter().filter(|key| says_who_lives(key)) {
                    let entry = self.store.get(key).await?;
                    if entry.is_some_and(|entry| !lease::has_ended(&entry, now)) {
                        return Ok(true);
                    }
                }
                match page.keys.last().filter(|_| page.more) {
                    Some(last) => after.clone_from(last),
                    None => break,
                }
            }
        }
        Ok(false)
    }
}

#[async_trait]
impl Entries for Shared {
    async fn read(&self, entries: &Sender<Entry>) -> Result<(), StoreError> {
        self.read_below("", entries).await
    }

    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.store.get(key).await?.map(|entry| entry.value))
    }

    async fn put(&self, entry: &Entry) -> Result<bool, StoreError> {
        let Entry { key, value, expires, .. } = entry.clone();
        let put = Put { key, value, expected: Expected::Anything, durability: Durability::Power, expires };
        self.store.put(put).await.map(|_| true)
    }

    async fn remove(&self, key: &str) -> Result<(), StoreError> {
        self.store.delete(key).await.map(drop)
    }

    async fn claim(&self, now: u64) -> Result<bool, StoreError> {
        let Some(turn) = Turn::take(&self.store, TURN, now).await? else { return Ok(false) };
        *lock(&self.turn) = Some(turn);
        if self.is_used(now).await? {
            self.release().await;
            return Ok(false);
        }
        Ok(true)
    }

    async fn release(&self) {
        let turn = lock(&self.turn).take();
        if let Some(turn) = turn {
            turn.end().await;
        }
    }
}
