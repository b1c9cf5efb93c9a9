//! One request and its response over HTTP/1.1; each step has a timeout, and each size a limit.
//! Redirects are not followed.
//!
//! `outbound` has enforced policy before.

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

use super::connection::{Connection, RequestBody, Route, request_body};
use super::failure::{Failure, Stage};
use super::pool::Pool;
use super::{Caps, Outbound};
use crate::net::{dial, interim};

/// How recently a connection must have been used to be reused for a request that cannot be retried.
/// If the server closes it while the request is in transit, it is unknown whether the request was
/// processed; servers close idle connections after 5 s (Node.js, uvicorn) or more.
const RECENT: Duration = Duration::from_secs(2);

/// A request with its route and limits.
pub(super) struct Exchange {
    pub(super) route: Route,
    /// Origin-form, with all its header fields.
    pub(super) request: Request<RequestBody>,
    pub(super) caps: Caps,
    /// Timeout between two frames of the response body.
    pub(super) between: Duration,
    pub(super) exchanges: Arc<Semaphore>,
    pub(super) pool: Arc<Pool>,
}

impl Exchange {
    /// Sends the request and waits for the response head.
    pub(super) async fn run(self, outbound: Arc<Outbound>) -> Result<Response<Received>, Failure> {
        let whole = Instant::now() + self.caps.whole;
        match timeout_at(whole, self.respond(outbound, whole)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(Failure::Timeout(Stage::Body)),
        }
    }

    async fn respond(self, outbound: Arc<Outbound>, whole: Instant) -> Result<Response<Received>, Failure> {
        let connect = Instant::now() + self.caps.connect;
        // The semaphore is never closed, so this is the timeout: all permits are in use.
        let permit = timeout_at(connect, self.exchanges.clone().acquire_owned()).await;
        let Ok(Ok(permit)) = permit else { return Err(Failure::Busy) };
        let permit = Arc::new(permit);
        let limit = self.caps.response;
        let (pool, between) = (self.pool.clone(), self.between);
        let is_head = self.request.method() == Method::HEAD;
        let may_keep = !authenticates_connection(self.request.headers());
        let (connection, response) = self.send(&outbound, &permit, connect).await?;
        let length =
            response.headers().get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
        // With two lengths, a proxy on the way may have used the other one (RFC 9112, section 6.3).
        let keep = may_keep
            && !(response.headers().contains_key(header::TRANSFER_ENCODING)
                && response.headers().contains_key(header::CONTENT_LENGTH));
        if !is_head && length.is_some_and(|length: u64| length > limit) {
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
            permit,
        }))
    }

    /// Sends it over an idle connection of the pool, or over a new one.
    async fn send(
        self,
        outbound: &Outbound,
        permit: &Arc<OwnedSemaphorePermit>,
        connect: Instant,
    ) -> Result<(Connection, Response<Incoming>), Failure> {
        let Self { route, request, caps, pool, .. } = self;
        // RFC 9110, section 9.2.2. A body is streamed, so it cannot be sent again.
        let repeatable = request.method().is_idempotent() && request.body().is_end_stream();
        let used = if repeatable { caps.idle } else { RECENT };
        let (request, connect) = match pool.take(&route, used) {
            None => (request, connect),
            Some(mut connection) => {
                let again = repeatable.then(|| without_body(&request));
                match response_head(&mut connection, request, &caps).await? {
                    Ok(response) => return Ok((connection, response)),
                    // At most one retry, since the next connection is new.
                    Err(mut error) => {
                        let unsent = error.take_message();
                        let again = unsent.or(again.filter(|_| was_closed(error.error())));
                        (again.ok_or_else(|| failure(error.error(), &caps))?, Instant::now() + caps.connect)
                    }
                }
            }
        };
        let mut connection = open(outbound, route, &caps, permit, connect).await?;
        match response_head(&mut connection, request, &caps).await? {
            Ok(response) => Ok((connection, response)),
            Err(error) => Err(failure(error.error(), &caps)),
        }
    }
}

/// Sends the request and waits for the response head, with its timeout.
async fn response_head(
    connection: &mut Connection,
    request: Request<RequestBody>,
    caps: &Caps,
) -> Result<Result<Response<Incoming>, TrySendError<Request<RequestBody>>>, Failure> {
    let sent = timeout(caps.first_byte, interim::bounded(request, |request| connection.send(request))).await;
    let sent = sent.map_err(|_| Failure::Timeout(Stage::FirstByte))?;
    sent.map_err(|too_many| Failure::Protocol(too_many.to_string()))
}

async fn open(
    outbound: &Outbound,
    route: Route,
    caps: &Caps,
    permit: &Arc<OwnedSemaphorePermit>,
    connect: Instant,
) -> Result<Connection, Failure> {
    let Route { target, private } = &route;
    let lookup = {
        let (resolver, host, private, permit) =
            (outbound.resolver.clone(), target.host.clone(), *private, permit.clone());
        // A lookup cannot be cancelled, so it counts as an exchange until it ends.
        tokio::spawn(async move {
            let found = dial::addresses(&*resolver, &host, private).await;
            drop(permit);
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

/// A copy of a request without a body.
fn without_body(request: &Request<RequestBody>) -> Request<RequestBody> {
    let mut copy = Request::new(request_body(Empty::new(), 0));
    *copy.method_mut() = request.method().clone();
    *copy.uri_mut() = request.uri().clone();
    *copy.headers_mut() = request.headers().clone();
    copy
}

/// Whether the server closed the connection before its response, as it may with an idle one.
fn was_closed(error: &hyper::Error) -> bool {
    let source = std::error::Error::source(error);
    error.is_incomplete_message() || error.is_canceled() || source.is_some_and(|source| source.is::<io::Error>())
}

/// Whether the request authenticates its whole connection, as NTLM and Negotiate do
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

/// A response body. When it is dropped, its connection is returned to the pool if the body was
/// read to its end, and closed otherwise.
pub(super) struct Received {
    body: Limited<Incoming>,
    limit: u64,
    /// Deadline of the next frame.
    until: Pin<Box<Sleep>>,
    whole: Instant,
    between: Duration,
    /// Whether the end of the body was received.
    ended: bool,
    /// `Some` until it is dropped.
    connection: Option<Connection>,
    /// The pool to return the connection to.
    pool: Option<Arc<Pool>>,
    permit: Arc<OwnedSemaphorePermit>,
}

impl Drop for Received {
    fn drop(&mut self) {
        // The rest of a body would be parsed as the next response. With a known length, the body ends
        // with the last byte; otherwise its end is a frame of its own.
        let whole = self.ended || self.body.is_end_stream();
        if let (true, Some(connection), Some(pool)) = (whole, self.connection.take(), self.pool.take()) {
            pool.keep(connection, self.permit.clone());
        }
    }
}

impl Body for Received {
    type Data = Bytes;
    type Error = Failure;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Failure>>> {
        // First, so that a server that never stops sending hits the deadline.
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
