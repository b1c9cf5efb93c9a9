//! Sends a request to the node of its session, and its response back, as it comes.

use std::collections::HashMap;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::header::{self, HeaderName, HeaderValue};
use http::{Method, StatusCode};
use http_body::{Body as HttpBody, Frame};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio_util::sync::CancellationToken;

use super::CLIENT;
use crate::jsonrpc::ErrorObject;
use crate::nodes::{NodeId, Nodes, Unreachable};
use crate::protocol::revision::Revision;
use crate::seldom::Seldom;
use crate::server::Server;
use crate::sync::lock;
use crate::transport::http::caller::Peer;
use crate::transport::http::mcp::{MESSAGES, PATH};
use crate::transport::http::responses::{busy, refused};
use crate::transport::http::{Request, Response};

/// Connections to one node that wait for their next request.
const IDLE: usize = 32;
/// Nodes to which there are some.
const NODES: usize = 64;
/// Fields that are of one connection (RFC 9110, section 7.6.1), and the length, which is written anew.
const OF_CONNECTION: [HeaderName; 6] = [
    header::CONNECTION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    header::CONTENT_LENGTH,
];

type Sender = SendRequest<Full<Bytes>>;

/// Connections to the other nodes.
pub(in crate::transport::http) struct Forward {
    nodes: Arc<Nodes>,
    idle: Arc<Idle>,
    /// Cancelled at shutdown: streams that have no end of their own end then.
    stop: CancellationToken,
    failures: Seldom,
}

#[derive(Default)]
struct Idle(Mutex<HashMap<NodeId, Vec<Sender>>>);

impl Idle {
    fn take(&self, node: NodeId) -> Option<Sender> {
        let mut all = lock(&self.0);
        let of_node = all.get_mut(&node)?;
        std::iter::from_fn(|| of_node.pop()).find(|sender| !sender.is_closed())
    }

    fn put(&self, node: NodeId, sender: Sender) {
        let mut all = lock(&self.0);
        if all.len() >= NODES && !all.contains_key(&node) {
            all.retain(|_, senders| senders.iter().any(|sender| !sender.is_closed()));
        }
        let of_node = all.entry(node).or_default();
        of_node.retain(|sender| !sender.is_closed());
        if of_node.len() < IDLE {
            of_node.push(sender);
        }
    }
}

impl Forward {
    pub(in crate::transport::http) fn new(nodes: Arc<Nodes>, stop: CancellationToken) -> Self {
        Self { nodes, idle: Arc::default(), stop, failures: Seldom::default() }
    }

