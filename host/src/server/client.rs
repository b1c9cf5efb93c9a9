//! The client of one request: its capabilities, and the stream to it.
//!
//! It does not decide what may be sent; `relay` and the handlers do.

pub(in crate::server) mod pending;

use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;
use tokio::time::timeout;

use super::bounds::Bounds;
use super::outgoing::Outgoing;
use super::wire::question::Request;
use crate::plugin::abi::ClientFeatures;
use crate::protocol::ClientCapabilities;
use pending::{Pending, PendingRequests};

#[derive(Clone)]
pub(in crate::server) struct Client {
    pub(in crate::server) capabilities: Arc<ClientCapabilities>,
    outbox: mpsc::Sender<Outgoing>,
    /// The limits of its connection.
    pub(in crate::server) bounds: Arc<Bounds>,
    /// The server's requests that await an answer. `None`: a stateless client, which answers with
    /// its retry.
    pending: Option<Arc<PendingRequests>>,
}

impl Client {
    pub(in crate::server) fn new(
        capabilities: Arc<ClientCapabilities>,
        outbox: mpsc::Sender<Outgoing>,
        bounds: Arc<Bounds>,
        pending: Option<Arc<PendingRequests>>,
    ) -> Self {
        Self { capabilities, outbox, bounds, pending }
    }

    /// The same client, which is not sent requests.
    pub(in crate::server) fn without_requests(&self) -> Self {
        Self { pending: None, ..self.clone() }
    }

    /// The features that this client offers to plugins.
    pub(in crate::server) fn features(&self) -> ClientFeatures {
        let can = &self.capabilities;
        [
            (can.elicitation_form, ClientFeatures::ELICIT_FORM),
            (can.elicitation_url, ClientFeatures::ELICIT_URL),
            (can.sampling, ClientFeatures::SAMPLE),
            (can.sampling_tools, ClientFeatures::SAMPLE_TOOLS),
            (can.sampling_context, ClientFeatures::SAMPLE_CONTEXT),
            (can.roots, ClientFeatures::ROOTS),
        ]
        .into_iter()
        .filter_map(|(has, feature)| has.then_some(feature))
        .fold(ClientFeatures::empty(), |all, feature| all | feature)
    }

    /// Sends a notification. With `may_wait`, waits for a limited time while the client does not
    /// read. `false`: it was dropped, since the outbox stayed full or the unread limit is reached.
    pub(in crate::server) async fn notify(&self, method: &str, params: &str, may_wait: bool) -> bool {
        let mut message = Outgoing::notification(method, Some(params));
        if !message.try_hold(&self.bounds.unread) {
            return false;
        }
        match self.outbox.try_send(message) {
            Err(TrySendError::Full(message)) if may_wait => {
                timeout(self.bounds.patience, self.outbox.send(message)).await.is_ok()
            }
            Err(TrySendError::Full(_)) => false,
            // The client has disconnected.
            Ok(()) | Err(TrySendError::Closed(_)) => true,
        }
    }

    /// Whether the server can send it requests.
    pub(in crate::server) fn takes_requests(&self) -> bool {
        self.pending.is_some()
    }

    /// Sends a request.
    ///
    /// # Errors
    /// A message for the plugin, if the client is stateless, disconnected or has too many pending.
    pub(in crate::server) async fn ask(&self, request: &Request) -> Result<Pending, String> {
        let requests = self.pending.as_ref().ok_or("the client accepts no requests")?;
        let answer = requests.register(self.outbox.clone()).ok_or("too many requests to the client are pending")?;
        let mut message = Outgoing::request(answer.id(), request.method, request.params.as_deref());
        if !message.try_hold(&self.bounds.unread) {
            return Err("the client does not read its messages".into());
        }
        self.outbox.send(message).await.map(|()| answer).map_err(|_| "the client has disconnected".into())
    }
}
