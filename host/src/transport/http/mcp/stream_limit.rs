//! Limits the long-lived streams. At the limit, the oldest stream of the caller with the most is
//! evicted for a caller with fewer.
//!
//! It does not know what the streams carry.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};

use futures_util::{Stream, StreamExt as _};
use tokio_util::sync::CancellationToken;

use crate::server::{Counted, OpenKind, Server};
use crate::sync::lock;

pub(super) struct StreamLimit {
    max: usize,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    next: u64,
    all: usize,
    /// By caller, the oldest stream first.
    of: HashMap<Arc<str>, BTreeMap<u64, CancellationToken>>,
}

/// The right to one stream, until it is dropped.
pub(super) struct StreamPermit {
    limit: Arc<StreamLimit>,
    caller: Arc<str>,
    number: u64,
    ended: CancellationToken,
    counted: Counted,
}

impl StreamLimit {
    pub(super) fn new(max: usize) -> Arc<Self> {
        Arc::new(Self { max, open: Mutex::default() })
    }

    /// `None`: the limit is reached, and no caller has enough more streams than this one.
    pub(super) fn acquire(self: &Arc<Self>, caller: &Arc<str>) -> Option<StreamPermit> {
        let mut open = self.lock();
        if open.all >= self.max {
            let mine = open.of.get(caller).map_or(0, BTreeMap::len);
            let (_, most) = open.of.iter_mut().max_by_key(|(_, streams)| streams.len())?;
            if !should_evict(most.len(), mine) {
                return None;
            }
            // No longer counted: dropping its permit has no effect.
            most.pop_first()?.1.cancel();
            open.all -= 1;
        }
        let (number, ended) = (open.next, CancellationToken::new());
        open.next += 1;
        open.all += 1;
        open.of.entry(caller.clone()).or_default().insert(number, ended.clone());
        Some(StreamPermit { limit: self.clone(), caller: caller.clone(), number, ended, counted: Counted::default() })
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        lock(&self.open)
    }
}

/// Whether the caller with the `most` items loses one to a caller with `asking` items. If their
/// counts were only swapped, the two would evict each other forever.
pub(super) fn should_evict(most: usize, asking: usize) -> bool {
    asking + 1 < most
}

impl StreamPermit {
    /// The stream is one of those that are open.
    pub(super) fn counting(mut self, server: &Server) -> Self {
        self.counted = server.opened(OpenKind::Stream);
        self
    }

    /// Resolves when the stream is evicted.
    pub(super) async fn ended(&self) {
        self.ended.cancelled().await;
    }
}

impl Drop for StreamPermit {
    fn drop(&mut self) {
        let mut open = self.limit.lock();
        let Some(streams) = open.of.get_mut(&self.caller) else { return };
        let was_there = streams.remove(&self.number).is_some();
        if streams.is_empty() {
            open.of.remove(&self.caller);
        }
        if was_there {
            open.all -= 1;
        }
    }
}

/// The stream, ended when its permit is evicted.
pub(super) fn until_evicted<Event>(
    events: impl Stream<Item = Event> + Send,
    permit: Option<StreamPermit>,
) -> impl Stream<Item = Event> + Send {
    events.take_until(async move {
        match permit {
            Some(permit) => permit.ended().await,
            None => std::future::pending().await,
        }
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{StreamLimit, StreamPermit};

    fn has_ended(permit: &StreamPermit) -> bool {
        permit.ended.is_cancelled()
    }

    /// A caller that takes all streams does not block others, and is refused itself.
    #[test]
    fn the_caller_with_the_most_is_evicted() {
        let (alice, bob) = (Arc::from("alice"), Arc::from("bob"));
        let limit = StreamLimit::new(8);
        let mut all: Vec<StreamPermit> = (0..8).map(|_| limit.acquire(&alice).expect("free")).collect();
        assert!(limit.acquire(&alice).is_none());
        let bobs: Vec<StreamPermit> = (0..3).map(|_| limit.acquire(&bob).expect("it is shared")).collect();
        assert!(all[..3].iter().all(has_ended) && !all[3..].iter().any(has_ended), "the oldest are evicted");
        assert!(limit.acquire(&alice).is_none(), "alice still has the most");
        all.drain(..3);
        let fourth = limit.acquire(&bob).expect("five and three");
        assert!(limit.acquire(&bob).is_none() && limit.acquire(&alice).is_none(), "four and four");
        assert!(!bobs.iter().chain([&fourth]).any(has_ended));
        drop((all, bobs, fourth));
        let again: Vec<_> = (0..8).filter_map(|_| limit.acquire(&alice)).collect();
        assert_eq!(again.len(), 8, "all permits are released");
        drop(again);
        assert!(limit.lock().of.is_empty() && limit.lock().all == 0);
    }
}
