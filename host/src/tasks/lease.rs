//! Which process runs a task: each one that runs any says in the store that it lives.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::ledger::Ledger;
use crate::random_id::random_id;
use crate::store::lease::{self, Seen};
use crate::store::{Durability, Expected, OwnEntry, Put, StoreError};
use crate::sync::lock;

/// Tasks that are looked at in one go.
const LIMIT: usize = 4096;

/// What one process runs.
pub struct Lease {
    ledger: Ledger,
    node: String,
    /// Until when it lives.
    alive: OwnEntry,
    /// When it said last that it lives.
    renewed: Mutex<Option<Instant>>,
    /// The leases of other processes.
    seen: Seen,
}

/// A task whose process is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Orphan {
    /// Of the task.
    pub key: String,
    /// The process that ran it.
    pub node: String,
    run: String,
}

impl Lease {
    /// How often [`Self::renew`] must be called while anything runs, and how soon again if that failed.
    pub const RENEWAL: Duration = lease::RENEWAL;
    pub const RETRY: Duration = lease::RETRY;

    /// # Errors
    /// If the system's random number generator fails.
    pub fn new(ledger: Ledger) -> Result<Self, getrandom::Error> {
        let node = random_id::<8>()?;
        Ok(Self {
            alive: OwnEntry::new(ledger.key_of_node(&node)),
            ledger,
            node,
            renewed: Mutex::default(),
            seen: Seen::default(),
        })
    }

    /// This process.
    pub fn node(&self) -> &str {
        &self.node
    }

    /// This process lives.
    ///
    /// # Errors
    /// If the store cannot be used.
    pub async fn renew(&self) -> Result<(), StoreError> {
        let (now, began) = (super::now(), Instant::now());
        self.alive.put(&**self.ledger.store(), Vec::new(), Some(lease::expires(now))).await?;
        *lock(&self.renewed) = Some(began);
        Ok(())
    }

    /// Whether others know that this process lives, and will for a while.
    pub fn is_fresh(&self) -> bool {
        lock(&self.renewed).is_some_and(|renewed| renewed.elapsed() < Duration::from_millis(lease::LEASE / 2))
    }

    /// This process does not live any more.
    ///
    /// # Errors
    /// If the store cannot be used.
    pub async fn leave(&self) -> Result<(), StoreError> {
        *lock(&self.renewed) = None;
        self.alive.remove(&**self.ledger.store()).await
    }

    /// This process begins to run a task. To be called before its record says so. `run`: another text for each run.
    ///
    /// # Errors
    /// If the store cannot be used.
    pub async fn begin(&self, run: &str, key: &str, expires: u64) -> Result<(), StoreError> {
        let put = Put {
            key: self.ledger.key_of_run(&self.node, run),
            value: key.to_owned().into_bytes(),
            expected: Expected::Anything,
            durability: Durability::Process,
            expires: Some(expires),
        };
        self.ledger.store().put(put).await.map(drop)
    }

    /// This process does not run it any more. To be called after its record says so.
    ///
    /// # Errors
    /// If the store cannot be used.
    pub async fn end(&self, run: &str) -> Result<(), StoreError> {
        self.ledger.store().delete(&self.ledger.key_of_run(&self.node, run)).await.map(drop)
    }

    /// The tasks of processes that are gone.
    ///
    /// # Errors
    /// If the store cannot be used.
    pub async fn orphans(&self) -> Result<Vec<Orphan>, StoreError> {
        let prefix = self.ledger.runs();
        let mut alive: HashMap<String, bool> = HashMap::from([(self.node.clone(), true)]);
        let mut orphans = Vec::new();
        for entry in self.ledger.store().list(&prefix, "", LIMIT, usize::MAX).await?.entries {
            let Some((node, _)) = entry.key.strip_prefix(&prefix).and_then(|rest| rest.split_once('/')) else {
                continue;
            };
            let lives = match alive.get(node) {
                Some(lives) => *lives,
                None => {
                    let lives = self.lives(node).await?;
                    alive.insert(node.to_owned(), lives);
                    lives
                }
            };
            if !lives && let Ok(key) = String::from_utf8(entry.value) {
                orphans.push(Orphan { key, node: node.to_owned(), run: entry.key });
            }
        }
        Ok(orphans)
    }

    /// Whether another process lives, of which no clock alone says that it does not.
    async fn lives(&self, node: &str) -> Result<bool, StoreError> {
        let (now, at) = (super::now(), Instant::now());
        let entry = self.ledger.store().get(&self.ledger.key_of_node(node)).await?;
        Ok(entry.is_some_and(|entry| !self.seen.is_dead(&entry, now, at)))
    }

    /// Nobody needs to look at it any more.
    ///
    /// # Errors
    /// If the store cannot be used.
    pub async fn settle(&self, orphan: &Orphan) -> Result<(), StoreError> {
        self.ledger.store().delete(&orphan.run).await.map(drop)
    }
}
