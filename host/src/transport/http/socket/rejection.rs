//! Rejects connections over the limit with 503.
//!
//! Without TLS only: a TLS connection is closed without a response, since a handshake costs more
//! than most requests. The client may be any HTTP client.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::sync::Semaphore;

use super::listen::Accepted;

const BUSY: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
/// Maximum rejected connections that linger, each with a descriptor. The others are sent the
/// response too, but may lose it if they send more data.
const LINGERING: usize = 128;
/// How long a client may take to read the response and to close.
const LINGER: Duration = Duration::from_secs(1);

pub(super) struct Rejections {
    tls: bool,
    lingering: Arc<Semaphore>,
}

impl Rejections {
    pub(super) fn new(tls: bool) -> Self {
        Self { tls, lingering: Arc::new(Semaphore::new(LINGERING)) }
    }

    /// Rejects a connection, synchronously with a few system calls.
    pub(super) fn reject(&self, connection: Accepted) {
        // Closing a socket with unread data sends a reset, which may discard the response.
        if self.tls || !connection.drain() || !connection.close_with(BUSY) {
            return;
        }
        let Ok(permit) = self.lingering.clone().try_acquire_owned() else {
            connection.drain();
            return;
        };
        tokio::spawn(async move {
            let _ = tokio::time::timeout(LINGER, linger(connection)).await;
            drop(permit);
        });
    }
}

async fn linger(connection: Accepted) {
    let Some(mut stream) = connection.register() else { return };
    let mut rest = [0; 1024];
    while stream.read(&mut rest).await.is_ok_and(|read| read > 0) {}
}
