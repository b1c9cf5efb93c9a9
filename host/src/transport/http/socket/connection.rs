//! One connection: TLS if it is wanted, then HTTP/1.1 with a time for each step.
//!
//! It does not know what requests ask for.

use std::convert::Infallible;
use std::future::poll_fn;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};

use super::admission::Place;
use super::listen::{Accepted, Stream};
use super::stall::Stall;
use super::threads::Seat;
use crate::transport::http::caller::Peer;
use crate::transport::http::mcp::Reuse;
use crate::transport::http::request::{Front, Link};

/// Bytes of a request's line and headers together.
const HEAD: usize = 64 << 10;

/// Serves until the client goes, breaks a rule or is too slow, or the server is about to end
/// and what has begun is answered. What has not come whole by then has not begun.
pub(super) async fn serve(accepted: Accepted, peer: Option<IpAddr>, front: Arc<Front>, _held: (Place, Seat)) {
    let Some(stream) = accepted.enter() else { return };
    let stream = Stall::new(stream, front.settings.write_timeout);
    let Some(tls) = &front.settings.tls else { return serve_http(stream, peer, front).await };
    let handshake = tokio::select! {
        handshake = tokio::time::timeout(front.settings.header_timeout, tls.acceptor().accept(stream)) => handshake,
        () = front.stop().cancelled() => return,
    };
    match handshake {
        Ok(Ok(stream)) => serve_http(stream, peer, front.clone()).await,
        Ok(Err(error)) => tracing::debug!(%error, "a TLS handshake failed"),
        Err(_) => tracing::debug!("a TLS handshake took too long"),
    }
}

async fn serve_http(stream: impl Stream + 'static, peer: Option<IpAddr>, front: Arc<Front>) {
    let stop = front.stop().clone();
    let header_timeout = front.settings.header_timeout;
    let link = Arc::new(Link { peer: Peer::new(peer), reuse: Reuse::default() });
    // Whether a whole head has come.
    let asked = Arc::new(AtomicBool::new(false));
    let of_service = (front.clone(), link, asked.clone());
    let answer = service_fn(move |request| {
        let (front, link, asked) = of_service.clone();
        asked.store(true, Ordering::Relaxed);
        async move { Ok::<_, Infallible>(front.answer(request, &link).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(header_timeout)
        .max_buf_size(HEAD)
        .serve_connection(TokioIo::new(stream), answer);
    let mut connection = pin!(connection);
    // What was answered has been written when the connection has to wait.
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
            // Hyper would wait for the rest of a first head; of a later one it does not.
            if !asked.load(Ordering::Relaxed) {
                return;
            }
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection broke off");
    }
}
