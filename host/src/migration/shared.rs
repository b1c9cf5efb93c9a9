//! A store for several nodes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::mpsc::Sender;
use tokio::time::{Instant, sleep_until};

use super::{Entries, MARK, says_who_lives};
use crate::store::{Durability, Entry, Expected, Put, Store, StoreError, Turn, lease, now};
use crate::sync::lock;
use crate::{in_use, nodes, tasks};

/// Who copies.
pub(super) const TURN: &str = "migration/turn";
/// Entries that are read at a time, and bytes of them.
const PAGE: usize = 256;
const PAGE_BYTES: usize = 1 << 20;
/// Between two looks at leases that are watched.
const PAUSE: Duration = Duration::from_millis(250);

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
    /// For how long leases are watched that are not current.
    pub(super) watched: Duration,
}

impl Shared {
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store, turn: Mutex::default(), watched: lease::WATCHED }
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

    /// Whether a server says that it lives. Leases that are not current are watched: a server that lives renews its own,
    /// however wrong the clocks are.
    pub(super) async fn is_used(&self, now: u64) -> Result<bool, StoreError> {
        let mut seen = HashMap::new();
        let is_current = |lease: &Entry| {
            seen.insert(lease.key.clone(), lease.version);
            lease::is_current(lease, now)
        };
        if self.is_any_lease(is_current).await? {
            return Ok(true);
        }
        if seen.is_empty() {
            return Ok(false);
        }
        let until = Instant::now() + self.watched;
        loop {
            sleep_until(until.min(Instant::now() + PAUSE)).await;
            let is_last = Instant::now() >= until;
            if self.is_any_lease(|lease| seen.get(&lease.key) != Some(&lease.version)).await? {
                return Ok(true);
            }
            if is_last {
                return Ok(false);
            }
        }
    }

    async fn is_any_lease(&self, mut is_it: impl FnMut(&Entry) -> bool + Send) -> Result<bool, StoreError> {
        for prefix in [nodes::PREFIX, in_use::PREFIX, tasks::PREFIX] {
            let mut after = String::new();
            loop {
                let page = self.store.keys(prefix, &after, PAGE).await?;
                for key in page.keys.iter().filter(|key| says_who_lives(key)) {
                    if self.store.get(key).await?.is_some_and(|lease| is_it(&lease)) {
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
