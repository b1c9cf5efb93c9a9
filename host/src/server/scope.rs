//! What holds for one request: who asks, in which revision, and what may be done for it.

use crate::jsonrpc::RequestId;
use crate::plugin::abi::ClientFeatures;
use crate::protocol::Revision;

/// Made where the two eras part; below that nobody asks which era or transport it is.
#[derive(Clone, Debug)]
pub(in crate::server) struct Scope {
    pub(in crate::server) id: RequestId,
    /// The host's own name for the request.
    pub(in crate::server) call: u64,
    pub(in crate::server) revision: Revision,
    /// The client's `_meta` for the plugin: a JSON object.
    pub(in crate::server) meta: String,
}

impl Scope {
    /// What a plugin may ask of this client: nothing, since no question is passed on yet. A
    /// plugin that asks all the same is told that the answer cannot be had.
    pub(in crate::server) fn features(&self) -> ClientFeatures {
        ClientFeatures::empty()
    }
}
