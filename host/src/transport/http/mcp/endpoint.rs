//! The MCP endpoint: parts what stands by itself from what belongs to a session.
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
use super::places::{Place as Seat, Places, seated};
use super::replay::{Place, Reader};
use super::reply::{self, Event, First};
use super::reuse::Reuse;
use super::session::{At, Session, SessionSettings, Sessions};
use super::sse::Sse;
use super::stateless::Stateless;
use crate::jsonrpc::{self, ErrorObject, Frame, Invalid, Message, RequestId};
use crate::protocol::revision::Revision;
use crate::server::{Headers, Kind, Outgoing, PostKind, Server, post_kind};
use crate::transport::http::caller::Caller;
use crate::transport::http::refusal::{busy, refused, too_many_streams};
use crate::transport::http::{Request, Response, refusal};

pub(in crate::transport::http) const PATH: &str = "/mcp";
pub(in crate::transport::http) const EVENTS: &str = "/sse";
pub(in crate::transport::http) const MESSAGES: &str = "/messages";

const SESSION: &str = "mcp-session-id";

/// What the endpoint serves.
pub(in crate::transport::http) struct Mcp {
    pub(in crate::transport::http) server: Arc<Server>,
    sessions: Sessions,
    sse: Sse,
    streams: Arc<Places>,
    /// Cancelled when the server is about to end, for streams that have no last word.
    stop: CancellationToken,
}

impl Mcp {
    /// `streams`: as many may stay open at the same time.
    pub(in crate::transport::http) fn new(server: Arc<Server>, sessions: SessionSettings, streams: usize) -> Self {
        Self {
            server,
            sessions: Sessions::new(sessions),
            sse: Sse::default(),
            streams: Places::new(streams),
            stop: CancellationToken::new(),
        }
    }

    /// A place for a stream that stays open.
    fn seat(&self, caller: &Caller) -> Option<Seat> {
        self.streams.take(&caller.key)
    }

    /// Ends, for ever, sessions that nobody uses.
    pub(in crate::transport::http) async fn end_idle(&self) -> Infallible {
        self.sessions.keep_ending_idle().await
    }

    /// Ends streams with their results, gives what runs in sessions and over HTTP+SSE `grace` to finish, and
    /// then ends all other streams.
    pub(in crate::transport::http) async fn close(&self, grace: Duration) {
        self.server.stop();
        tokio::join!(self.sessions.close(grace), self.sse.close(grace));
        self.stop.cancel();
    }

    /// Answers a request whose body has been read. `reuse` is of the connection that it came by.
    pub(in crate::transport::http) async fn handle(
        &self,
        reuse: &Reuse,
        caller: &Caller,
        request: Request,
    ) -> Response {
        let (parts, body) = request.into_parts();
        match parts.uri.path() {
            EVENTS => {
                return match self.seat(caller) {
                    Some(seat) => self.sse.get(&self.server, caller, MESSAGES, seat),
                    None => too_many_streams(None),
                };
            }
            MESSAGES => return self.sse.post(&caller.principal, parts.uri.query(), &body).await,
            _ => {}
        }
        let said = match headers::read(&parts.headers) {
            Ok(said) => Arc::new(said),
            Err(error) => return refused(StatusCode::BAD_REQUEST, None, &error),
        };
        let modern = said.version.as_deref().and_then(Revision::parse).is_some_and(Revision::is_modern);
        match parts.method {
            Method::POST => self.post(reuse, caller, &parts.headers, &said, &body).await,
            Method::GET | Method::DELETE if modern => not_allowed("POST"),
            Method::GET => self.get(caller, &parts.headers, &said),
            Method::DELETE => self.delete(caller, &parts.headers, &said),
            _ => not_allowed("GET, POST, DELETE"),
        }
    }

