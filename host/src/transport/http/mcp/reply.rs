//! Streams of events, and the status of what is answered without one.
//!
//! Source: MCP, basic/transports of each revision; the HTML standard, "Server-sent events".

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, Stream};
use http::StatusCode;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};
use tokio::sync::mpsc;

use super::replay::{Place, Reader};
use crate::server::{Kind, Outgoing};
use crate::transport::http::Response;

/// A stream that says nothing for so long gets a comment, so that nothing on the way takes
/// it for dead.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// An answer that takes longer comes as a stream, so that nothing on the way takes the
/// connection for dead.
const PATIENCE: Duration = Duration::from_secs(5);

/// The status of an answer without a session (2026-07-28).
///
/// An error that a client of both eras does not know as one of this era must not be a 400:
/// it would take the server for an older one.
pub(super) fn status_stateless(kind: Kind) -> StatusCode {
    match kind {
        Kind::Error { code: -32601, .. } => StatusCode::NOT_FOUND,
        Kind::Error { code: -32700 | -32600 | -32022..=-32020, .. } => StatusCode::BAD_REQUEST,
        Kind::Error { code: -32602, of_envelope: true } => StatusCode::BAD_REQUEST,
        Kind::Said | Kind::Result | Kind::Error { .. } => StatusCode::OK,
    }
}

/// Where the messages of one request come from.
pub(super) trait Messages {
    type Message;

    fn kind(message: &Self::Message) -> Kind;

    fn next(&mut self) -> impl Future<Output = Option<Self::Message>> + Send;
}

impl Messages for mpsc::Receiver<Outgoing> {
    type Message = Outgoing;

    fn kind(message: &Outgoing) -> Kind {
        message.kind
    }

    fn next(&mut self) -> impl Future<Output = Option<Outgoing>> + Send {
        self.recv()
    }
}

impl Messages for Reader {
    type Message = (Place, Outgoing);

    fn kind((_, message): &Self::Message) -> Kind {
        message.kind
    }

    fn next(&mut self) -> impl Future<Output = Option<Self::Message>> + Send {
        Reader::next(self)
    }
}

/// How an answer begins.
pub(super) enum First<M> {
    /// It is one message, and nothing was said before.
    Whole(M),
    /// It comes as a stream, whose first message may be there already.
    Stream(Option<M>),
    /// There is none.
    None,
}

/// Waits until it is known whether the answer needs a stream. `events`: the client takes one;
/// `suits`: whether a message of that kind can be all that is said.
pub(super) async fn first<M: Messages>(
    events: bool,
    messages: &mut M,
    suits: impl Fn(Kind) -> bool,
) -> First<M::Message> {
    let patience = if events { PATIENCE } else { Duration::MAX };
    loop {
        match tokio::time::timeout(patience, messages.next()).await {
            // Only the answer can be said without a stream.
            Ok(Some(message)) if M::kind(&message) == Kind::Said && !events => {}
            Ok(Some(message)) if suits(M::kind(&message)) => return First::Whole(message),
            Ok(Some(message)) => return First::Stream(Some(message)),
            Ok(None) => return First::None,
            Err(_) => return First::Stream(None),
        }
    }
}

/// Milliseconds after which a client that lost the stream asks for the rest.
const RETRY: &str = "retry: 1000\n";

/// One event.
pub(super) struct Event {
    pub(super) id: Option<String>,
    /// `None` is the type that clients expect, `message`.
    pub(super) kind: Option<&'static str>,
    /// On one line.
    pub(super) data: Outgoing,
}

impl Event {
    pub(super) fn message(id: Option<String>, data: Outgoing) -> Self {
        Self { id, kind: None, data }
    }

    /// Of another type than messages have.
    pub(super) fn named(kind: &'static str, data: String) -> Self {
        Self { id: None, kind: Some(kind), data: Outgoing::new(data, Kind::Said) }
    }

    /// Without data: for its id, and what to do if no more come.
    pub(super) fn priming(id: String) -> Self {
        Self { id: Some(id), kind: None, data: Outgoing::new(String::new(), Kind::Said) }
    }

    fn bytes(mut self) -> Bytes {
        let data = &self.data.text;
        let mut text = String::with_capacity(data.len() + 64);
        if let Some(id) = self.id {
            text.push_str("id: ");
            text.push_str(&id);
            text.push('\n');
        }
        // An event without data is there for its id alone, and for what to do if no more come.
        if data.is_empty() {
            text.push_str(RETRY);
        } else {
            text.push_str("event: ");
            text.push_str(self.kind.unwrap_or("message"));
            text.push('\n');
        }
        text.push_str("data: ");
        text.push_str(data);
        text.push_str("\n\n");
        // Counted until it has been written.
        self.data.text = text;
        self.data.into()
    }
}

/// A stream of events, for as long as there are any.
pub(super) fn events(events: impl Stream<Item = Event> + Send + 'static) -> Response {
    let frames = stream::unfold(Box::pin(events), |mut events| async move {
        let next = tokio::time::timeout(KEEP_ALIVE, futures_util::StreamExt::next(&mut events)).await;
        let bytes = match next {
            Ok(event) => event?.bytes(),
            Err(_) => Bytes::from_static(b":\n\n"),
        };
        Some((Ok::<_, Infallible>(Frame::data(bytes)), events))
    });
    let mut response = http::Response::new(StreamBody::new(frames).boxed_unsync());
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}
