//! The requests of one connection that have not been answered, and the one place that
//! decides who may answer: whoever takes a request out of here, and nobody twice.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

use tokio::sync::{oneshot, watch};

use crate::jsonrpc::RequestId;

#[derive(Default)]
pub(in crate::server) struct InFlight {
    /// Dropping the sender cancels the request.
    requests: Mutex<HashMap<RequestId, oneshot::Sender<()>>>,
    count: watch::Sender<usize>,
}

/// Ready when the request was cancelled.
pub(in crate::server) type Cancelled = oneshot::Receiver<()>;

impl InFlight {
    /// Enters a request. `None` if one with this id is in flight already.
    pub(in crate::server) fn start(&self, id: &RequestId) -> Option<Cancelled> {
        let mut requests = self.lock();
        if requests.contains_key(id) {
            return None;
        }
        let (cancel, cancelled) = oneshot::channel();
        requests.insert(id.clone(), cancel);
        self.count.send_replace(requests.len());
        Some(cancelled)
    }

    /// Takes a request out. `false`: it was cancelled, and must not be answered.
    pub(in crate::server) fn finish(&self, id: &RequestId) -> bool {
        let mut requests = self.lock();
        let mine = requests.remove(id).is_some();
        self.count.send_replace(requests.len());
        mine
    }

    /// Cancels a request; one that is not in flight is left alone.
    pub(in crate::server) fn cancel(&self, id: &RequestId) {
        self.finish(id);
    }

    pub(in crate::server) fn cancel_all(&self) {
        let mut requests = self.lock();
        requests.clear();
        self.count.send_replace(0);
    }

    /// Waits until nothing is in flight.
    pub(in crate::server) async fn idle(&self) {
        // An error means that the sender is gone, and it lives in `self`.
        let _ = self.count.subscribe().wait_for(|count| *count == 0).await;
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RequestId, oneshot::Sender<()>>> {
        self.requests.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
