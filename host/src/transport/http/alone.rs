//! A POST that stands by itself (2026-07-28): no session, and closing the connection cancels it.
//!
//! Source: MCP 2026-07-28, basic/transports/streamable-http.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream;
use http::StatusCode;
use tokio::sync::mpsc;

use super::mcp::{Accepts, Mcp};
use super::reply::{self, Event};
use super::{Response, refusal};
use crate::jsonrpc::{Frame, Message};
use crate::server::{Connection, Headers, Kind, Outgoing};

/// Messages that were made and not yet taken by the connection.
const OUTBOX: usize = 64;
/// An answer that takes longer comes as a stream, so that nothing on the way takes the
/// connection for dead.
const PATIENCE: Duration = Duration::from_secs(5);

/// Cancels what runs when the client has gone.
struct Abandon(Arc<Connection>);

impl Drop for Abandon {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

pub(super) async fn post(
    mcp: &Mcp,
    principal: &str,
    frame: Frame<'_>,
    size: usize,
    headers: &Arc<Headers>,
    accepts: Accepts,
) -> Response {
    let is_request = matches!(frame, Frame::Single(Message::Request(_)));
    let (outbox, mut messages) = mpsc::channel(OUTBOX);
    let connection = mcp.server.connect(outbox.clone(), principal);
    let guard = Abandon(connection.clone());
    let mut answered = connection.receive_post(frame, size, headers, &outbox, accepts.events).await;
    if !is_request {
        return refusal::empty(StatusCode::ACCEPTED);
    }
    let first = loop {
        let patience = if accepts.events { PATIENCE } else { Duration::MAX };
        let next = async {
            match answered.take() {
                Some(answered) => Some(answered.message),
                None => messages.recv().await,
            }
        };
        match tokio::time::timeout(patience, next).await {
            // Only its answer can be said without a stream.
            Ok(Some(Outgoing { kind: Kind::Said, .. })) if !accepts.events => {}
            Ok(Some(message)) if message.kind != Kind::Said && (accepts.json || message.kind != Kind::Result) => {
                return refusal::json(reply::status_alone(message.kind), message.text);
            }
            Ok(first) => break first,
            Err(_) => break None,
        }
    };
    reply::events(stream::unfold((first, messages, guard, false), |(first, mut messages, guard, over)| async move {
        if over {
            return None;
        }
        let message = match first {
            Some(message) => message,
            None => messages.recv().await?,
        };
        let over = message.kind != Kind::Said;
        Some((Event::message(None, message.text), (None, messages, guard, over)))
    }))
}
