//! MCP at `/mcp`: what is said, once it is known who says it and the body has been read.
//!
//! It knows no sockets; hosts, origins and tokens have been checked.

use std::sync::Arc;

use http::StatusCode;
use tokio_util::sync::CancellationToken;

use super::refusal::Refusal;
use super::{Principal, Request, Response};
use crate::server::Server;

/// What all requests share.
pub(super) struct Mcp {
    pub(super) server: Arc<Server>,
    /// Cancelled when the server is about to end: streams are to give their last word.
    pub(super) stop: CancellationToken,
}

pub(super) async fn handle(state: Arc<Mcp>, principal: Principal, request: Request) -> Response {
    let _ = (state, principal, request);
    Refusal::new(StatusCode::NOT_IMPLEMENTED, "not_implemented", "this is not there yet").into()
}
