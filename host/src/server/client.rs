//! The client of one request: what it can be asked for, and the stream that leads to it.
//!
//! It does not decide what may be sent; `relay` and the handlers do.

use std::sync::Arc;

use tokio::sync::mpsc;

use super::asked::{Asked, Pending};
use super::outgoing::Outgoing;
use super::wire::question::Request;
use crate::plugin::abi::ClientFeatures;
use crate::protocol::ClientCapabilities;

#[derive(Clone)]
pub(in crate::server) struct Client {
    pub(in crate::server) capabilities: Arc<ClientCapabilities>,
    outbox: mpsc::Sender<Outgoing>,
    /// Where requests to the client wait for their answers. `None`: it gets none, and
    /// brings what it is asked for with its next request.
    asked: Option<Arc<Asked>>,
}

impl Client {
    pub(in crate::server) fn new(
        capabilities: Arc<ClientCapabilities>,
        outbox: mpsc::Sender<Outgoing>,
        asked: Option<Arc<Asked>>,
    ) -> Self {
        Self { capabilities, outbox, asked }
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

    /// Waits while the client does not read. If it is gone, the message is dropped.
    pub(in crate::server) async fn notify(&self, method: &str, params: &str) {
        let _ = self.outbox.send(Outgoing::notification(method, Some(params))).await;
    }

    /// Whether requests can be sent to it.
    pub(in crate::server) fn takes_requests(&self) -> bool {
        self.asked.is_some()
    }

    /// Sends a request. `None`: this client takes none, or is gone.
    pub(in crate::server) async fn ask(&self, request: &Request) -> Option<Pending> {
        let pending = self.asked.as_ref()?.enter(self.outbox.clone());
        let message = Outgoing::request(pending.id(), request.method, request.params.as_deref());
        self.outbox.send(message).await.ok().map(|()| pending)
    }
}
