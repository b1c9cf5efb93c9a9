//! The state of a session: what the handshake negotiated, and what the client has set since.

use std::sync::Arc;

use crate::protocol::request::Initialize;
use crate::protocol::{ClientCapabilities, Revision};
use crate::server::changes::updates::Uris;
use crate::server::scope::SessionLevel;

#[derive(Clone)]
pub(in crate::server) struct Session {
    pub(in crate::server) revision: Revision,
    pub(in crate::server) capabilities: Arc<ClientCapabilities>,
    pub(in crate::server) level: Arc<SessionLevel>,
    /// The client's resource subscriptions.
    pub(in crate::server) uris: Arc<Uris>,
    /// The client is initialized, and receives change notifications.
    pub(in crate::server) announcing: bool,
}

impl Session {
    /// A second handshake on the same connection resets the session; change notifications continue.
    pub(in crate::server) fn new(hello: Initialize, before: Option<&Self>) -> Self {
        let uris = before.map(|before| before.uris.clone()).unwrap_or_default();
        uris.clear();
        Self {
            revision: hello.revision,
            capabilities: Arc::new(hello.capabilities),
            level: Arc::default(),
            uris,
            announcing: before.is_some_and(|before| before.announcing),
        }
    }
}
