//! The response to a request, and the resources that the request holds until it has been sent.

use std::pin::Pin;

use tokio::sync::{OwnedSemaphorePermit, mpsc};

use super::request_budget::RequestBytes;
use crate::server::outgoing::Outgoing;

/// A response that was ready without waiting, and the resources its request holds.
pub struct Answered {
    pub message: Outgoing,
    pub(super) held: Option<Reservation>,
}

/// The resources that a request holds until its response has been sent.
pub(super) struct Reservation {
    pub(super) _bytes: RequestBytes,
    pub(super) _listen: Option<OwnedSemaphorePermit>,
}

impl Answered {
    pub(super) fn now(message: Outgoing) -> Option<Self> {
        Some(Self { message, held: None })
    }

    /// Sends it to `stream`; until then its request counts as running.
    pub async fn send(self, stream: &mpsc::Sender<Outgoing>) {
        send(stream, self.message).await;
        drop(self.held);
    }

    /// Whether it counts against the limit of running requests, so that it may wait while further
    /// requests are read.
    pub fn is_counted(&self) -> bool {
        self.held.is_some()
    }
}

/// The outcome of admitting a request.
pub(super) enum Admission {
    /// Its response, or an error.
    Now(Outgoing),
    /// A future of the response, or of `None` when it is cancelled.
    Work(Work),
}

pub(super) type Work = Pin<Box<dyn Future<Output = Option<Answered>> + Send>>;

/// If the receiver is closed the message is dropped: the transport is shutting down.
pub(super) async fn send(stream: &mpsc::Sender<Outgoing>, message: Outgoing) {
    let _ = stream.send(message).await;
}
