//! The MCP endpoint: routes requests to the stateless handler or to their session.
//!
//! Source: MCP, basic/transports of each revision.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use http::header::{ALLOW, HeaderMap, HeaderValue};
use http::{Method, StatusCode};
use tokio_util::sync::CancellationToken;

use super::accepts::Accepts;
use super::headers;
use super::replay::{EventId, ReplayReader};
use super::reply::{self, Event, First};
use super::reuse::Reuse;
use super::session::{Session, SessionSettings, Sessions};
use super::sse::Sse;
use super::stateless::Stateless;
use super::stream_limit::{StreamLimit, StreamPermit, until_evicted};
use crate::identity::Identity;
use crate::jsonrpc::{self, ErrorObject, Frame, Invalid, Message, RequestId};
use crate::protocol::revision::Revision;
use crate::server::{Headers, MessageKind, Outgoing, PostKind, Posted, Server, post_kind};
use crate::transport::http::caller::Caller;
use crate::transport::http::responses::{ErrorResponse, busy, refused, too_many_streams};
use crate::transport::http::{Request, Response, responses};

pub(in crate::transport::http) const PATH: &str = "/mcp";
pub(in crate::transport::http) const EVENTS: &str = "/sse";
pub(in crate::transport::http) const MESSAGES: &str = "/messages";

const SESSION: &str = "mcp-session-id";

/// The MCP endpoint and its sessions.
pub(in crate::transport::http) struct Mcp {
    pub(in crate::transport::http) server: Arc<Server>,
    sessions: Sessions,
    sse: Sse,
    streams: Arc<StreamLimit>,
    /// Cancelled at shutdown, for streams that have no final message.
    stop: CancellationToken,
}

impl Mcp {
    /// `streams`: the maximum of long-lived streams.
    pub(in crate::transport::http) fn new(server: Arc<Server>, sessions: SessionSettings, streams: usize) -> Self {
        Self {
            server,
            sessions: Sessions::new(sessions),
            sse: Sse::default(),
            streams: StreamLimit::new(streams),
            stop: CancellationToken::new(),
        }
    }

    /// A permit for a long-lived stream.
    fn stream_permit(&self, caller: &Caller) -> Option<StreamPermit> {
        self.streams.acquire(&caller.key).map(|permit| permit.counting(&self.server))
    }

    /// Ends idle sessions; never returns.
    pub(in crate::transport::http) async fn end_idle(&self) -> Infallible {
        self.sessions.sweep_idle().await
    }

    /// Ends the sessions of these owners.
    pub(in crate::transport::http) fn end_of(&self, is_over: impl Fn(&Identity) -> bool) {
        self.sessions.end_of(is_over);
    }

    /// Ends streams with their results, gives running requests in sessions and over HTTP+SSE `grace`
    /// to finish, and then ends all other streams.
    pub(in crate::transport::http) async fn close(&self, grace: Duration) {
        self.server.stop();
        tokio::join!(self.sessions.close(grace), self.sse.close(grace));
        self.stop.cancel();
    }

    /// Handles a request whose body has been read. `reuse` belongs to its HTTP connection.
    pub(in crate::transport::http) async fn handle(
        &self,
        reuse: &Reuse,
        caller: &Caller,
        request: Request,
    ) -> Response {
        let (parts, body) = request.into_parts();
        match parts.uri.path() {
            EVENTS => {
                return match self.stream_permit(caller) {
                    Some(permit) => self.sse.get(&self.server, caller, MESSAGES, permit),
                    None => too_many_streams(None),
                };
            }
            MESSAGES => return self.sse.post(caller, parts.uri.query(), &body).await,
            _ => {}
        }
        let mcp_headers = match headers::read(&parts.headers) {
            Ok(read) => Arc::new(read),
            Err(error) => return refused(StatusCode::BAD_REQUEST, None, &error),
        };
        let modern = mcp_headers.version.as_deref().and_then(Revision::parse).is_some_and(Revision::is_modern);
        match parts.method {
            Method::POST => self.post(reuse, caller, &parts.headers, &mcp_headers, &body).await,
            Method::GET | Method::DELETE if modern => not_allowed("POST"),
            Method::GET => self.get(caller, &parts.headers, &mcp_headers),
            Method::DELETE => self.delete(caller, &parts.headers, &mcp_headers),
            _ => not_allowed("GET, POST, DELETE"),
        }
    }

