//! An HTTP/1.1 connection to a server, for one request at a time.

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

use super::dial::Stream;
use crate::plugin::policy::outbound::target::Target;

/// Bytes of a response's head.
const HEAD: usize = 64 << 10;

pub(super) type BoxError = Box<dyn std::error::Error + Send + Sync>;
/// A request's body. One type for both front ends, since they share connections.
pub(super) type Outgoing = Limited<UnsyncBoxBody<Bytes, BoxError>>;

/// A body of at most that many bytes; more is an error.
pub(super) fn outgoing<B>(body: B, most: u64) -> Outgoing
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    Limited::new(body.map_err(Into::into).boxed_unsync(), usize::try_from(most).unwrap_or(usize::MAX))
}

/// What a connection was opened for. Requests share connections only if all of it is the same.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Route {
    pub(super) target: Target,
    /// Whether addresses that are not public were allowed when it was dialled. Two entries of one
    /// grant may differ in that and name the same host.
    pub(super) private: bool,
}

/// Dropping it closes the connection at once, also if the server does not read.
pub(super) struct Connection {
    pub(super) route: Route,
    pub(super) opened: Instant,
    sender: SendRequest<Outgoing>,
    _task: AbortOnDropHandle<hyper::Result<()>>,
}

impl Connection {
    /// Over a stream to that server. Its task runs on the runtime of the caller.
    pub(super) async fn open(stream: impl Stream + 'static, route: Route, fields: usize) -> hyper::Result<Self> {
        let (sender, connection) =
            Builder::new().max_headers(fields).max_buf_size(HEAD).handshake(TokioIo::new(stream)).await?;
        // Its errors are reported to the request.
        let task = AbortOnDropHandle::new(tokio::spawn(connection));
        Ok(Self { route, opened: Instant::now(), sender, _task: task })
    }

    /// Sends a request and waits for the response's head. An error has the request if nothing of it was
    /// written.
    pub(super) async fn send(
        &mut self,
        request: Request<Outgoing>,
    ) -> Result<Response<Incoming>, TrySendError<Request<Outgoing>>> {
        self.sender.try_send_request(request).await
    }

    /// Whether the last request was written whole and its response read whole, and neither the end
    /// nor anything else has come since.
    pub(super) fn is_ready(&self) -> bool {
        self.sender.is_ready()
    }

    /// Waits for that; `false` if the connection is closed.
    pub(super) async fn ready(&mut self) -> bool {
        self.sender.ready().await.is_ok()
    }
}
