//! The keys with which the nodes of one server seal what their clients keep for them, shared in the store: whichever
//! node first finds that a new one is due makes it.
//!
//! A new key is in the store for a while before it is used, so that no node is handed anything whose key it has not
//! read. The ones before it stay good for two days: a client may be slow with an answer, or with the pages of a list.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{sleep, timeout};

use crate::json;
use crate::store::{Changed, Durability, Expected, Put, Store, StoreError};

/// Where they are.
pub const KEY: &str = "state-keys";
/// For how long one is used, in milliseconds.
const ROTATION: u64 = 24 * 3600 * 1000;
/// From when it is made until it is used, in milliseconds: by then all nodes have read it.
const AHEAD: u64 = 60 * 1000;
/// The one in use, or the next one, and two before it. Counted, not timed: a node whose clock is wrong must not remove
/// what others use.
const KEPT: usize = 3;
/// How often they are read again although nothing was heard of a change, and after an error.
const CHECK: Duration = Duration::from_secs(20);
const RETRY: Duration = Duration::from_secs(2);
/// How often a change is tried again if others made one meanwhile.
const ATTEMPTS: usize = 8;

/// A secret of 256 bits.
pub type StateKey = [u8; 32];

/// All of them, the oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Ring {
    keys: Vec<Dated>,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Dated {
    /// In base64url.
    key: String,
    /// From when on it is used, in milliseconds since 1970.
    from: u64,
}

impl std::fmt::Debug for Dated {
    /// Without the key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Dated").field(&self.from).finish()
    }
}

impl Ring {
    fn parse(value: &[u8]) -> Option<Self> {
        let ring: Self = json::read(str::from_utf8(value).ok()?).ok()?;
        let is_good = (1..=KEPT).contains(&ring.keys.len()) && ring.keys.iter().all(|dated| dated.secret().is_some());
        is_good.then_some(ring)
    }

    /// With a new key, if one is due.
    fn renewed(&self, now: u64, fresh: &StateKey) -> Option<Self> {
        let from = match self.keys.last() {
            None => now,
            Some(newest) if newest.from.saturating_add(ROTATION) <= now => now + AHEAD,
            Some(_) => return None,
        };
        let mut keys = self.keys.clone();
        keys.push(Dated { key: URL_SAFE_NO_PAD.encode(fresh), from });
        keys.drain(..keys.len().saturating_sub(KEPT));
        Some(Self { keys })
    }

    /// The one in use, then the others.
    fn in_use(&self, now: u64) -> Vec<StateKey> {
        let current = self.keys.iter().rposition(|dated| dated.from <= now).unwrap_or_default();
        let mut keys = self.keys.clone();
        if current < keys.len() {
            keys[..=current].rotate_right(1);
        }
        keys.iter().filter_map(Dated::secret).collect()
    }

    /// How long it stays as it is, at most [`CHECK`].
    fn rests(&self, now: u64) -> Duration {
        let next = self.keys.iter().map(|dated| dated.from).find(|from| *from > now);
        next.map_or(CHECK, |next| Duration::from_millis(next - now).min(CHECK))
    }
}

impl Dated {
    fn secret(&self) -> Option<StateKey> {
        URL_SAFE_NO_PAD.decode(&self.key).ok()?.try_into().ok()
    }
}

/// Reads the keys, makes the first and the next ones, and hands them on whenever they change: first the one to use, then
/// the others. `now`: milliseconds since 1970. Ends only if dropped.
pub async fn share(store: Arc<dyn Store>, now: impl Fn() -> u64, mut change: impl FnMut(&[StateKey])) -> Infallible {
    let (mut changes, mut current, mut failed) = (store.watch(), Vec::new(), false);
    loop {
        let rest = match due(&*store, now()).await {
            Ok(ring) => {
                let keys = ring.in_use(now());
                if keys != current {
                    change(&keys);
                    current = keys;
                }
                if std::mem::take(&mut failed) {
                    tracing::info!("the keys of request states are read from the store again");
                }
                ring.rests(now())
            }
            Err(error) => {
                if !std::mem::replace(&mut failed, true) {
                    tracing::warn!(
                        "failed to read the keys of request states from the store, so that this node goes on with those that it has: {error}"
                    );
                }
                RETRY
            }
        };
        // What it is does not matter: it is looked at again.
        let _ = timeout(rest, changed(&mut changes)).await;
    }
}

/// Resolves when the keys may have changed.
async fn changed(changes: &mut broadcast::Receiver<Changed>) {
    loop {
        match changes.recv().await {
            Ok(Changed::Key(key)) if key != KEY => {}
            Ok(_) | Err(RecvError::Lagged(_)) => return,
            Err(RecvError::Closed) => sleep(CHECK).await,
        }
    }
}

/// What is in the store, with a new key if one was due.
async fn due(store: &dyn Store, now: u64) -> Result<Ring, StoreError> {
    for _ in 0..ATTEMPTS {
        let entry = store.get(KEY).await?;
        let damaged = || StoreError(format!("its entry {KEY} is damaged: remove it, and restart the nodes"));
        let ring = match &entry {
            Some(entry) => Ring::parse(&entry.value).ok_or_else(damaged)?,
            None => Ring::default(),
        };
        let mut fresh = StateKey::default();
        getrandom::fill(&mut fresh).map_err(|error| StoreError(format!("no random numbers: {error}")))?;
        let Some(renewed) = ring.renewed(now, &fresh) else { return Ok(ring) };
        let put = Put {
            key: KEY.into(),
            value: serde_json::to_vec(&renewed).map_err(|error| StoreError(error.to_string()))?,
            expected: entry.map_or(Expected::Absent, |entry| Expected::Version(entry.version)),
            durability: Durability::Power,
            expires: None,
        };
        if store.put(put).await?.is_some() {
            return Ok(renewed);
        }
    }
    Err(StoreError("others change the keys all the time".into()))
}

#[cfg(test)]
mod tests;