    async fn post(
        &self,
        reuse: &Reuse,
        caller: &Caller,
        headers: &HeaderMap,
        mcp_headers: &Arc<Headers>,
        body: &Bytes,
    ) -> Response {
        let accepts = Accepts::of(headers);
        if !accepts.json && !accepts.events {
            let error = ErrorObject::invalid_request("accept", "responses are application/json or text/event-stream");
            return refused(StatusCode::NOT_ACCEPTABLE, None, &error);
        }
        let frame = match jsonrpc::decode(body) {
            Ok(frame) => frame,
            Err(invalid) => return self.bad_request(caller, headers, &invalid),
        };
        let kind = post_kind(&frame, mcp_headers.version.as_deref());
        let is_stateless = matches!(kind, PostKind::Stateless);
        let posted = Posted { frame, size: body.len(), headers: mcp_headers, is_stateless };
        match kind {
            PostKind::Refused(invalid) => self.bad_request(caller, headers, &invalid),
            PostKind::Stateless => {
                let stateless = Stateless { server: &self.server, streams: &self.streams };
                stateless.post(reuse, caller, posted, accepts).await
            }
            PostKind::Handshake => self.handshake(reuse, caller, posted, accepts).await,
            PostKind::InSession => match self.session(caller, headers, posted.frame.request_id()) {
                Ok(session) => self.post_in(reuse, caller, &session, posted, accepts).await,
                Err(response) => *response,
            },
        }
    }

    /// The response to an invalid message; in a session, as its revision defines it.
    fn bad_request(&self, caller: &Caller, headers: &HeaderMap, invalid: &Invalid) -> Response {
        match self.session(caller, headers, None) {
            Ok(session) => responses::json(StatusCode::BAD_REQUEST, session.connection.refusal(invalid)),
            Err(_) => refused(StatusCode::BAD_REQUEST, invalid.id.as_ref(), &invalid.error),
        }
    }

    async fn handshake(&self, reuse: &Reuse, caller: &Caller, posted: Posted<'_>, accepts: Accepts) -> Response {
        let id = posted.frame.request_id().cloned();
        let too_many = || {
            let detail = "there are too many sessions, retry later";
            busy(id.as_ref(), "too_many_sessions", detail, "60")
        };
        let Some(session) = self.sessions.open(&self.server, caller) else { return too_many() };
        let mut response = self.post_in(reuse, caller, &session, posted, accepts).await;
        // A failed handshake opens no session.
        if session.connection.revision().is_some()
            && let Ok(value) = HeaderValue::from_str(&session.id)
        {
            if !self.sessions.activate(&session) {
                return too_many();
            }
            // The sessions of its owner may have been ended before this one was stored.
            if caller.revoked.as_ref().is_some_and(CancellationToken::is_cancelled) {
                self.sessions.end(&session);
                return ErrorResponse::revoked().into();
            }
            response.headers_mut().insert(SESSION, value);
        }
        response
    }

    /// A stream of messages outside of requests, or the rest of a stream that broke off.
    fn get(&self, caller: &Caller, headers: &HeaderMap, mcp_headers: &Headers) -> Response {
        if !Accepts::of(headers).events {
            let error = ErrorObject::invalid_request("accept", "the response is text/event-stream");
            return refused(StatusCode::NOT_ACCEPTABLE, None, &error);
        }
        let session = match self.known(caller, headers, mcp_headers) {
            Ok(session) => session,
            Err(response) => return *response,
        };
        let from = match headers.get("last-event-id") {
            None => Some((session.own.clone(), None)),
            Some(value) => {
                let id = value.to_str().ok().and_then(EventId::parse);
                id.and_then(|id| Some((session.find(id)?, Some(id.after))))
            }
        };
        let Some((replay, after)) = from else {
            let detail = "the messages after that event are not retained; send the request again";
            let error = ErrorObject::invalid_request("event_not_kept", detail);
            return refused(StatusCode::BAD_REQUEST, None, &error);
        };
        let Some(permit) = self.stream_permit(caller) else { return too_many_streams(None) };
        let reader = replay.reader(after);
        let ended = session.ended();
        let events = replayed(session, reader, None, caller.expired()).take_until(self.stop.clone().cancelled_owned());
        reply::events(until_evicted(events.take_until(ended), Some(permit)))
    }

    fn delete(&self, caller: &Caller, headers: &HeaderMap, mcp_headers: &Headers) -> Response {
        match self.known(caller, headers, mcp_headers) {
            Ok(session) => {
                self.sessions.end(&session);
                responses::empty(StatusCode::OK)
            }
            Err(response) => *response,
        }
    }

    /// The session of a request without a body.
    fn known(
        &self,
        caller: &Caller,
        headers: &HeaderMap,
        mcp_headers: &Headers,
    ) -> Result<Arc<Session>, Box<Response>> {
        if let Some(version) = &mcp_headers.version
            && Revision::parse(version).is_none()
        {
            let error =
                ErrorObject::invalid_request("unsupported_protocol_version", "the version in the header is unknown");
            return Err(Box::new(refused(StatusCode::BAD_REQUEST, None, &error)));
        }
        self.session(caller, headers, None)
    }

