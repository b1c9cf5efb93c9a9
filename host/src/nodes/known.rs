//! What the store says of the other nodes.
//!
//! A store that does not answer makes no node unknown: what it said a while ago is used, since a connection shows whether
//! that is still so.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::{NodeId, Said, key_of};
use crate::json;
use crate::store::{Store, StoreError, lease, now};
use crate::sync::lock;

/// For how long the store is not asked again.
pub(super) const FRESH: Duration = Duration::from_secs(1);
/// How long the store may take before what it said earlier is used.
const PATIENCE: Duration = Duration::from_millis(500);
/// For how long that can be used.
const KEPT: Duration = Duration::from_mins(5);
/// Nodes that are remembered.
const MOST: usize = 4096;

/// What is known of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) address: String,
    /// The store does not show that it lives. It may be cut off from the store, or a clock may be wrong: a connection
    /// shows whether it does.
    pub(super) is_late: bool,
}

#[derive(Debug, Clone)]
struct Answer {
    found: Option<Found>,
    /// When the store said so, or the node itself.
    given: Instant,
    /// When the store was asked last, though it may not have answered.
    asked: Instant,
}

type Answers = Mutex<HashMap<NodeId, Answer>>;

pub(super) struct Known {
    store: Arc<dyn Store>,
    answers: Arc<Answers>,
}

impl Known {
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        Self { store, answers: Arc::default() }
    }

    /// What is known of a node. `None`: it does not live.
    ///
    /// # Errors
    /// If the store cannot be used, and has not said anything of that node lately.
    pub(super) async fn find(&self, node: NodeId) -> Result<Option<Found>, StoreError> {
        let known = lock(&self.answers).get(&node).cloned();
        if let Some(answer) = known.as_ref().filter(|answer| answer.asked.elapsed() < FRESH) {
            return Ok(answer.found.clone());
        }
        let asking = ask(self.store.clone(), self.answers.clone(), node);
        let earlier = known.filter(|answer| answer.given.elapsed() < KEPT).and_then(|answer| answer.found);
        let Some(earlier) = earlier else { return asking.await };
        // It goes on when it is not waited for any more: what a slow store says is there for whoever asks next.
        if let Ok(Ok(Ok(found))) = timeout(PATIENCE, tokio::spawn(asking)).await {
            return Ok(found);
        }
        Ok(match lock(&self.answers).get_mut(&node) {
            Some(answer) => {
                answer.asked = Instant::now();
                answer.found.clone()
            }
            None => Some(earlier),
        })
    }

    /// What a connection has shown, or the lack of one.
    pub(super) fn remember(&self, node: NodeId, found: Option<Found>) {
        remember(&self.answers, node, found);
    }
}

async fn ask(store: Arc<dyn Store>, answers: Arc<Answers>, node: NodeId) -> Result<Option<Found>, StoreError> {
    // Before it is read: this process may be stopped for a while just after that.
    let now = now();
    let entry = store.get(&key_of(node)).await?.filter(|entry| !entry.has_expired(now));
    let found = entry.and_then(|entry| {
        let Said { address } = json::read(str::from_utf8(&entry.value).ok()?).ok()?;
        Some(Found { address, is_late: !lease::is_current(&entry, now) })
    });
    remember(&answers, node, found.clone());
    Ok(found)
}

fn remember(answers: &Answers, node: NodeId, found: Option<Found>) {
    let mut answers = lock(answers);
    if answers.len() >= MOST {
        answers.clear();
    }
    let now = Instant::now();
    answers.insert(node, Answer { found, given: now, asked: now });
}
