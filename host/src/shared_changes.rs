//! What calls on one node change, told to clients of the others through the store: resources that were updated, and
//! plugins that offer something else.
//!
//! Each node has an entry with its last changes, numbered. Who has missed some takes it that anything may have changed:
//! clients read again what they are subscribed to.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::{MissedTickBehavior, interval};

use crate::json;
use crate::plugin::PluginId;
use crate::server::{OwnChanges, Server};
use crate::store::{Entry, OwnEntry, Store, StoreError, Unread, now};

/// What the keys of all nodes begin with.
const PREFIX: &str = "changes/";
/// How often it is told what has changed.
const INTERVAL: Duration = Duration::from_millis(250);
/// Changes in one entry: what is read later than after so many has a gap.
const KEPT: usize = 8;
/// For how long an entry is kept, in milliseconds: those who hear of it read it at once.
const EXPIRES: u64 = 60_000;
/// Nodes whose numbers are remembered.
const MOST: usize = 4096;
/// Bytes of an entry: more than rounds have.
const MAX_ENTRY: usize = 1 << 20;

/// Changes that were told together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Round {
    number: u64,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    resources: BTreeSet<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    any: bool,
    /// Names of plugins.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    lists: BTreeSet<String>,
}

/// What this node hears of the others.
#[derive(Default)]
struct Heard {
    /// The number of the last round of each node, by key.
    last: HashMap<String, u64>,
    /// A damaged entry was named; there may be many.
    has_warned: bool,
}

impl Heard {
    /// What is new in an entry.
    fn news(&mut self, Entry { key, value, .. }: &Entry) -> OwnChanges {
        let Some(rounds) = read(value) else {
            if !std::mem::replace(&mut self.has_warned, true) {
                tracing::warn!(key, "the store has damaged entries of changes, which nobody is told of");
            }
            return OwnChanges::default();
        };
        self.new_in(key, &rounds)
    }

    /// What is new in the entry of a node.
    fn new_in(&mut self, key: &str, rounds: &[Round]) -> OwnChanges {
        let mut changes = OwnChanges::default();
        let Some(newest) = rounds.last() else { return changes };
        if self.last.len() >= MOST && !self.last.contains_key(key) {
            // Nodes that are gone. Those that live are heard of again, from their last round on.
            self.last.clear();
        }
        let last = self.last.insert(key.to_owned(), newest.number).unwrap_or_default();
        // Numbers only grow.
        changes.any = newest.number < last || rounds.first().is_some_and(|first| first.number.saturating_sub(1) > last);
        for round in rounds.iter().filter(|round| round.number > last) {
            changes.any |= round.any;
            changes.resources.extend(round.resources.iter().cloned());
            changes.lists.extend(round.lists.iter().filter_map(|name| PluginId::parse(name).ok()));
        }
        changes
    }
}

/// Tells the others, and hears of them, until it is dropped. `id`: of this process.
pub async fn exchange(server: Arc<Server>, store: Arc<dyn Store>, id: String) -> Infallible {
    let own = OwnEntry::new(format!("{PREFIX}{id}"));
    let mut changes = store.watch();
    let (mut unread, mut heard) = (Unread::new(PREFIX, own.key().to_owned()), Heard::default());
    let (mut rounds, mut is_away) = (VecDeque::new(), false);
    let mut untold = OwnChanges::default();
    server.take_own_changes();
    let mut ticks = interval(INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut note = |done: Result<(), StoreError>| match done {
        Err(error) if !is_away => {
            is_away = true;
            tracing::warn!(%error, "other nodes are not told of changes until the store answers again");
        }
        Err(_) => {}
        Ok(()) => is_away = false,
    };
    // What was told before this one started is no news.
    unread.all();
    note(unread.read(&*store, |entry| drop(heard.news(&entry))).await);
    loop {
        tokio::select! {
            _ = ticks.tick() => {
                unread.next_turn();
                untold.add(server.take_own_changes());
                if !untold.is_empty() {
                    let told = tell(&*store, &own, &untold, &mut rounds).await;
                    if told.is_ok() {
                        untold = OwnChanges::default();
                    }
                    note(told);
                }
            }
            changed = changes.recv() => unread.heard(changed),
        }
        if unread.is_due() {
            let mut elsewhere = OwnChanges::default();
            note(unread.read(&*store, |entry| elsewhere.add(heard.news(&entry))).await);
            server.changed_elsewhere(&elsewhere);
        }
    }
}

/// `None`: the entry is damaged.
fn read(value: &[u8]) -> Option<Vec<Round>> {
    let text = str::from_utf8(value).ok().filter(|text| text.len() <= MAX_ENTRY)?;
    json::read(text).ok()
}

/// Writes a round after those before. If that fails, there is none.
async fn tell(
    store: &dyn Store,
    own: &OwnEntry,
    changes: &OwnChanges,
    rounds: &mut VecDeque<Round>,
) -> Result<(), StoreError> {
    let OwnChanges { resources, any, lists } = changes.clone();
    let number = rounds.back().map_or(1, |round| round.number.saturating_add(1));
    let lists = lists.iter().map(ToString::to_string).collect();
    let mut told = rounds.clone();
    told.push_back(Round { number, resources, any, lists });
    if told.len() > KEPT {
        told.pop_front();
    }
    let value = json::to_text(&told).map_err(|error| StoreError(error.to_string()))?.into_bytes();
    own.put(store, value, Some(now().saturating_add(EXPIRES))).await?;
    *rounds = told;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(number: u64, resource: &str) -> Round {
        let lists = BTreeSet::from(["notes".to_owned()]);
        Round { number, resources: BTreeSet::from([resource.to_owned()]), any: false, lists }
    }

    #[test]
    fn changes_are_heard_once_and_a_gap_is_noticed() {
        let mut heard = Heard::default();
        let first = [round(1, "a"), round(2, "b")];
        let changes = heard.new_in("changes/1", &first);
        assert_eq!((changes.resources.len(), changes.any, changes.lists.len()), (2, false, 1));
        assert!(heard.new_in("changes/1", &first).is_empty());
        let changes = heard.new_in("changes/1", &[round(2, "b"), round(3, "c")]);
        assert_eq!((changes.resources, changes.any), (BTreeSet::from(["c".to_owned()]), false));
        let changes = heard.new_in("changes/1", &[round(5, "e"), round(6, "f")]);
        assert!(changes.any && changes.resources.len() == 2);
        // What no node writes.
        assert!(heard.new_in("changes/3", &[round(u64::MAX, "a")]).any);
        assert!(heard.new_in("changes/3", &[round(5, "a")]).any);
        assert!(!heard.new_in("changes/3", &[round(6, "b")]).any);
        // Each node has numbers of its own.
        assert!(!heard.new_in("changes/2", &[round(1, "a")]).any);
    }

    #[test]
    fn nodes_that_are_gone_are_forgotten() {
        let mut heard = Heard::default();
        for node in 0..=MOST {
            heard.new_in(&format!("changes/{node}"), &[round(1, "a")]);
        }
        assert!(heard.last.len() <= MOST);
    }
}
