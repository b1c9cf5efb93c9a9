//! Answers the requests that another node sends, for sessions that this one has.

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use crate::nodes::Nodes;
use crate::transport::http::caller::Peer;
use crate::transport::http::mcp::Reuse;
use crate::transport::http::nodes::CLIENT;
use crate::transport::http::request::{ClientConnection, Front};

/// Maximum bytes of a request's line and headers: those of the client, and the field of the other node.
const HEAD: usize = 72 << 10;

/// Serves one connection until the other node closes it, or at shutdown.
pub(super) async fn serve(nodes: Arc<Nodes>, stream: TcpStream, front: Arc<Front>) {
    let stop = front.stop().clone();
    let stream = match nodes.accept(stream).await {
        Ok(stream) => stream,
        Err(error) => return tracing::debug!(%error, "refused a connection to the address for nodes"),
    };
    let answer = service_fn(move |mut request: http::Request<Incoming>| {
        let front = front.clone();
        async move {
            let client = request.headers_mut().remove(CLIENT);
            let address = client.and_then(|value| value.to_str().ok()?.parse::<IpAddr>().ok());
            let connection = ClientConnection { peer: Peer::new(address), reuse: Reuse::default(), is_forwarded: true };
            Ok::<_, Infallible>(front.answer_forwarded(request, &connection).await)
        }
    });
    let connection = http1::Builder::new().max_buf_size(HEAD).serve_connection(TokioIo::new(stream), answer);
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection of another node failed");
    }
}