    async fn post(
        &self,
        reuse: &Reuse,
        caller: &Caller,
        headers: &HeaderMap,
        said: &Arc<Headers>,
        body: &Bytes,
    ) -> Response {
        let accepts = Accepts::of(headers);
        if !accepts.json && !accepts.events {
            let error = ErrorObject::invalid_request("accept", "answers are application/json or text/event-stream");
            return refused(StatusCode::NOT_ACCEPTABLE, None, &error);
        }
        let frame = match jsonrpc::decode(body) {
            Ok(frame) => frame,
            Err(invalid) => return self.bad_request(caller, headers, &invalid),
        };
        let size = body.len();
        match post_kind(&frame, said.version.as_deref()) {
            PostKind::Refused(invalid) => self.bad_request(caller, headers, &invalid),
            PostKind::Stateless => {
                let stateless = Stateless { server: &self.server, streams: &self.streams };
                stateless.post(reuse, caller, frame, size, said, accepts).await
            }
            PostKind::Handshake => self.handshake(reuse, caller, frame, size, accepts).await,
            PostKind::InSession => match self.session(caller, headers, frame.request_id()) {
                Ok(session) => self.post_in(reuse, &session, frame, size, accepts).await,
                Err(response) => *response,
            },
        }
    }

    /// The answer to what is no message: in a session, as its revision has it.
    fn bad_request(&self, caller: &Caller, headers: &HeaderMap, invalid: &Invalid) -> Response {
        match self.session(caller, headers, None) {
            Ok(session) => refusal::json(StatusCode::BAD_REQUEST, session.connection.refusal(invalid)),
            Err(_) => refused(StatusCode::BAD_REQUEST, invalid.id.as_ref(), &invalid.error),
        }
    }

    async fn handshake(
        &self,
        reuse: &Reuse,
        caller: &Caller,
        frame: Frame<'_>,
        size: usize,
        accepts: Accepts,
    ) -> Response {
        let id = frame.request_id().cloned();
        let too_many = || {
            let detail = "there are too many sessions, try again later";
            busy(id.as_ref(), "too_many_sessions", detail, "60")
        };
        let Some(session) = self.sessions.open(&self.server, caller) else { return too_many() };
        let mut response = self.post_in(reuse, &session, frame, size, accepts).await;
        // A handshake that failed opens nothing.
        if session.connection.revision().is_some()
            && let Ok(value) = HeaderValue::from_str(&session.id)
        {
            if !self.sessions.put(&session) {
                return too_many();
            }
            response.headers_mut().insert(SESSION, value);
        }
        response
    }

    /// A stream of what belongs to no request, or the rest of one that was lost.
    fn get(&self, caller: &Caller, headers: &HeaderMap, said: &Headers) -> Response {
        if !Accepts::of(headers).events {
            let error = ErrorObject::invalid_request("accept", "the answer is text/event-stream");
            return refused(StatusCode::NOT_ACCEPTABLE, None, &error);
        }
        let session = match self.known(caller, headers, said) {
            Ok(session) => session,
            Err(response) => return *response,
        };
        let place = headers.get("last-event-id").and_then(|value| value.to_str().ok()).and_then(Place::parse);
        let Some(seat) = self.seat(caller) else { return too_many_streams(None) };
        let reader = match place.map(|place| (session.at(place), place)) {
            Some((At::Kept(replay), place)) => replay.reader(Some(place.after)),
            Some((At::Gone, _)) => {
                let detail = "what followed that event is kept no more; send the request again";
                let error = ErrorObject::invalid_request("event_not_kept", detail);
                return refused(StatusCode::BAD_REQUEST, None, &error);
            }
            Some((At::Never, _)) | None => session.own.reader(None),
        };
        let ended = session.ended();
        let events = replayed(session, reader, None).take_until(self.stop.clone().cancelled_owned());
        reply::events(seated(events.take_until(ended), Some(seat)))
    }

    fn delete(&self, caller: &Caller, headers: &HeaderMap, said: &Headers) -> Response {
        match self.known(caller, headers, said) {
            Ok(session) => {
                self.sessions.end(&session);
                refusal::empty(StatusCode::OK)
            }
            Err(response) => *response,
        }
    }

