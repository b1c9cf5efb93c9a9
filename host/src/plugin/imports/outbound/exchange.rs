//! One request and its response: HTTP/1.1, every step with its time, every size with its bound.
//! No redirect is followed.
//!
//! It sends what it is given: what is allowed was decided before.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, header};
use http_body::{Body, Frame, SizeHint};
use http_body_util::{Empty, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::client::conn::TrySendError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, timeout, timeout_at};

use super::connection::{Connection, Outgoing, Route, outgoing};
use super::dial;
use super::failure::{Failure, Stage};
use super::pool::Pool;
use super::{Caps, Outbound};

/// How recently a connection must have been used to take a request that cannot be sent again. A
/// server that closes it while the request is on its way leaves open whether it was carried out,
/// and servers close idle connections after 5 s (Node.js, uvicorn) or more.
const RECENT: Duration = Duration::from_secs(2);

/// What is to be sent, and to whom.
pub(super) struct Exchange {
    pub(super) route: Route,
    /// Origin-form, with all its header fields.
    pub(super) request: Request<Outgoing>,
    pub(super) caps: Caps,
    /// Between two pieces of the response.
    pub(super) between: Duration,
    pub(super) turns: Arc<Semaphore>,
    pub(super) pool: Arc<Pool>,
}

impl Exchange {
    /// Sends it and waits for the response's head.
    pub(super) async fn run(self, outbound: Arc<Outbound>) -> Result<Response<Received>, Failure> {
        let whole = Instant::now() + self.caps.whole;
        match timeout_at(whole, self.respond(outbound, whole)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(Failure::Timeout(Stage::Body)),
        }
    }

    async fn respond(self, outbound: Arc<Outbound>, whole: Instant) -> Result<Response<Received>, Failure> {
        let connect = Instant::now() + self.caps.connect;
        // It never closes: without a turn in time, all of them are taken.
        let turn = timeout_at(connect, self.turns.clone().acquire_owned()).await;
        let Ok(Ok(turn)) = turn else { return Err(Failure::Busy) };
        let turn = Arc::new(turn);
        let limit = self.caps.response;
        let (pool, between) = (self.pool.clone(), self.between);
        let is_head = self.request.method() == Method::HEAD;
        let keep = !authenticates_connection(self.request.headers());
        let (connection, response) = self.send(&outbound, &turn, connect).await?;
        let told = response.headers().get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
        if !is_head && told.is_some_and(|length: u64| length > limit) {
            return Err(Failure::ResponseTooLarge(limit));
        }
        Ok(response.map(|body| Received {
            body: Limited::new(body, usize::try_from(limit).unwrap_or(usize::MAX)),
            limit,
            until: Box::pin(tokio::time::sleep_until(whole.min(Instant::now() + between))),
            whole,
            between,
            ended: false,
            connection: Some(connection),
            pool: keep.then_some(pool),
            turn,
        }))
    }

    /// Sends it over a connection that is open already, or over a new one.
    async fn send(
        self,
        outbound: &Outbound,
        turn: &Arc<OwnedSemaphorePermit>,
        connect: Instant,
    ) -> Result<(Connection, Response<Incoming>), Failure> {
        let Self { route, request, caps, pool, .. } = self;
        // RFC 9110, section 9.2.2. A body flows, and is gone once it was sent.
        let repeatable = request.method().is_idempotent() && request.body().is_end_stream();
        let used = if repeatable { caps.idle } else { RECENT };
        let (request, connect) = match pool.take(&route, used) {
            None => (request, connect),
            Some(mut connection) => {
                let again = repeatable.then(|| without_body(&request));
                match begun(&mut connection, request, &caps).await? {
                    Ok(response) => return Ok((connection, response)),
                    // A second time at most, since the next connection is new.
                    Err(mut error) => {
                        let unsent = error.take_message();
                        let again = unsent.or(again.filter(|_| was_closed(error.error())));
                        (again.ok_or_else(|| failure(error.error(), &caps))?, Instant::now() + caps.connect)
                    }
                }
            }
        };
        let mut connection = open(outbound, route, &caps, turn, connect).await?;
        match begun(&mut connection, request, &caps).await? {
            Ok(response) => Ok((connection, response)),
            Err(error) => Err(failure(error.error(), &caps)),
        }
    }
}

/// What became of a request, in the time until its response begins.
async fn begun(
    connection: &mut Connection,
    request: Request<Outgoing>,
    caps: &Caps,
) -> Result<Result<Response<Incoming>, TrySendError<Request<Outgoing>>>, Failure> {
    timeout(caps.first_byte, connection.send(request)).await.map_err(|_| Failure::Timeout(Stage::FirstByte))
}

