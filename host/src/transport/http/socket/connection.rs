//! One connection: TLS if configured, then HTTP/1.1 with a timeout for each step.
//!
//! It does not look into requests.

use std::convert::Infallible;
use std::future::poll_fn;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};

use super::admission::ConnectionPermit;
use super::listen::{Accepted, Stream};
use super::threads::ConnectionGuard;
use super::write_timeout::WriteTimeout;
use crate::server::Counted;
use crate::transport::http::caller::Peer;
use crate::transport::http::mcp::Reuse;
use crate::transport::http::request::{ClientConnection, Front};

/// Maximum bytes of a request's line and headers.
const HEAD: usize = 64 << 10;

/// Serves until the client disconnects, violates the protocol or is too slow. At shutdown, requests
/// that were received completely are answered first.
pub(super) async fn serve(
    accepted: Accepted,
    peer: Option<IpAddr>,
    front: Arc<Front>,
    _held: (ConnectionPermit, ConnectionGuard, Counted),
) {
    let Some(stream) = accepted.register() else { return };
    let stream = WriteTimeout::new(stream, front.settings.write_timeout);
    let Some(tls) = &front.settings.tls else { return serve_http(stream, peer, front).await };
    let handshake = tokio::select! {
        handshake = tokio::time::timeout(front.settings.header_timeout, tls.acceptor().accept(stream)) => handshake,
        () = front.stop().cancelled() => return,
    };
    match handshake {
        Ok(Ok(stream)) => serve_http(stream, peer, front.clone()).await,
        Ok(Err(error)) => tracing::debug!(%error, "TLS handshake failed"),
        Err(_) => tracing::debug!("TLS handshake timed out"),
    }
}

async fn serve_http(stream: impl Stream + 'static, peer: Option<IpAddr>, front: Arc<Front>) {
    let stop = front.stop().clone();
    let header_timeout = front.settings.header_timeout;
    let info = Arc::new(ClientConnection { peer: Peer::new(peer), reuse: Reuse::default(), is_forwarded: false });
    // Whether a complete request head has been received.
    let head_received = Arc::new(AtomicBool::new(false));
    let shared = (front.clone(), info, head_received.clone());
    let answer = service_fn(move |request| {
        let (front, info, head_received) = shared.clone();
        head_received.store(true, Ordering::Relaxed);
        async move { Ok::<_, Infallible>(front.answer(request, &info).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(header_timeout)
        .max_buf_size(HEAD)
        .serve_connection(TokioIo::new(stream), answer);
    let mut connection = pin!(connection);
    // A pending connection has written all its responses: the thread is idle.
    let served = poll_fn(|context| {
        let polled = connection.as_mut().poll(context);
        if polled.is_pending() {
            front.settings.idle.run();
        }
        polled
    });
    let ended = tokio::select! {
        ended = served => ended,
        () = stop.cancelled() => {
            // Hyper would wait for the rest of the first head, but not for that of a later one.
            if !head_received.load(Ordering::Relaxed) {
                return;
            }
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "connection failed");
    }
}
