//! Requests of the page to plugins: one MCP message each, through a connection as any client has one.
//!
//! So rights, budgets, questions and records are those of a local client.

use std::sync::Arc;

use http::StatusCode;
use tokio::sync::mpsc;

use super::answer::{self, Refused, Response};
use crate::identity::Identity;
use crate::jsonrpc::{self, Frame, Message};
use crate::server::{Connection, MessageKind, Server};

/// The requests that a person makes on the page.
const METHODS: [&str; 3] = ["tools/call", "resources/read", "prompts/get"];
/// By this the page shares fairly with other clients, and its calls have this in their records.
const CALLER: &str = "page";
/// Messages that wait for the page.
const OUTBOX: usize = 16;

/// Cancels what runs when nobody waits for it any more.
struct Abandon(Arc<Connection>);

impl Drop for Abandon {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

/// The response to one request, as JSON-RPC.
///
/// # Errors
/// 400 unless it is a request with one of these methods.
pub(super) async fn respond(server: &Arc<Server>, text: &str) -> Result<Response, Refused> {
    let is_known = match jsonrpc::decode(text.as_bytes()) {
        Ok(Frame::Single(Message::Request(request))) => METHODS.contains(&&*request.method),
        _ => false,
    };
    if !is_known {
        let error =
            format!("read the message: send a request of JSON-RPC with one of these methods: {}", METHODS.join(", "));
        return Err(Refused::new(StatusCode::BAD_REQUEST, error));
    }
    let (outbox, mut messages) = mpsc::channel(OUTBOX);
    let connection = Abandon(server.connect_for(outbox, &Arc::new(Identity::local().through(CALLER)), &CALLER.into()));
    if let Some(answered) = connection.0.begin(text.as_bytes(), false).await {
        return Ok(answer::json(answered.message));
    }
    while let Some(message) = messages.recv().await {
        // Progress and the like are in the log.
        if message.kind != MessageKind::ServerInitiated {
            return Ok(answer::json(message));
        }
    }
    Err(Refused::internal())
}