async fn open(
    outbound: &Outbound,
    route: Route,
    caps: &Caps,
    turn: &Arc<OwnedSemaphorePermit>,
    connect: Instant,
) -> Result<Connection, Failure> {
    let Route { target, private } = &route;
    let lookup = {
        let (resolver, host, private, turn) = (outbound.resolver.clone(), target.host.clone(), *private, turn.clone());
        // A lookup cannot be stopped, so it goes on to count as an exchange until it ends.
        tokio::spawn(async move {
            let found = dial::addresses(&*resolver, &host, private).await;
            drop(turn);
            found
        })
    };
    let found = timeout_at(connect, lookup).await.map_err(|_| Failure::Timeout(Stage::Connect))?;
    let addresses = found.map_err(|_| Failure::Host)??;
    let stream = dial::tcp(&addresses, target.port, connect).await?;
    let opened = if target.https {
        let connector = outbound.connector().await?;
        let stream = dial::tls(&connector, stream, target, Instant::now() + caps.tls).await?;
        Connection::open(stream, route, caps.headers).await
    } else {
        Connection::open(stream, route, caps.headers).await
    };
    opened.map_err(|error| failure(&error, caps))
}

/// A copy of a request that has no body.
fn without_body(request: &Request<Outgoing>) -> Request<Outgoing> {
    let mut copy = Request::new(outgoing(Empty::new(), 0));
    *copy.method_mut() = request.method().clone();
    *copy.uri_mut() = request.uri().clone();
    *copy.headers_mut() = request.headers().clone();
    copy
}

/// Whether the server closed the connection before it answered, as it may with one that is idle.
fn was_closed(error: &hyper::Error) -> bool {
    let source = std::error::Error::source(error);
    error.is_incomplete_message() || error.is_canceled() || source.is_some_and(|source| source.is::<io::Error>())
}

/// Whether the request authenticates all that follows on its connection, as NTLM and Negotiate do
/// (RFC 4559, section 6): the next request may be another caller's.
fn authenticates_connection(headers: &HeaderMap) -> bool {
    headers.get_all(header::AUTHORIZATION).iter().any(|value| {
        let scheme = value.as_bytes().trim_ascii().split(u8::is_ascii_whitespace).next().unwrap_or_default();
        scheme.eq_ignore_ascii_case(b"ntlm") || scheme.eq_ignore_ascii_case(b"negotiate")
    })
}

fn failure(error: &hyper::Error, caps: &Caps) -> Failure {
    let source = std::error::Error::source(error);
    if source.is_some_and(|source| source.is::<LengthLimitError>()) {
        return Failure::RequestTooLarge(caps.request);
    }
    if error.is_user() {
        return Failure::Invalid("its body ended early".into());
    }
    Failure::Protocol(error.to_string())
}

/// A response's body. When it is dropped its connection is kept for the next request if the body was
/// read whole, and closed otherwise.
pub(super) struct Received {
    body: Limited<Incoming>,
    limit: u64,
    /// When waiting for the next piece ends.
    until: Pin<Box<Sleep>>,
    whole: Instant,
    between: Duration,
    /// Whether the end of the body was seen.
    ended: bool,
    /// There until it is dropped.
    connection: Option<Connection>,
    /// Where the connection may be kept.
    pool: Option<Arc<Pool>>,
    turn: Arc<OwnedSemaphorePermit>,
}

impl Drop for Received {
    fn drop(&mut self) {
        // What is left of a body would be taken for the next response. Of a length that was told the
        // last byte is the end; of other bodies it comes by itself.
        let whole = self.ended || self.body.is_end_stream();
        if let (true, Some(connection), Some(pool)) = (whole, self.connection.take(), self.pool.take()) {
            pool.keep(connection, self.turn.clone());
        }
    }
}

impl Body for Received {
    type Data = Bytes;
    type Error = Failure;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Failure>>> {
        // First, so that a server that never stops sending is stopped.
        if self.until.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Some(Err(Failure::Timeout(Stage::Body))));
        }
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        let next = self.whole.min(Instant::now() + self.between);
        self.until.as_mut().reset(next);
        self.ended = frame.is_none();
        Poll::Ready(frame.map(|frame| {
            frame.map_err(|error| {
                if error.is::<LengthLimitError>() {
                    Failure::ResponseTooLarge(self.limit)
                } else {
                    Failure::Protocol(error.to_string())
                }
            })
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
