//! The requests of one connection that have not been answered, and the one place that
//! decides who may answer: whoever takes a request out of here, and nobody twice.

use std::collections::HashMap;

use tokio_util::sync::CancellationToken;

use crate::jsonrpc::RequestId;
use crate::sync::{Mutex, MutexGuard, Notify};

#[derive(Default)]
pub(in crate::server) struct InFlight {
    requests: Mutex<HashMap<RequestId, CancellationToken>>,
    /// Told when the last one is taken out.
    none_left: Notify,
}

impl InFlight {
    /// Enters a request, and the token by which it learns that it was cancelled. `false`
    /// if one with this id is in flight already.
    pub(in crate::server) fn start(&self, id: &RequestId, cancelled: CancellationToken) -> bool {
        let mut requests = self.lock();
        if requests.contains_key(id) {
            return false;
        }
        requests.insert(id.clone(), cancelled);
        true
    }

    pub(in crate::server) fn has(&self, id: &RequestId) -> bool {
        self.lock().contains_key(id)
    }

    /// Takes a request out. `false`: it was cancelled, and must not be answered.
    pub(in crate::server) fn finish(&self, id: &RequestId) -> bool {
        self.take(id).is_some()
    }

    /// Cancels a request; one that is not in flight is left alone.
    pub(in crate::server) fn cancel(&self, id: &RequestId) {
        if let Some(cancelled) = self.take(id) {
            cancelled.cancel();
        }
    }

    pub(in crate::server) fn cancel_all(&self) {
        let mut requests = self.lock();
        for (_, cancelled) in requests.drain() {
            cancelled.cancel();
        }
        self.none_left.notify_waiters();
    }

    /// Waits until nothing is in flight.
    pub(in crate::server) async fn idle(&self) {
        loop {
            // Before it looks, so that what is told meanwhile is not missed.
            let told = self.none_left.notified();
            if self.lock().is_empty() {
                return;
            }
            told.await;
        }
    }

    fn take(&self, id: &RequestId) -> Option<CancellationToken> {
        let mut requests = self.lock();
        let taken = requests.remove(id);
        if requests.is_empty() {
            self.none_left.notify_waiters();
        }
        taken
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RequestId, CancellationToken>> {
        self.requests.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
