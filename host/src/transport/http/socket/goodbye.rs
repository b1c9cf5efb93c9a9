//! One connection too many: it is told to come back later, and closed on.
//!
//! In plain text only; a client of TLS is closed on without a word, since a handshake costs more
//! than most requests. The client may be any HTTP client.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::sync::Semaphore;

use super::listen::Accepted;

const BUSY: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
/// Those that are waited for at the same time, each with a descriptor; the others have been told
/// as well, but what they send afterwards may take the answer from them.
const LINGERING: usize = 128;
/// For a client to read what it was told and to close.
const LINGER: Duration = Duration::from_secs(1);

pub(super) struct Goodbyes {
    tls: bool,
    lingering: Arc<Semaphore>,
}

impl Goodbyes {
    pub(super) fn new(tls: bool) -> Self {
        Self { tls, lingering: Arc::new(Semaphore::new(LINGERING)) }
    }

    /// Takes leave of a connection. What is done at once is a few calls of the system.
    pub(super) fn say(&self, connection: Accepted) {
        // Closed on unread bytes, the system sends a reset, which may overtake the answer.
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
    let Some(mut stream) = connection.enter() else { return };
    let mut rest = [0; 1024];
    while stream.read(&mut rest).await.is_ok_and(|read| read > 0) {}
}
