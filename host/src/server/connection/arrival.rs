//! A frame's origin, and where its responses go.

use std::sync::Arc;

use tokio::sync::mpsc;

use crate::identity::Identity;
use crate::jsonrpc::Frame;
use crate::protocol::headers::Headers;
use crate::server::outgoing::Outgoing;
use crate::traces::TraceParent;

/// The message of a POST.
pub struct Posted<'a> {
    pub frame: Frame<'a>,
    /// Bytes of the whole frame.
    pub size: usize,
    pub headers: &'a Arc<Headers>,
    /// The headers must match the request; otherwise it belongs to a session.
    pub is_stateless: bool,
}

pub(super) struct Arrival<'a> {
    pub(super) stream: &'a mpsc::Sender<Outgoing>,
    pub(super) era: Era<'a>,
    /// Whose request it is. Requests of one session have the same name, but a token of their own each.
    pub(super) identity: &'a Arc<Identity>,
    /// Bytes of the whole frame.
    pub(super) size: usize,
    /// The trace that it belongs to, if it does not say another one.
    pub(super) parent: Option<&'a TraceParent>,
    /// The client reads messages that precede the response, so it can be sent requests.
    pub(super) accepts_stream: bool,
    /// The transport has further frames ready.
    pub(super) more: bool,
}

/// What the transport knows about the era of a frame.
#[derive(Clone, Copy)]
pub(super) enum Era<'a> {
    /// Each request states its own.
    Either,
    /// The connection's handshake.
    Handshake,
    /// No session; the headers must match the request.
    Stateless(&'a Arc<Headers>),
}
