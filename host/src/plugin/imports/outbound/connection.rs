//! A client connection over HTTP/1.1, for one request at a time.

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use hyper::client::conn::TrySendError;
use hyper::client::conn::http1::{Builder, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use crate::net::dial::Stream;
use crate::net::target::Target;

/// Maximum bytes of a response head.
const MAX_HEAD: usize = 64 << 10;

pub(super) type BoxError = Box<dyn std::error::Error + Send + Sync>;
/// A request body. One type for both front ends, since they share connections.
pub(super) type RequestBody = Limited<UnsyncBoxBody<Bytes, BoxError>>;

/// Limits a body to that many bytes; a longer one is an error.
pub(super) fn request_body<B>(body: B, limit: u64) -> RequestBody
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    Limited::new(body.map_err(Into::into).boxed_unsync(), usize::try_from(limit).unwrap_or(usize::MAX))
}

/// The key of the connection pool: requests share connections only if all of it is equal.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Route {
    pub(super) target: Target,
    /// Whether private addresses were allowed when it was dialled. Two entries of one grant may
    /// differ in that and name the same host.
    pub(super) private: bool,
}

/// Dropping it closes the connection at once, even if the server does not read.
pub(super) struct Connection {
    pub(super) route: Route,
    pub(super) opened: Instant,
    sender: SendRequest<RequestBody>,
    _task: AbortOnDropHandle<hyper::Result<()>>,
}

impl Connection {
    /// Opens a connection over a stream. Its task runs on the current runtime.
    pub(super) async fn open(stream: impl Stream + 'static, route: Route, fields: usize) -> hyper::Result<Self> {
        let (sender, connection) =
            Builder::new().max_headers(fields).max_buf_size(MAX_HEAD).handshake(TokioIo::new(stream)).await?;
        // Its errors are reported to the request.
        let task = AbortOnDropHandle::new(tokio::spawn(connection));
        Ok(Self { route, opened: Instant::now(), sender, _task: task })
    }

    /// Sends a request and waits for the response head. An error returns the request if none of it
    /// was written.
    pub(super) async fn send(
        &mut self,
        request: Request<RequestBody>,
    ) -> Result<Response<Incoming>, TrySendError<Request<RequestBody>>> {
        self.sender.try_send_request(request).await
    }

    /// Whether the last request was fully written and its response fully read, and neither end of
    /// stream nor other data was received since.
    pub(super) fn is_ready(&self) -> bool {
        self.sender.is_ready()
    }

    /// Waits until it is ready; `false` if the connection is closed.
    pub(super) async fn ready(&mut self) -> bool {
        self.sender.ready().await.is_ok()
    }
}
