//! What holds for one request: who asks, in which revision, and what may be done for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use tokio_util::sync::CancellationToken;

use super::client::Client;
use crate::jsonrpc::RequestId;
use crate::protocol::headers::Headers;
use crate::protocol::meta::ProgressToken;
use crate::protocol::{Level, Revision};

/// Made where the two eras part; below that nobody asks which era or transport it is.
#[derive(Clone)]
pub(in crate::server) struct Scope {
    pub(in crate::server) id: RequestId,
    /// The host's own name for the request.
    pub(in crate::server) call: u64,
    pub(in crate::server) revision: Revision,
    /// The client's `_meta` for the plugin: a JSON object.
    pub(in crate::server) meta: String,
    /// Who it is that asks, as far as this is known: what one principal was given to keep
    /// is no good for another.
    pub(in crate::server) principal: Arc<str>,
    /// The key under which callers share fairly: the principal, or the address of the client's
    /// network where everybody is the same principal.
    pub(in crate::server) caller: Arc<str>,
    pub(in crate::server) client: Client,
    /// The client wants to know how far the request is.
    pub(in crate::server) progress: Option<ProgressToken>,
    pub(in crate::server) verbosity: Verbosity,
    /// What was said in headers, where the revision holds arguments against them.
    pub(in crate::server) headers: Option<Arc<Headers>>,
    /// The client has given up: nothing more is sent for this request.
    pub(in crate::server) cancelled: CancellationToken,
}

/// The least severe messages that the client wants.
#[derive(Clone)]
pub(in crate::server) enum Verbosity {
    /// Said with the request; none if it was not said (2026-07-28 server/utilities/logging).
    Request(Option<Level>),
    /// Said for the session, and may change while the request runs.
    Session(Arc<SessionLevel>),
}

impl Verbosity {
    pub(in crate::server) fn admits(&self, level: Level) -> bool {
        match self {
            Self::Request(least) => least.is_some_and(|least| level >= least),
            Self::Session(least) => level >= least.get(),
        }
    }
}

/// What `logging/setLevel` sets. Until then, where the specification leaves the choice to
/// the server, `info` and worse.
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
