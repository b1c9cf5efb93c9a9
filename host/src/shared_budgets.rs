//! What the nodes of one server spend of budgets, told to each other through the store.
//!
//! Each counts by itself, and a call waits for no other node. Two entries of a node say what it has spent: one often, of
//! the accounts that have changed, and one seldom, of all, for nodes that start. A node that is away from the store goes
//! on with what it knows.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tokio::time::{MissedTickBehavior, interval};

use crate::budgets::{Budgets, Spending};
use crate::json;
use crate::store::{Entry, OwnEntry, Store, StoreError, Unread, now};

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
    unread: Unread,
    recent: OwnEntry,
    all: OwnEntry,
    /// When it was told what has changed, and all.
    told: Option<Instant>,
    told_all: Option<Instant>,
    /// Whether something has changed since all was told.
    has_news: bool,
    is_away: bool,
    /// A damaged entry was named; there may be many.
    has_warned: bool,
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
        unread: Unread::new(PREFIX, format!("{PREFIX}{id}/")),
        told: None,
        told_all: None,
        has_news: false,
        is_away: false,
        has_warned: false,
        had_none: false,
    };
    node.had_none = node.budgets.is_empty();
    let mut ticks = interval(INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // What was told before this one started.
    node.unread.all();
    loop {
        if node.unread.is_due() && !node.budgets.is_empty() {
            let heard = node.hear().await;
            node.note(heard);
        }
        tokio::select! {
            _ = ticks.tick() => {
                node.unread.next_turn();
                let told = node.tell().await;
                node.note(told);
                // The first ones: what was spent before is to be known.
                if std::mem::replace(&mut node.had_none, node.budgets.is_empty()) && !node.had_none {
                    node.unread.all();
                }
            }
            heard = changes.recv() => node.unread.heard(heard),
        }
    }
}

impl Node {
    /// Once for each time that it is away. `done`: whether it was used.
    fn note(&mut self, done: Result<bool, StoreError>) {
        match done {
            Err(error) if !self.is_away => {
                tracing::warn!(%error, "budgets are counted by each node until the store answers again");
                self.is_away = true;
            }
            Err(_) | Ok(false) => {}
            Ok(true) => self.is_away = false,
        }
    }

    async fn hear(&mut self) -> Result<bool, StoreError> {
        let Self { unread, store, budgets, has_warned, .. } = self;
        let take = |entry: Entry| {
            if !charge(budgets, &entry) && !std::mem::replace(has_warned, true) {
                tracing::warn!(key = entry.key, "the store has damaged entries of budgets, which are not counted");
            }
        };
        unread.read(&**store, take).await.map(|()| true)
    }

    async fn tell(&mut self) -> Result<bool, StoreError> {
        let mut has_told = false;
        let recent = self.budgets.recent_spending(MOST);
        let is_due = |told: Option<Instant>, pause| told.is_none_or(|told| told.elapsed() >= pause);
        if !recent.accounts.is_empty() && (recent.has_changed || is_due(self.told, STILL_RUNNING)) {
            self.has_news |= recent.has_changed;
            self.write(&self.recent, recent.accounts).await?;
            (self.told, has_told) = (Some(Instant::now()), true);
        }
        if self.has_news && is_due(self.told_all, ALL_INTERVAL) {
            self.write(&self.all, self.budgets.spending(MOST)).await?;
            (self.told_all, self.has_news) = (Some(Instant::now()), false);
            // Of processes that have ended; a server without tasks removes nothing else.
            self.store.remove_expired(now(), REMOVED).await?;
            has_told = true;
        }
        Ok(has_told)
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

/// What the entry of another node says. `false`: it is damaged.
fn charge(budgets: &Budgets, Entry { key, value, .. }: &Entry) -> bool {
    let Some(process) = process(key) else { return false };
    let read = str::from_utf8(value).ok().and_then(|text| json::read::<Report>(text).ok());
    let Some(report) = read.filter(|report| report.accounts.len() <= MOST) else { return false };
    let ago = Duration::from_millis(now().saturating_sub(report.at));
    budgets.spent_elsewhere(process, &report.accounts, (report.at, ago), Instant::now());
    true
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
