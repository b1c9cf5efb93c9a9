//! Interim responses (1xx), of which a server may send any number before its response: here only so many.
//!
//! Source: RFC 9110, section 15.2.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::Request;
use hyper::ext::on_informational;
use tokio::sync::Notify;

/// Interim responses to one request: `100 Continue`, and some early hints.
const MAX: usize = 16;

/// The server sends too many. Its connection is of no more use.
#[derive(Debug, thiserror::Error)]
#[error("more than {MAX} interim responses (1xx) came before the response")]
pub struct TooMany;

/// Sends a request over HTTP/1.1 by `send`, which ends with its response.
///
/// # Errors
/// If more interim responses come before. The caller then closes the connection.
pub async fn bounded<B, F: Future>(
    mut request: Request<B>,
    send: impl FnOnce(Request<B>) -> F,
) -> Result<F::Output, TooMany> {
    let (count, exceeded) = (AtomicUsize::new(0), Arc::new(Notify::new()));
    let told = exceeded.clone();
    on_informational(&mut request, move |_| {
        if count.fetch_add(1, Ordering::Relaxed) == MAX {
            told.notify_one();
        }
    });
    tokio::select! {
        biased;
        () = exceeded.notified() => Err(TooMany),
        sent = send(request) => Ok(sent),
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::StatusCode;
    use http_body_util::Empty;
    use hyper::client::conn::http1::handshake;
    use hyper_util::rt::TokioIo;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    /// The status of a response after so many interim ones.
    async fn after(interim: usize) -> Result<StatusCode, TooMany> {
        let (client, mut server) = tokio::io::duplex(4096);
        tokio::spawn(async move {
            let _ = server.read(&mut [0; 4096]).await;
            for _ in 0..interim {
                let _ = server.write_all(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n").await;
            }
            let _ = server.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
        });
        let (mut sender, connection) = handshake(TokioIo::new(client)).await.expect("a connection");
        let running = tokio::spawn(connection);
        let sent = bounded(Request::new(Empty::<Bytes>::new()), |request| sender.send_request(request)).await;
        running.abort();
        sent.map(|response| response.expect("a response").status())
    }

    #[tokio::test]
    async fn a_response_comes_after_so_many_interim_ones_and_no_more() {
        for interim in [0, 1, MAX] {
            assert_eq!(after(interim).await.ok(), Some(StatusCode::OK), "{interim}");
        }
        for interim in [MAX + 1, 100_000] {
            assert!(after(interim).await.is_err(), "{interim}");
        }
    }
}
