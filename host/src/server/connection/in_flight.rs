//! The unanswered requests of one connection. Removing a request from here is the right to answer
//! it, so that none is answered twice.

use std::collections::HashMap;

use tokio_util::sync::CancellationToken;

use crate::jsonrpc::RequestId;
use crate::sync::{Mutex, MutexGuard, Notify, lock};

#[derive(Default)]
pub(in crate::server) struct InFlight {
    requests: Mutex<HashMap<RequestId, CancellationToken>>,
    /// Notified when the last one is removed.
    none_left: Notify,
}

impl InFlight {
    /// Registers a request and its cancellation token. `false` if one with this id is in flight
    /// already.
    pub(in crate::server) fn start(&self, id: &RequestId, cancelled: CancellationToken) -> bool {
        let mut requests = self.lock();
        if requests.contains_key(id) {
            return false;
        }
        requests.insert(id.clone(), cancelled);
        true
    }

    pub(in crate::server) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    pub(in crate::server) fn has(&self, id: &RequestId) -> bool {
        self.lock().contains_key(id)
    }

    /// Removes a request. `false`: it was cancelled, and must not be answered.
    pub(in crate::server) fn finish(&self, id: &RequestId) -> bool {
        self.take(id).is_some()
    }

    /// Cancels a request, if it is in flight.
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
            // Registered before the check, so that no notification in between is lost.
            let notified = self.none_left.notified();
            if self.lock().is_empty() {
                return;
            }
            notified.await;
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
        lock(&self.requests)
    }
}
