//! The server's own requests to one client, until they are answered.
//!
//! The counterpart of `in_flight`. Answers are parsed in `wire/answer`.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};

use crate::byte_budget::{ByteBudget, Taken};
use crate::json::Raw;
use crate::jsonrpc::{Outcome, RequestId, Response};
use crate::server::outgoing::Outgoing;
use crate::server::wire::{CANCELLED, Cancelled, text};
use crate::sync::lock;

/// The client's result, or the reason for the plugin why there is none.
pub(in crate::server) type ClientAnswer = Result<Box<RawValue>, String>;

/// Maximum pending requests of one connection.
const MAX_PENDING: usize = 1024;
/// Maximum bytes of one connection's answers that are not consumed yet.
const MAX_ANSWER_BYTES: usize = 32 << 20;

pub(in crate::server) struct PendingRequests {
    next: AtomicU64,
    waiting: Mutex<HashMap<RequestId, oneshot::Sender<(ClientAnswer, Taken)>>>,
    answers: ByteBudget,
}

impl Default for PendingRequests {
    fn default() -> Self {
        Self { next: AtomicU64::new(0), waiting: Mutex::default(), answers: ByteBudget::new(MAX_ANSWER_BYTES) }
    }
}

impl PendingRequests {
    /// Registers a request that is about to be sent. `outbox` is for its cancellation. `None`: too
    /// many are pending.
    pub(in crate::server) fn register(self: &Arc<Self>, outbox: mpsc::Sender<Outgoing>) -> Option<Pending> {
        let id = RequestId::new_number(self.next.fetch_add(1, Ordering::Relaxed));
        let (answer, answered) = oneshot::channel();
        let mut waiting = self.lock();
        if waiting.len() >= MAX_PENDING {
            return None;
        }
        waiting.insert(id.clone(), answer);
        drop(waiting);
        Some(Pending { id, answered, requests: self.clone(), outbox })
    }

    /// Resolves a pending request. An answer to an unknown id is ignored, as the specification
    /// requires.
    pub(in crate::server) fn resolve(&self, response: Response<'_>) {
        let waiting = response.id.and_then(|id| self.lock().remove(&id));
        let Some(waiting) = waiting else {
            tracing::debug!("ignored a response with an unknown id");
            return;
        };
        let (answer, size) = match response.outcome {
            Outcome::Result(result) => match self.answers.try_take(result.get().len()) {
                Ok(held) => (Ok(result.to_owned()), held),
                Err(_) => (Err("too many answers of the client are unprocessed".into()), self.answers.take(0)),
            },
            Outcome::Error(error) => {
                let why = format!("the client answered with error {}: {}", error.code, error.message);
                (Err(why), self.answers.take(0))
            }
            Outcome::Malformed(why) => (Err(format!("the client's answer is malformed: {why}")), self.answers.take(0)),
        };
        // An error means that the waiter has been dropped.
        let _ = waiting.send((answer, size));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RequestId, oneshot::Sender<(ClientAnswer, Taken)>>> {
        lock(&self.waiting)
    }
}

/// A request that was sent. Dropping it before its answer cancels it.
pub(in crate::server) struct Pending {
    id: RequestId,
    answered: oneshot::Receiver<(ClientAnswer, Taken)>,
    requests: Arc<PendingRequests>,
    outbox: mpsc::Sender<Outgoing>,
}

impl Pending {
    pub(in crate::server) fn id(&self) -> &RequestId {
        &self.id
    }

    pub(in crate::server) async fn answer(&mut self) -> ClientAnswer {
        // The sender is dropped only with the connection.
        (&mut self.answered).await.map_or_else(|_| Err("the client has disconnected".into()), |(answer, _)| answer)
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if self.requests.lock().remove(&self.id).is_none() {
            return;
        }
        let Ok(params) = text(&Cancelled { request_id: Raw(self.id.as_json()), reason: "no longer needed" }) else {
            return;
        };
        // With a full outbox the client may answer needlessly; the answer is ignored.
        let _ = self.outbox.try_send(Outgoing::notification(CANCELLED, Some(&params)));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::sync::mpsc;

    use super::{MAX_PENDING, PendingRequests};

    #[test]
    fn pending_requests_are_bounded() {
        let requests = Arc::new(PendingRequests::default());
        let (outbox, _messages) = mpsc::channel(1);
        let mut pending: Vec<_> = (0..MAX_PENDING).filter_map(|_| requests.register(outbox.clone())).collect();
        assert_eq!(pending.len(), MAX_PENDING);
        assert!(requests.register(outbox.clone()).is_none());
        pending.pop();
        assert!(requests.register(outbox).is_some(), "dropping one frees its slot");
    }
}
