//! One request and its response over a connection of its own: HTTP/1.1, every step with its
//! time, every size with its bound. No redirect is followed.
//!
//! It sends what it is given: what is allowed was decided before.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, header};
use http_body::{Body, Frame, SizeHint};
use http_body_util::{LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, timeout, timeout_at};
use tokio_util::task::AbortOnDropHandle;

use super::dial;
use super::dial::Stream;
use super::failure::{Failure, Stage};
use super::{Caps, Outbound};
use crate::plugin::policy::outbound::target::Target;

/// Bytes of a response's head.
const HEAD: usize = 64 << 10;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// What is to be sent, and to whom.
pub(super) struct Exchange<B> {
    pub(super) target: Target,
    /// Whether addresses that are not public are allowed.
    pub(super) private: bool,
    /// Origin-form, with all its header fields.
    pub(super) request: Request<B>,
    pub(super) caps: Caps,
    /// Between two pieces of the response.
    pub(super) between: Duration,
    pub(super) turns: Arc<Semaphore>,
}

impl<B> Exchange<B>
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    /// Sends it and waits for the response's head.
    pub(super) async fn run(self, outbound: Arc<Outbound>) -> Result<Response<Received>, Failure> {
        let whole = Instant::now() + self.caps.whole;
        match timeout_at(whole, self.respond(outbound, whole)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(Failure::Timeout(Stage::Body)),
        }
    }

    async fn respond(self, outbound: Arc<Outbound>, whole: Instant) -> Result<Response<Received>, Failure> {
        let Self { target, private, request, caps, between, turns } = self;
        let connect = Instant::now() + caps.connect;
        // Neither closes, so whoever has no turn in time finds all of them taken.
        let Ok(Ok(turn)) = timeout_at(connect, turns.acquire_owned()).await else { return Err(Failure::Busy) };
        let turn = Arc::new(turn);
        let lookup = {
            let (outbound, host, turn) = (outbound.clone(), target.host.clone(), turn.clone());
            // A lookup cannot be stopped, so it goes on to count as an exchange until it ends.
            tokio::spawn(async move {
                let found = dial::addresses(&*outbound.resolver, &host, private).await;
                drop(turn);
                found
            })
        };
        let found = timeout_at(connect, lookup).await.map_err(|_| Failure::Timeout(Stage::Connect))?;
        let addresses = found.map_err(|_| Failure::Host)??;
        let stream = dial::tcp(&addresses, target.port, connect).await?;
        if !target.https {
            return send(stream, request, turn, &caps, between, whole).await;
        }
        let connector = outbound.connector().await?;
        let stream = dial::tls(&connector, stream, &target, Instant::now() + caps.tls).await?;
        send(stream, request, turn, &caps, between, whole).await
    }
}

async fn send<B>(
    stream: impl Stream + 'static,
    request: Request<B>,
    turn: Arc<OwnedSemaphorePermit>,
    caps: &Caps,
    between: Duration,
    whole: Instant,
) -> Result<Response<Received>, Failure>
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    let is_head = request.method() == http::Method::HEAD;
    let limit = usize::try_from(caps.request).unwrap_or(usize::MAX);
    let request = request.map(|body| Box::pin(Limited::new(body, limit)));
    let failed = |error: hyper::Error| failure(&error, caps);
    let (mut sender, connection) = http1::Builder::new()
        .max_headers(caps.headers)
        .max_buf_size(HEAD)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(failed)?;
    // What goes wrong on it is told to the request.
    let connection = AbortOnDropHandle::new(tokio::spawn(async move { drop(connection.await) }));
    let response = timeout(caps.first_byte, sender.send_request(request)).await;
    let response = response.map_err(|_| Failure::Timeout(Stage::FirstByte))?.map_err(failed)?;
    let told = response.headers().get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    if !is_head && told.is_some_and(|length: u64| length > caps.response) {
        return Err(Failure::ResponseTooLarge(caps.response));
    }
    let limit = usize::try_from(caps.response).unwrap_or(usize::MAX);
    Ok(response.map(|body| Received {
        body: Limited::new(body, limit),
        limit: caps.response,
        until: Box::pin(tokio::time::sleep_until(whole.min(Instant::now() + between))),
        whole,
        between,
        _connection: connection,
        _turn: turn,
    }))
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

/// A response's body. Dropping it closes the connection.
pub(super) struct Received {
    body: Limited<Incoming>,
    limit: u64,
    /// When waiting for the next piece ends.
    until: Pin<Box<Sleep>>,
    whole: Instant,
    between: Duration,
    _connection: AbortOnDropHandle<()>,
    _turn: Arc<OwnedSemaphorePermit>,
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
