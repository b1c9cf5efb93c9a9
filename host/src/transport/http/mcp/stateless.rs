//! A stateless POST (2026-07-28): closing the connection cancels it.
//!
//! Source: MCP 2026-07-28, basic/transports/streamable-http.

use std::pin::Pin;
use std::sync::Arc;

use futures_util::stream;
use http::StatusCode;

use super::accepts::Accepts;
use super::reply::{self, Event, First};
use super::reuse::{Reuse, StatelessConnection};
use super::stream_limit::{StreamLimit, until_evicted};
use crate::jsonrpc::{Frame, Message};
use crate::server::{MessageKind, Outgoing, Posted, Server};
use crate::transport::http::caller::Caller;
use crate::transport::http::responses::too_many_streams;
use crate::transport::http::{Response, responses};

/// The long-lived request: its result ends the stream.
const LISTEN: &str = "subscriptions/listen";

/// Handles stateless requests.
pub(super) struct Stateless<'a> {
    pub(super) server: &'a Arc<Server>,
    /// The limit of long-lived streams.
    pub(super) streams: &'a Arc<StreamLimit>,
}

impl Stateless<'_> {
    pub(super) async fn post(&self, reuse: &Reuse, caller: &Caller, posted: Posted<'_>, accepts: Accepts) -> Response {
        let is_request = matches!(posted.frame, Frame::Single(Message::Request(_)));
        let permit = match &posted.frame {
            Frame::Single(Message::Request(request)) if request.method == LISTEN => {
                match self.streams.acquire(&caller.key) {
                    Some(permit) => Some(permit.counting(self.server)),
                    None => return too_many_streams(Some(&request.id)),
                }
            }
            _ => None,
        };
        let known = reuse.stateless(caller);
        let mut own = known.unwrap_or_else(|| StatelessConnection::new(self.server, caller));
        let (connection, outbox) = (&own.connection, &own.outbox);
        let answered = connection.receive_post(&caller.identity, posted, outbox, accepts.events).await;
        if !is_request {
            return responses::empty(StatusCode::ACCEPTED);
        }
        let suits =
            |kind: MessageKind| kind != MessageKind::ServerInitiated && (accepts.json || kind != MessageKind::Result);
        let first = match answered {
            Some(answered) if suits(answered.message.kind) => {
                reuse.put_stateless(own);
                return json_response(answered.message);
            }
            Some(answered) => Some(answered.message),
            None => match reply::first(accepts.events, &mut own.messages, suits).await {
                First::Whole(message) => return json_response(message),
                First::Stream(first) => first,
                First::None => None,
            },
        };
        // Other requests end by themselves.
        let expired = permit.is_some().then(|| Box::pin(caller.expired()));
        let events = stream::unfold((first, own, expired, false), |(first, mut own, mut expired, over)| async move {
            if over {
                return None;
            }
            let message = match first {
                Some(message) => message,
                None => next(&mut own, &mut expired).await?,
            };
            let over = message.kind != MessageKind::ServerInitiated;
            Some((Event::message(None, message), (None, own, expired, over)))
        });
        reply::events(until_evicted(events, permit))
    }
}

/// The next message. After the token has expired, a stream that would go on ends with its result.
async fn next(
    own: &mut StatelessConnection,
    expired: &mut Option<Pin<Box<impl Future<Output = ()>>>>,
) -> Option<Outgoing> {
    if let Some(ended) = expired {
        tokio::select! {
            biased;
            () = ended => own.connection.end_listens(),
            message = own.messages.recv() => return message,
        }
        *expired = None;
    }
    own.messages.recv().await
}

fn json_response(message: Outgoing) -> Response {
    reply::whole(reply::status_stateless(message.kind), StatusCode::TOO_MANY_REQUESTS, message)
}
