//! Connections of listeners for operators, which are beside that of clients: those for metrics and for the live page.

use std::error::Error;
use std::time::Duration;

use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::HttpService;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

use super::write_timeout::WriteTimeout;

/// For the head of a request, and between two requests.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes of the head of a request.
const MAX_HEAD: usize = 16 << 10;
/// For a reader that takes nothing.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

/// Serves a connection to its end.
pub(in crate::transport) async fn serve<S, B>(stream: TcpStream, service: S)
where
    S: HttpService<Incoming, ResBody = B, Error: Into<Box<dyn Error + Send + Sync>>>,
    B: Body<Error: Into<Box<dyn Error + Send + Sync>>> + 'static,
{
    if let Err(error) = serve_within(stream, service, WRITE_TIMEOUT).await {
        tracing::debug!(%error, "a connection of an operator ended");
    }
}

async fn serve_within<T, S, B>(stream: T, service: S, write_timeout: Duration) -> hyper::Result<()>
where
    T: AsyncRead + AsyncWrite + Unpin,
    S: HttpService<Incoming, ResBody = B, Error: Into<Box<dyn Error + Send + Sync>>>,
    B: Body<Error: Into<Box<dyn Error + Send + Sync>>> + 'static,
{
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_buf_size(MAX_HEAD)
        .serve_connection(TokioIo::new(WriteTimeout::new(stream, write_timeout)), service)
        .await
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Arc;

    use bytes::Bytes;
    use futures_util::stream;
    use http::Response;
    use http_body_util::StreamBody;
    use hyper::body::Frame;
    use hyper::service::service_fn;
    use tokio::io::AsyncWriteExt as _;
    use tokio::sync::Semaphore;

    use super::*;

    #[tokio::test]
    async fn who_has_stalled_gives_way_to_one_more() {
        let streams = Arc::new(Semaphore::new(1));
        let service = service_fn(|_| {
            let permit = streams.clone().try_acquire_owned().expect("room");
            let endless = stream::unfold(permit, |permit| async move {
                Some((Ok::<_, Infallible>(Frame::data(Bytes::from_static(&[b'x'; 1 << 10]))), permit))
            });
            async { Ok::<_, Infallible>(Response::new(StreamBody::new(Box::pin(endless)))) }
        });
        let (mut reader, stream) = tokio::io::duplex(64);
        reader.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").await.expect("room for a request");
        let ended = serve_within(stream, service, Duration::from_millis(20)).await;
        assert!(ended.is_err(), "nothing was read, and the connection is still open");
        assert_eq!(streams.available_permits(), 1);
    }
}
