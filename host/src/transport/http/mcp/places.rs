//! Streams that stay open until their client goes: so many in all. Where there are no more,
//! whoever has most of them gives one up for somebody who has fewer.
//!
//! It does not know what is said on them.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::{Stream, StreamExt as _};
use tokio_util::sync::CancellationToken;

pub(super) struct Places {
    most: usize,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    next: u64,
    all: usize,
    /// The oldest of each caller first.
    of: HashMap<Arc<str>, BTreeMap<u64, CancellationToken>>,
}

/// The right to one stream, until it is dropped.
pub(super) struct Place {
    places: Arc<Places>,
    caller: Arc<str>,
    number: u64,
    ended: CancellationToken,
}

impl Places {
    pub(super) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { most, taken: Mutex::default() })
    }

    /// `None`: there are as many as may be, and nobody has more of them than this caller.
    pub(super) fn take(self: &Arc<Self>, caller: &Arc<str>) -> Option<Place> {
        let mut taken = self.lock();
        if taken.all >= self.most {
            let mine = taken.of.get(caller).map_or(0, BTreeMap::len);
            let (_, most) = taken.of.iter_mut().max_by_key(|(_, streams)| streams.len())?;
            if !gives_way(most.len(), mine) {
                return None;
            }
            // It is counted no more; its place finds nothing when it is dropped.
            most.pop_first()?.1.cancel();
            taken.all -= 1;
        }
        let (number, ended) = (taken.next, CancellationToken::new());
        taken.next += 1;
        taken.all += 1;
        taken.of.entry(caller.clone()).or_default().insert(number, ended.clone());
        Some(Place { places: self.clone(), caller: caller.clone(), number, ended })
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether somebody who has most of what is taken has to give one up for somebody with so many.
/// If both had as many afterwards the other way round, they would take it from each other for ever.
pub(super) fn gives_way(most: usize, asking: usize) -> bool {
    asking + 1 < most
}

impl Place {
    /// Resolves when the place is somebody else's.
    pub(super) async fn ended(&self) {
        self.ended.cancelled().await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.lock();
        let Some(streams) = taken.of.get_mut(&self.caller) else { return };
        let was_there = streams.remove(&self.number).is_some();
        if streams.is_empty() {
            taken.of.remove(&self.caller);
        }
        if was_there {
            taken.all -= 1;
        }
    }
}

/// A stream for as long as its place is its own.
pub(super) fn seated<Event>(
    events: impl Stream<Item = Event> + Send,
    place: Option<Place>,
) -> impl Stream<Item = Event> + Send {
    events.take_until(async move {
        match place {
            Some(place) => place.ended().await,
            None => std::future::pending().await,
        }
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{Place, Places};

    fn has_ended(place: &Place) -> bool {
        place.ended.is_cancelled()
    }

    /// One who takes all keeps others from nothing, and is told to wait itself.
    #[test]
    fn who_has_most_gives_way() {
        let (alice, bob) = (Arc::from("alice"), Arc::from("bob"));
        let places = Places::new(8);
        let mut all: Vec<Place> = (0..8).map(|_| places.take(&alice).expect("free")).collect();
        assert!(places.take(&alice).is_none());
        let bobs: Vec<Place> = (0..3).map(|_| places.take(&bob).expect("it is shared")).collect();
        assert!(all[..3].iter().all(has_ended) && !all[3..].iter().any(has_ended), "the oldest went");
        assert!(places.take(&alice).is_none(), "alice has most still");
        all.drain(..3);
        let fourth = places.take(&bob).expect("five and three");
        assert!(places.take(&bob).is_none() && places.take(&alice).is_none(), "four and four");
        assert!(!bobs.iter().chain([&fourth]).any(has_ended));
        drop((all, bobs, fourth));
        let again: Vec<_> = (0..8).filter_map(|_| places.take(&alice)).collect();
        assert_eq!(again.len(), 8, "all came back");
        drop(again);
        assert!(places.lock().of.is_empty() && places.lock().all == 0);
    }
}