    /// The session of a request without a body.
    fn known(&self, caller: &Caller, headers: &HeaderMap, said: &Headers) -> Result<Arc<Session>, Box<Response>> {
        if let Some(version) = &said.version
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
                "Mcp-Session-Id is missing; initialize gives one, or put the version into params._meta",
            );
        };
        match self.sessions.get(session, &caller.principal) {
            Some(session) => Ok(session),
            None => refuse(StatusCode::NOT_FOUND, "session_not_found", "there is no such session; initialize again"),
        }
    }

    /// A POST in a session. The client may lose the connection and ask for the rest later, so
    /// what runs goes on without it.
    async fn post_in(
        &self,
        reuse: &Reuse,
        session: &Arc<Session>,
        frame: Frame<'_>,
        size: usize,
        accepts: Accepts,
    ) -> Response {
        // An answer to a batch may also be that there are no batches.
        let request = frame.request_id().cloned();
        let wants_answer = !matches!(&frame, Frame::Single(Message::Notification(_) | Message::Response(_)));
        let (outbox, messages) = reuse.channel().unwrap_or_else(Session::channel);
        match session.connection.receive_post(frame, size, None, &outbox, accepts.events).await {
            Some(answered) if accepts.json => {
                reuse.put_channel((outbox, messages));
                return answer_in(answered.message);
            }
            Some(answered) => answered.send(&outbox).await,
            None => {}
        }
        drop(outbox);
        if !wants_answer {
            return refusal::empty(StatusCode::ACCEPTED);
        }
        let replay = session.stream(request, messages);
        let mut reader = replay.reader(Some(0));
        let suits = |kind: Kind| kind != Kind::Said && accepts.json;
        let first = match reply::first(accepts.events, &mut reader, suits).await {
            First::Whole((_, message)) => {
                session.forget(&replay);
                return answer_in(counted(session, message));
            }
            First::Stream(first) => first,
            // Cancelled, or there was no request in it: there is no answer.
            First::None => {
                session.forget(&replay);
                return refusal::empty(StatusCode::ACCEPTED);
            }
        };
        let rest = replayed(session.clone(), reader, first);
        match self.sessions.poll_after().filter(|_| resumes(session)) {
            Some(limit) => reply::events(rest.take_until(tokio::time::sleep(limit))),
            None => reply::events(rest),
        }
    }
}

/// The answer to a POST in a session, where it is all that is said.
fn answer_in(message: Outgoing) -> Response {
    let refused = matches!(message.kind, Kind::Error { code: -32600, of_envelope: true });
    refusal::json(if refused { StatusCode::BAD_REQUEST } else { StatusCode::OK }, message)
}

/// A copy of what is kept, counted among what the client has not read.
fn counted(session: &Session, mut message: Outgoing) -> Outgoing {
    message.hold(session.connection.unread());
    message
}

/// The messages of a stream as events, which a client may ask for again where its revision
/// has that. The session is in use for as long.
fn replayed(
    session: Arc<Session>,
    reader: Reader,
    first: Option<(Place, Outgoing)>,
) -> impl futures_util::Stream<Item = Event> + Send {
    // Older clients take an event without data for a broken message.
    let primes = resumes(&session);
    let start = match &first {
        Some((place, _)) => Place { after: place.after - 1, ..*place },
        None => reader.place(),
    };
    let priming = primes.then(|| Event::priming(start.to_string()));
    let messages = stream::unfold((first, reader, session, false), |(first, mut reader, session, over)| async move {
        if over {
            return None;
        }
        let (place, message) = match first {
            Some(first) => first,
            None => reader.next().await?,
        };
        let over = place.stream != 0 && Reader::is_last(&message);
        let message = counted(&session, message);
        Some((Event::message(Some(place.to_string()), message), (None, reader, session, over)))
    });
    stream::iter(priming).chain(messages)
}

/// Whether clients of the session's revision come back for the rest of a stream.
fn resumes(session: &Session) -> bool {
    session.connection.revision().is_some_and(|revision| revision >= Revision::V2025_11_25)
}

fn not_allowed(allowed: &'static str) -> Response {
    let mut response = refusal::empty(StatusCode::METHOD_NOT_ALLOWED);
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    response
}
