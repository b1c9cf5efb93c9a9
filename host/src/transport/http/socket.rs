//! The socket: who may connect, on which thread each connection is served, and how all end.

mod admission;
mod connection;
mod goodbye;
mod listen;
mod stall;
mod threads;
mod tls;

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use super::Settings;
use super::request::Front;
use crate::server::Server;
use admission::Admission;
use goodbye::Goodbyes;
use threads::Threads;

pub use listen::{Address, ListenError, Listener};
pub use tls::Tls;

/// How long, at the end, the answers of what was cut off may take to be written.
const LAST_WORD: Duration = Duration::from_secs(2);

/// Serves all who connect, until `shutdown` is ready. Streams then get their last word and
/// calls the time that [`Settings`] gives them.
///
/// # Errors
/// If the system gives no threads to serve on.
pub async fn serve(
    server: Arc<Server>,
    listener: Listener,
    settings: Settings,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    let (drain, tls) = (settings.drain, settings.tls.is_some());
    let stopped = server.clone();
    let admission = Admission::new(settings.connections, settings.connections_per_address);
    let front = Arc::new(Front::new(server, listener.local_address(), settings));
    let goodbyes = Goodbyes::new(tls);
    let threads = Threads::start()?;
    let mut connections = JoinSet::new();
    let mut shutdown = pin!(shutdown);
    let mut end_idle = pin!(front.end_idle());
    let mut certificates = pin!(async {
        match &front.settings.tls {
            Some(tls) => tls.follow().await,
            None => std::future::pending().await,
        }
    });
    loop {
        let (accepted, peer) = tokio::select! {
            () = &mut shutdown => break,
            never = &mut end_idle => match never {},
            never = &mut certificates => match never {},
            // Nothing is to be learnt of those that ended; they must only not pile up.
            Some(_) = connections.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        if let Some(place) = admission.admit(peer) {
            let (thread, seat) = threads.seat();
            connections.spawn_on(connection::serve(accepted, peer, front.clone(), (place, seat)), thread);
        } else {
            goodbyes.say(accepted);
        }
    }
    drop(listener);
    let mut end = Box::pin(async {
        front.close(drain).await;
        while connections.join_next().await.is_some() {}
    });
    if tokio::time::timeout(drain, &mut end).await.is_err() {
        stopped.cut_off();
        // Each has an answer now; a client that does not read it cannot hold us.
        let _ = tokio::time::timeout(LAST_WORD, &mut end).await;
    }
    drop(end);
    stopped.tell_cut_off();
    while connections.try_join_next().is_some() {}
    if !connections.is_empty() {
        tracing::warn!(connections = connections.len(), "answers were not read to their end, and were broken off");
    }
    connections.shutdown().await;
    Ok(())
}