    fn session(
        &self,
        caller: &Caller,
        headers: &HeaderMap,
        id: Option<&RequestId>,
    ) -> Result<Arc<Session>, Box<Response>> {
        let refuse =
            |status, reason, detail| Err(Box::new(refused(status, id, &ErrorObject::invalid_request(reason, detail))));
        let Some(session) = headers.get(SESSION).and_then(|value| value.to_str().ok()) else {
            return refuse(
                StatusCode::BAD_REQUEST,
                "missing_session",
                "Mcp-Session-Id is missing; initialize returns one, or put the version into params._meta",
            );
        };
        match self.sessions.get(session, caller.identity.name()) {
            Some(session) => Ok(session),
            None => refuse(StatusCode::NOT_FOUND, "session_not_found", "there is no such session; initialize again"),
        }
    }

    /// A POST in a session. Its request keeps running if the connection breaks: the client may
    /// resume the stream later.
    async fn post_in(
        &self,
        reuse: &Reuse,
        caller: &Caller,
        session: &Arc<Session>,
        posted: Posted<'_>,
        accepts: Accepts,
    ) -> Response {
        // A batch always has a response, be it the error that batches are not supported.
        let request = posted.frame.request_id().cloned();
        let needs_response = !matches!(&posted.frame, Frame::Single(Message::Notification(_) | Message::Response(_)));
        let (outbox, messages) = reuse.channel().unwrap_or_else(Session::channel);
        match session.connection.receive_post(&caller.identity, posted, &outbox, accepts.events).await {
            Some(answered) if accepts.json => {
                reuse.put_channel((outbox, messages));
                return session_response(answered.message);
            }
            Some(answered) => answered.send(&outbox).await,
            None => {}
        }
        drop(outbox);
        if !needs_response {
            return responses::empty(StatusCode::ACCEPTED);
        }
        let replay = session.stream(request, messages);
        let mut reader = replay.reader(Some(0));
        let suits = |kind: MessageKind| kind != MessageKind::ServerInitiated && accepts.json;
        let first = match reply::first(accepts.events, &mut reader, suits).await {
            First::Whole((_, message)) => {
                session.forget(&replay);
                return session_response(counted(session, message));
            }
            First::Stream(first) => first,
            // Cancelled, or a batch without requests: there is no response.
            First::None => {
                session.forget(&replay);
                return responses::empty(StatusCode::ACCEPTED);
            }
        };
        let (resumes, expired, poll_after) = (resumes(session), caller.expired(), self.sessions.poll_after());
        let cut = async move {
            match poll_after {
                // Its client could not get the rest.
                _ if !resumes => std::future::pending().await,
                Some(limit) => drop(tokio::time::timeout(limit, expired).await),
                None => expired.await,
            }
        };
        reply::events(replayed(session.clone(), reader, first, cut))
    }
}

/// The JSON response to a POST in a session.
fn session_response(message: Outgoing) -> Response {
    let refused = matches!(message.kind, MessageKind::Error { code: -32600, of_envelope: true });
    let status = if refused { StatusCode::BAD_REQUEST } else { StatusCode::OK };
    // Not 429, which a client of these revisions may take for the end of its session: the official one in Python does.
    reply::whole(status, StatusCode::OK, message)
}

/// Counts a copy of a retained message as unread.
fn counted(session: &Session, mut message: Outgoing) -> Outgoing {
    message.hold(session.connection.unread());
    message
}

/// The messages of a stream as events, with ids where the revision can resume, until `cut`: then the
/// client has at least the id to resume from. The session counts as in use meanwhile.
fn replayed(
    session: Arc<Session>,
    reader: ReplayReader,
    first: Option<(EventId, Outgoing)>,
    cut: impl Future<Output = ()> + Send,
) -> impl futures_util::Stream<Item = Event> + Send {
    // Older clients treat an event without data as a broken message.
    let primes = resumes(&session);
    let start = match &first {
        Some((id, _)) => EventId { after: id.after - 1, ..*id },
        None => reader.event_id(),
    };
    let priming = primes.then(|| Event::priming(start.to_string()));
    let messages = stream::unfold((first, reader, session, false), |(first, mut reader, session, over)| async move {
        if over {
            return None;
        }
        let (id, message) = match first {
            Some(first) => first,
            None => reader.next().await?,
        };
        let over = id.stream != 0 && ReplayReader::is_last(&message);
        let message = counted(&session, message);
        Some((Event::message(Some(id.to_string()), message), (None, reader, session, over)))
    });
    stream::iter(priming).chain(messages.take_until(cut))
}

/// Whether clients of the session's revision resume streams.
fn resumes(session: &Session) -> bool {
    session.connection.revision().is_some_and(|revision| revision >= Revision::V2025_11_25)
}

fn not_allowed(allowed: &'static str) -> Response {
    let mut response = responses::empty(StatusCode::METHOD_NOT_ALLOWED);
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    response
}

#[cfg(test)]
mod tests;
