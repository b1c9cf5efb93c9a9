//! SSE responses, and the status of JSON responses.
//!
//! Source: MCP, basic/transports of each revision; the HTML standard, "Server-sent events".

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, Stream};
use http::StatusCode;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};
use tokio::sync::mpsc;

use super::replay::{EventId, ReplayReader};
use crate::server::{MessageKind, Outgoing, Remedy};
use crate::transport::http::{Response, responses};

/// An idle stream gets a comment after this time, so that no proxy times out.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// A response that takes longer is sent as a stream, so that no proxy times out.
const STREAM_AFTER: Duration = Duration::from_secs(5);

/// The status of a stateless response (2026-07-28).
///
/// An error that a dual-era client does not recognize as one of this era must not be a 400: it
/// would fall back to the older era.
pub(super) fn status_stateless(kind: MessageKind) -> StatusCode {
    match kind {
        MessageKind::Error { code: -32601, .. } => StatusCode::NOT_FOUND,
        MessageKind::Error { code: -32700 | -32600 | -32022..=-32020, .. } => StatusCode::BAD_REQUEST,
        MessageKind::Error { code: -32602, of_envelope: true } => StatusCode::BAD_REQUEST,
        MessageKind::ServerInitiated | MessageKind::Result | MessageKind::Error { .. } => StatusCode::OK,
    }
}

/// In the extensions of a response: the scopes that its request needs.
#[derive(Clone)]
pub(in crate::transport::http) struct NeededScope(pub(in crate::transport::http) Box<str>);

/// A response of one message. What needs more scopes has one status in all revisions; `busy` is that of what may be
/// sent again later.
pub(super) fn whole(status: StatusCode, busy: StatusCode, mut message: Outgoing) -> Response {
    match message.remedy.take() {
        None => responses::json(status, message),
        Some(Remedy::Scope(scope)) => {
            let mut response = responses::json(StatusCode::FORBIDDEN, message);
            response.extensions_mut().insert(NeededScope(scope));
            response
        }
        Some(Remedy::RetryAfter(seconds)) => {
            let mut response = responses::json(busy, message);
            response.headers_mut().insert(RETRY_AFTER, seconds.into());
            response
        }
    }
}

/// The source of one request's messages.
pub(super) trait Messages {
    type Message;

    fn kind(message: &Self::Message) -> MessageKind;

    fn next(&mut self) -> impl Future<Output = Option<Self::Message>> + Send;
}

impl Messages for mpsc::Receiver<Outgoing> {
    type Message = Outgoing;

    fn kind(message: &Outgoing) -> MessageKind {
        message.kind
    }

    fn next(&mut self) -> impl Future<Output = Option<Outgoing>> + Send {
        self.recv()
    }
}

impl Messages for ReplayReader {
    type Message = (EventId, Outgoing);

    fn kind((_, message): &Self::Message) -> MessageKind {
        message.kind
    }

    fn next(&mut self) -> impl Future<Output = Option<Self::Message>> + Send {
        ReplayReader::next(self)
    }
}

/// The form of a response.
pub(super) enum First<M> {
    /// A single message.
    Whole(M),
    /// A stream, with its first message if there is one already.
    Stream(Option<M>),
    /// No response.
    None,
}

/// Waits until it is known whether the response needs a stream. `events`: the client accepts one;
/// `suits`: whether a message of that kind can be the whole response.
pub(super) async fn first<M: Messages>(
    events: bool,
    messages: &mut M,
    suits: impl Fn(MessageKind) -> bool,
) -> First<M::Message> {
    let limit = if events { STREAM_AFTER } else { Duration::MAX };
    loop {
        match tokio::time::timeout(limit, messages.next()).await {
            // Without a stream only the response can be sent.
            Ok(Some(message)) if M::kind(&message) == MessageKind::ServerInitiated && !events => {}
            Ok(Some(message)) if suits(M::kind(&message)) => return First::Whole(message),
            Ok(Some(message)) => return First::Stream(Some(message)),
            Ok(None) => return First::None,
            Err(_) => return First::Stream(None),
        }
    }
}

/// Milliseconds after which a client resumes an interrupted stream.
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

    /// An event of another type than `message`.
    pub(super) fn named(kind: &'static str, data: String) -> Self {
        Self { id: None, kind: Some(kind), data: Outgoing::new(data, MessageKind::ServerInitiated) }
    }

    /// A priming event without data, for its id and `retry`.
    pub(super) fn priming(id: String) -> Self {
        Self { id: Some(id), kind: None, data: Outgoing::new(String::new(), MessageKind::ServerInitiated) }
    }

    fn bytes(mut self) -> Bytes {
        let data = &self.data.text;
        let mut text = String::with_capacity(data.len() + 64);
        if let Some(id) = self.id {
            text.push_str("id: ");
            text.push_str(&id);
            text.push('\n');
        }
        // A priming event carries `retry` instead of a type.
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
        // Stays counted as unread until it has been written.
        self.data.text = text;
        self.data.into()
    }
}

/// An SSE response, until `events` ends.
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
