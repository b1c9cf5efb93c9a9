//! The context of one request: identity, revision, client, cancellation.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use tokio_util::sync::CancellationToken;

use super::changes::Followers;
use super::client::Client;
use super::promotion::Promotion;
use crate::identity::Identity;
use crate::jsonrpc::RequestId;
use crate::metrics::Cost;
use crate::protocol::headers::Headers;
use crate::protocol::meta::ProgressToken;
use crate::protocol::{Level, Revision};
use crate::rights::Permissions;
use crate::traces::TraceParent;

/// Created in `dispatch`; the code below does not depend on the era or the transport.
#[derive(Clone)]
pub(in crate::server) struct Scope {
    pub(in crate::server) id: RequestId,
    /// The host's id of the call.
    pub(in crate::server) call: u64,
    pub(in crate::server) revision: Revision,
    /// Bytes of the request's params.
    pub(in crate::server) bytes: usize,
    /// The client's `_meta` for the plugin: a JSON object.
    pub(in crate::server) meta: String,
    /// Whose request it is: a request state is bound to its name.
    pub(in crate::server) identity: Arc<Identity>,
    /// What it may use.
    pub(in crate::server) permissions: Permissions,
    /// The key of fair sharing: the principal, or the client's network where all clients have the
    /// same principal.
    pub(in crate::server) caller: Arc<str>,
    pub(in crate::server) client: Client,
    /// The streams of its connection.
    pub(in crate::server) followers: Arc<Followers>,
    /// Set if the client wants progress notifications.
    pub(in crate::server) progress: Option<ProgressToken>,
    pub(in crate::server) verbosity: Verbosity,
    /// The request's headers, where the revision requires them to match arguments.
    pub(in crate::server) headers: Option<Arc<Headers>>,
    /// Set if the call may become a task, or is one.
    pub(in crate::server) task: Option<Arc<Promotion>>,
    /// Of a request that a plugin may answer, if somebody wants to know what it costs.
    pub(in crate::server) cost: Option<Arc<Cost>>,
    /// Its span, or if there are no traces the parent that its sender named.
    pub(in crate::server) span: Option<TraceParent>,
    /// Cancelled by the client: nothing more is sent for this request.
    pub(in crate::server) cancelled: CancellationToken,
}

/// The minimum level of log messages for the client.
#[derive(Clone)]
pub(in crate::server) enum Verbosity {
    /// Set per request; no messages if absent (2026-07-28 server/utilities/logging).
    Request(Option<Level>),
    /// Set for the session; may change while the request runs.
    Session(Arc<SessionLevel>),
}

impl Verbosity {
    pub(in crate::server) fn admits(&self, level: Level) -> bool {
        match self {
            Self::Request(minimum) => minimum.is_some_and(|minimum| level >= minimum),
            Self::Session(minimum) => level >= minimum.get(),
        }
    }
}

/// Set by `logging/setLevel`. The default is `info`: the specification leaves it to the server.
pub(in crate::server) struct SessionLevel(AtomicU8);

impl SessionLevel {
    pub(in crate::server) fn get(&self) -> Level {
        Level::ALL[usize::from(self.0.load(Ordering::Relaxed)).min(Level::ALL.len() - 1)]
    }

    pub(in crate::server) fn set(&self, level: Level) {
        self.0.store(level as u8, Ordering::Relaxed);
    }
}

impl Default for SessionLevel {
    fn default() -> Self {
        Self(AtomicU8::new(Level::Info as u8))
    }
}
