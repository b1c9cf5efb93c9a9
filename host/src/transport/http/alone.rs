//! A POST that stands by itself (2026-07-28): no session, and closing the connection cancels it.
//!
//! Source: MCP 2026-07-28, basic/transports/streamable-http.

use std::sync::Arc;

use futures_util::stream;
use http::StatusCode;
use tokio::sync::mpsc;

use super::accepts::Accepts;
use super::caller::Caller;
use super::kept::Kept;
use super::mcp::{Mcp, seated, too_many_streams};
use super::reply::{self, Event, First};
use super::{Response, refusal};
use crate::jsonrpc::{Frame, Message};
use crate::server::{Connection, Headers, Kind, Outgoing};

/// Messages that were made and not yet taken by the connection.
const OUTBOX: usize = 64;
/// The request whose answer comes at its end.
const LISTEN: &str = "subscriptions/listen";

/// A connection of the server for one request at a time. Dropped, it cancels what runs: the
/// client has gone.
pub(super) struct Line {
    connection: Arc<Connection>,
    outbox: mpsc::Sender<Outgoing>,
    messages: mpsc::Receiver<Outgoing>,
}

impl Line {
    fn new(mcp: &Mcp, caller: &Caller) -> Self {
        let (outbox, messages) = mpsc::channel(OUTBOX);
        Self { connection: mcp.server.connect_for(outbox.clone(), &caller.principal, &caller.key), outbox, messages }
    }

    pub(super) fn is_of(&self, principal: &str) -> bool {
        self.connection.principal() == principal
    }

    /// Whether nothing is left of a request: no word, and nobody who could say one but the line itself.
    pub(super) fn is_quiet(&self) -> bool {
        self.messages.is_empty() && self.outbox.strong_count() == 2
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.connection.abandon();
    }
}

pub(super) async fn post(
    mcp: &Mcp,
    kept: &Kept,
    caller: &Caller,
    frame: Frame<'_>,
    size: usize,
    headers: &Arc<Headers>,
    accepts: Accepts,
) -> Response {
    let is_request = matches!(frame, Frame::Single(Message::Request(_)));
    let seat = match &frame {
        Frame::Single(Message::Request(request)) if request.method == LISTEN => match mcp.seat(caller) {
            Some(seat) => Some(seat),
            None => return too_many_streams(Some(&request.id)),
        },
        _ => None,
    };
    let mut line = kept.line(&caller.principal).unwrap_or_else(|| Line::new(mcp, caller));
    let answered = line.connection.receive_post(frame, size, Some(headers), &line.outbox, accepts.events).await;
    if !is_request {
        return refusal::empty(StatusCode::ACCEPTED);
    }
    let suits = |kind: Kind| kind != Kind::Said && (accepts.json || kind != Kind::Result);
    let first = match answered {
        Some(answered) if suits(answered.message.kind) => {
            kept.keep_line(line);
            return in_json(answered.message);
        }
        Some(answered) => Some(answered.message),
        None => match reply::first(accepts.events, &mut line.messages, suits).await {
            First::Whole(message) => return in_json(message),
            First::Stream(first) => first,
            First::None => None,
        },
    };
    let events = stream::unfold((first, line, false), |(first, mut line, over)| async move {
        if over {
            return None;
        }
        let message = match first {
            Some(message) => message,
            None => line.messages.recv().await?,
        };
        let over = message.kind != Kind::Said;
        Some((Event::message(None, message), (None, line, over)))
    });
    reply::events(seated(events, seat))
}

fn in_json(message: Outgoing) -> Response {
    refusal::json(reply::status_alone(message.kind), message)
}
