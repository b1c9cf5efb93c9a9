//! The server's own requests to one client, until they are answered.
//!
//! The mirror of `in_flight`. What an answer means is read in `wire/answer`.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};

use super::outgoing::Outgoing;
use super::wire::{CANCELLED, Cancelled, text};
use crate::budget::{Budget, Taken};
use crate::json::Raw;
use crate::jsonrpc::{Outcome, RequestId, Response};

/// A result, or why there is none: a sentence for the plugin.
pub(in crate::server) type Answered = Result<Box<RawValue>, String>;

/// Questions of one connection that wait for their answers.
const WAITING: usize = 1024;
/// Bytes of answers of one connection that nobody has taken yet.
const ANSWERS: usize = 32 << 20;

pub(in crate::server) struct Asked {
    next: AtomicU64,
    waiting: Mutex<HashMap<RequestId, oneshot::Sender<(Answered, Taken)>>>,
    answers: Budget,
}

impl Default for Asked {
    fn default() -> Self {
        Self { next: AtomicU64::new(0), waiting: Mutex::default(), answers: Budget::new(ANSWERS) }
    }
}

impl Asked {
    /// Takes up a request that is about to be sent. `outbox` is for taking it back. `None`: too
    /// many wait for their answers.
    pub(in crate::server) fn enter(self: &Arc<Self>, outbox: mpsc::Sender<Outgoing>) -> Option<Pending> {
        let id = RequestId::new_number(self.next.fetch_add(1, Ordering::Relaxed));
        let (answer, answered) = oneshot::channel();
        let mut waiting = self.lock();
        if waiting.len() >= WAITING {
            return None;
        }
        waiting.insert(id.clone(), answer);
        drop(waiting);
        Some(Pending { id, answered, asked: self.clone(), outbox })
    }

    /// Takes the client's answer. One that nobody waits for is dropped, as the
    /// specification wants it.
    pub(in crate::server) fn settle(&self, response: Response<'_>) {
        let waiting = response.id.and_then(|id| self.lock().remove(&id));
        let Some(waiting) = waiting else {
            tracing::debug!("ignored an answer to no request");
            return;
        };
        let (answer, size) = match response.outcome {
            Outcome::Result(result) => match self.answers.try_take(result.get().len()) {
                Ok(held) => (Ok(result.to_owned()), held),
                Err(_) => (Err("too many answers of the client wait to be used".into()), self.answers.take(0)),
            },
            Outcome::Error(error) => {
                let why = format!("the client answered with error {}: {}", error.code, error.message);
                (Err(why), self.answers.take(0))
            }
            Outcome::Malformed(why) => (Err(format!("the client's answer is malformed: {why}")), self.answers.take(0)),
        };
        // An error means that nobody waits any more.
        let _ = waiting.send((answer, size));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RequestId, oneshot::Sender<(Answered, Taken)>>> {
        self.waiting.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// A request that was sent. Dropping it before its answer takes it back.
pub(in crate::server) struct Pending {
    id: RequestId,
    answered: oneshot::Receiver<(Answered, Taken)>,
    asked: Arc<Asked>,
    outbox: mpsc::Sender<Outgoing>,
}

impl Pending {
    pub(in crate::server) fn id(&self) -> &RequestId {
        &self.id
    }

    pub(in crate::server) async fn answer(&mut self) -> Answered {
        // The sender goes only with the connection.
        (&mut self.answered).await.map_or_else(|_| Err("the client is gone".into()), |(answer, _)| answer)
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if self.asked.lock().remove(&self.id).is_none() {
            return;
        }
        let Ok(params) = text(&Cancelled { request_id: Raw(self.id.as_json()), reason: "no longer needed" }) else {
            return;
        };
        // A full outbox: the client will answer a question that nobody needs, no harm done.
        let _ = self.outbox.try_send(Outgoing::notification(CANCELLED, Some(&params)));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::sync::mpsc;

    use super::{Asked, WAITING};

    #[test]
    fn so_many_questions_wait_and_no_more() {
        let asked = Arc::new(Asked::default());
        let (outbox, _messages) = mpsc::channel(1);
        let mut pending: Vec<_> = (0..WAITING).filter_map(|_| asked.enter(outbox.clone())).collect();
        assert_eq!(pending.len(), WAITING);
        assert!(asked.enter(outbox.clone()).is_none());
        pending.pop();
        assert!(asked.enter(outbox).is_some(), "the place of one that is given up is free");
    }
}
