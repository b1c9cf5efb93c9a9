//! What the nodes of one server spend of budgets, told to each other through the store.
//!
//! Each counts by itself, and a call waits for no other node. Two entries of a node say what it has spent: one often, of
//! the accounts that have changed, and one seldom, of all, for nodes that start. A node that is away from the store goes
//! on with what it knows.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{MissedTickBehavior, interval};

use crate::budgets::{Budgets, Spending};
use crate::json;
use crate::store::{Changed, OwnEntry, Page, Store, StoreError, now};

/// What the keys of all nodes begin with.
const PREFIX: &str = "budgets/";
const RECENT: &str = "recent";
const ALL: &str = "all";
/// How often it is told what has changed.
const INTERVAL: Duration = Duration::from_millis(250);
/// How often nothing new is told again while calls run: they count as running only while one hears of them.
const STILL_RUNNING: Duration = Duration::from_secs(1);
/// How often all is told, if something has changed.
const ALL_INTERVAL: Duration = Duration::from_secs(5);
/// Accounts in one entry, and bytes.
const MOST: usize = 2000;
const MOST_BYTES: usize = 512 << 10;
/// Entries of others that are read at the start: two of each node.
const MOST_ENTRIES: usize = 512;

/// An entry.
#[derive(Serialize, Deserialize)]
struct Report {
    /// Milliseconds since 1970.
    at: u64,
    accounts: Vec<Spending>,
}

/// Expired entries that are removed in one go.
const REMOVED: usize = 64;

/// One node's part.
struct Node {
    budgets: Arc<Budgets>,
    store: Arc<dyn Store>,
    id: String,
    recent: OwnEntry,
    all: OwnEntry,
    /// When it was told what has changed, and all.
    told: Option<Instant>,
    told_all: Option<Instant>,
    /// Whether something has changed since all was told.
    has_news: bool,
    is_away: bool,
    /// There were no budgets.
    had_none: bool,
}

/// Tells the others, and hears of them, until it is dropped. `id`: of this process.
pub async fn exchange(budgets: Arc<Budgets>, store: Arc<dyn Store>, id: String) -> Infallible {
    let mut changes = store.watch();
    let own = |what: &str| OwnEntry::new(format!("{PREFIX}{id}/{what}"));
    let mut node = Node {
        recent: own(RECENT),
        all: own(ALL),
        budgets,
        store,
        id,
        told: None,
        told_all: None,
        has_news: false,
        is_away: false,
        had_none: false,
    };
    node.had_none = node.budgets.is_empty();
    let mut ticks = interval(INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // What was told before this one started.
    let mut changed = Some(Changed::All);
    loop {
        if let Some(changed) = changed.take() {
            let heard = node.hear(&changed).await;
            node.note(heard);
        }
        tokio::select! {
            _ = ticks.tick() => {
                let told = node.tell().await;
                node.note(told);
                // The first ones: what was spent before is to be known.
                if std::mem::replace(&mut node.had_none, node.budgets.is_empty()) && !node.had_none {
                    changed = Some(Changed::All);
                }
            }
            heard = changes.recv() => changed = node.of_others(heard),
        }
    }
}

impl Node {
    /// Once for each time that it is away.
    fn note(&mut self, done: Result<(), StoreError>) {
        match done {
            Err(error) if !self.is_away => {
                tracing::warn!(%error, "budgets are counted by each node until the store answers again");
                self.is_away = true;
            }
            Err(_) => {}
            Ok(()) => self.is_away = false,
        }
    }

    /// A change that concerns this node.
    fn of_others(&self, heard: Result<Changed, RecvError>) -> Option<Changed> {
        match heard {
            Ok(Changed::Key(key)) => is_of_other(&key, &self.id).then_some(Changed::Key(key)),
            Ok(Changed::All) | Err(RecvError::Lagged(_)) => Some(Changed::All),
            // Its sender is in the store, which is ours.
            Err(RecvError::Closed) => None,
        }
    }

    async fn hear(&self, changed: &Changed) -> Result<(), StoreError> {
        if self.budgets.is_empty() {
            return Ok(());
        }
        match changed {
            Changed::Key(key) => {
                if let Some(entry) = self.store.get(key).await? {
                    self.charge(key, &entry.value);
                }
            }
            Changed::All => {
                let Page { entries, .. } =
                    self.store.list(PREFIX, "", MOST_ENTRIES, MOST_ENTRIES * MOST_BYTES / 8).await?;
                for entry in entries.iter().filter(|entry| is_of_other(&entry.key, &self.id)) {
                    self.charge(&entry.key, &entry.value);
                }
            }
        }
        Ok(())
    }

    /// What the entry of another node says.
    fn charge(&self, key: &str, value: &[u8]) {
        let Some(process) = process(key) else { return };
        let read = str::from_utf8(value).ok().and_then(|text| json::read::<Report>(text).ok());
        let Some(report) = read.filter(|report| report.accounts.len() <= MOST) else {
            tracing::warn!(key, "the store has a damaged entry of budgets, which is not counted");
            return;
        };
        let ago = Duration::from_millis(now().saturating_sub(report.at));
        self.budgets.spent_elsewhere(process, &report.accounts, (report.at, ago), Instant::now());
    }

    async fn tell(&mut self) -> Result<(), StoreError> {
        let recent = self.budgets.recent_spending(MOST);
        let is_due = |told: Option<Instant>, pause| told.is_none_or(|told| told.elapsed() >= pause);
        if !recent.accounts.is_empty() && (recent.has_changed || is_due(self.told, STILL_RUNNING)) {
            self.has_news |= recent.has_changed;
            self.write(&self.recent, recent.accounts).await?;
            self.told = Some(Instant::now());
        }
        if self.has_news && is_due(self.told_all, ALL_INTERVAL) {
            self.write(&self.all, self.budgets.spending(MOST)).await?;
            (self.told_all, self.has_news) = (Some(Instant::now()), false);
            // Of processes that have ended; a server without tasks removes nothing else.
            self.store.remove_expired(now(), REMOVED).await?;
        }
        Ok(())
    }

    async fn write(&self, own: &OwnEntry, accounts: Vec<Spending>) -> Result<(), StoreError> {
        let at = now();
        let report = Report { at, accounts: bounded(accounts) };
        let value = json::to_text(&report).map_err(|error| StoreError(error.to_string()))?;
        // By then all of it has come back.
        let expires = at.saturating_add(self.budgets.window().as_millis() as u64);
        own.put(&*self.store, value.into_bytes(), Some(expires)).await
    }
}

/// As many as an entry may have.
fn bounded(mut accounts: Vec<Spending>) -> Vec<Spending> {
    let mut bytes = 0;
    let fits = accounts.iter().position(|account| {
        bytes += account.size() + 128;
        bytes > MOST_BYTES
    });
    accounts.truncate(fits.unwrap_or(usize::MAX));
    accounts
}

/// The process that an entry is of.
fn process(key: &str) -> Option<&str> {
    key.strip_prefix(PREFIX)?.split_once('/').map(|(process, _)| process)
}

fn is_of_other(key: &str, own: &str) -> bool {
    process(key).is_some_and(|process| process != own)
}