    /// The other node whose session a request is of.
    pub(in crate::transport::http) fn owner(&self, server: &Server, request: &Request) -> Option<NodeId> {
        let id = match request.uri().path() {
            PATH => {
                let field = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok());
                let is_stateless =
                    field("mcp-protocol-version").and_then(Revision::parse).is_some_and(Revision::is_modern);
                field("mcp-session-id").filter(|_| !is_stateless)?
            }
            MESSAGES => request.uri().query()?.split('&').find_map(|pair| pair.strip_prefix("session="))?,
            _ => return None,
        };
        server.other_node_of(id).map(NodeId)
    }

    /// What that node answers.
    pub(in crate::transport::http) async fn send(&self, node: NodeId, peer: &Peer, request: Request) -> Response {
        let sent = tokio::select! {
            sent = self.try_send(node, peer, request) => sent,
            // Also if its machine does not say that it is gone.
            () = self.nodes.gone(node) => Err(Unreachable::Gone),
        };
        match sent {
            Ok(response) => response,
            Err(Unreachable::Gone) => {
                let detail = "the node of this session has ended; initialize again";
                let error = ErrorObject::invalid_request("session_not_found", detail);
                refused(StatusCode::NOT_FOUND, None, &error)
            }
            Err(why) => {
                if let Some(left_out) = self.failures.due() {
                    tracing::warn!(%node, "failed to send a request to the node of its session: {why}{left_out}");
                }
                busy(None, "node_unreachable", "the node of this session does not answer now, retry later", "2")
            }
        }
    }

    async fn try_send(&self, node: NodeId, peer: &Peer, request: Request) -> Result<Response, Unreachable> {
        let mut request = outgoing(peer, request);
        // One that waited may have been closed by the other side; then nothing of the request was sent.
        while let Some(sender) = self.idle.take(node) {
            match self.on(node, sender, request).await {
                Ok(response) => return Ok(response),
                Err((_, Some(unsent))) => request = unsent,
                Err((error, None)) => return Err(std::io::Error::other(error).into()),
            }
        }
        let stream = self.nodes.connect(node).await?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(std::io::Error::other)?;
        tokio::spawn(connection);
        let sent = self.on(node, sender, request).await;
        sent.map_err(|(error, _)| std::io::Error::other(error).into())
    }

    /// Sends a request on a connection; on an error with the request, if nothing of it was sent.
    async fn on(
        &self,
        node: NodeId,
        mut sender: Sender,
        request: http::Request<Full<Bytes>>,
    ) -> Result<Response, (hyper::Error, Option<http::Request<Full<Bytes>>>)> {
        if let Err(error) = sender.ready().await {
            return Err((error, Some(request)));
        }
        let is_endless = request.method() == Method::GET;
        let response = sender.try_send_request(request).await.map_err(|mut error| {
            let unsent = error.take_message();
            (error.into_error(), unsent)
        })?;
        let (mut parts, body) = response.into_parts();
        for name in OF_CONNECTION.iter().filter(|name| **name != header::CONTENT_LENGTH) {
            parts.headers.remove(name);
        }
        let ended = if is_endless { self.stop.child_token() } else { CancellationToken::new() };
        let (nodes, end) = (self.nodes.clone(), ended.clone());
        // A stream to a node that is gone must not stay open; its client then resumes it, and learns that.
        if !body.is_end_stream() {
            tokio::spawn(async move {
                tokio::select! {
                    () = nodes.gone(node) => end.cancel(),
                    () = end.cancelled() => {}
                }
            });
        }
        let cut = Box::pin(ended.clone().cancelled_owned());
        let forwarded = Forwarded { body, sender: Some(sender), node, idle: self.idle.clone(), ended, cut };
        Ok(Response::from_parts(parts, forwarded.boxed_unsync()))
    }
}

/// The request as it is sent to another node.
fn outgoing(peer: &Peer, request: Request) -> http::Request<Full<Bytes>> {
    let (parts, body) = request.into_parts();
    let mut sent = http::Request::new(Full::new(body));
    *sent.method_mut() = parts.method;
    *sent.uri_mut() = parts.uri.path_and_query().cloned().map_or_else(|| parts.uri.clone(), Into::into);
    let mut headers = parts.headers;
    OF_CONNECTION.iter().for_each(|name| drop(headers.remove(name)));
    headers.remove(CLIENT);
    if let Some(address) = peer.network.and_then(|address| HeaderValue::from_str(&address.to_string()).ok()) {
        headers.insert(CLIENT, address);
    }
    *sent.headers_mut() = headers;
    sent
}

/// The body of a response of another node. At its end the connection waits for the next request; dropped before, it is
/// closed, so that the other node knows.
struct Forwarded {
    body: Incoming,
    sender: Option<Sender>,
    node: NodeId,
    idle: Arc<Idle>,
    /// Cancelled if the node is gone, and when this is dropped.
    ended: CancellationToken,
    cut: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl HttpBody for Forwarded {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.cut.as_mut().poll(context).is_ready() {
            self.sender = None;
            return Poll::Ready(None);
        }
        Poll::Ready(match ready!(Pin::new(&mut self.body).poll_frame(context)) {
            Some(Ok(frame)) => Some(Ok(frame)),
            Some(Err(error)) => {
                tracing::debug!(node = %self.node, %error, "a response of another node broke off");
                self.sender = None;
                None
            }
            None => None,
        })
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> http_body::SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Forwarded {
    fn drop(&mut self) {
        self.ended.cancel();
        if let Some(sender) = self.sender.take().filter(|_| self.body.is_end_stream()) {
            self.idle.put(self.node, sender);
        }
    }
}
