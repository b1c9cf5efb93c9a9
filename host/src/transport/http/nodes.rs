//! Requests between the nodes of one server: a session stays on the node that opened it, and each other node sends its
//! requests there.

mod forward;

use std::sync::Arc;

use tokio::net::TcpListener;

use crate::nodes::Nodes;

pub(super) use forward::Forward;

/// This node's place among the others.
#[derive(Clone)]
pub struct NodeListener {
    pub nodes: Arc<Nodes>,
    /// Taken by the server, which closes it when it stops.
    pub listener: Option<Arc<TcpListener>>,
}

/// The address of the client, which the node that it is connected to tells the other one; absent: none is known.
pub(super) const CLIENT: &str = "wharf-client-address";
