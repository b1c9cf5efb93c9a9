//! The client of one request: what it can be asked for, and the stream that leads to it.
//!
//! It does not decide what may be sent; `relay` and the handlers do.

use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;
use tokio::time::timeout;

use super::asked::{Asked, Pending};
use super::bounds::Bounds;
use super::outgoing::Outgoing;
use super::wire::question::Request;
use crate::plugin::abi::ClientFeatures;
use crate::protocol::ClientCapabilities;

#[derive(Clone)]
pub(in crate::server) struct Client {
    pub(in crate::server) capabilities: Arc<ClientCapabilities>,
    outbox: mpsc::Sender<Outgoing>,
    /// Those of its connection.
    pub(in crate::server) bounds: Arc<Bounds>,
    /// Where requests to the client wait for their answers. `None`: it gets none, and
    /// brings what it is asked for with its next request.
    asked: Option<Arc<Asked>>,
}

impl Client {
    pub(in crate::server) fn new(
        capabilities: Arc<ClientCapabilities>,
        outbox: mpsc::Sender<Outgoing>,
        bounds: Arc<Bounds>,
        asked: Option<Arc<Asked>>,
    ) -> Self {
        Self { capabilities, outbox, bounds, asked }
    }

    /// What a plugin may ask of this client.
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

    /// Waits while the client does not read, for some time, or not at all. `false`: it was
    /// dropped, since the client still does not read, or too much waits for it already.
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
            // One that is gone misses nothing.
            Ok(()) | Err(TrySendError::Closed(_)) => true,
        }
    }

    /// Whether requests can be sent to it.
    pub(in crate::server) fn takes_requests(&self) -> bool {
        self.asked.is_some()
    }

    /// Sends a request.
    ///
    /// # Errors
    /// A sentence for the plugin, if the client takes none, is gone or has too many already.
    pub(in crate::server) async fn ask(&self, request: &Request) -> Result<Pending, String> {
        let asked = self.asked.as_ref().ok_or("the client takes no requests")?;
        let pending = asked.enter(self.outbox.clone()).ok_or("too many questions wait for the client")?;
        let mut message = Outgoing::request(pending.id(), request.method, request.params.as_deref());
        if !message.try_hold(&self.bounds.unread) {
            return Err("too much waits for the client already, and it does not read".into());
        }
        self.outbox.send(message).await.map(|()| pending).map_err(|_| "the client is gone".into())
    }
}
