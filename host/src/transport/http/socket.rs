//! The socket: admission of connections, their threads, and shutdown.

mod admission;
mod connection;
mod listen;
mod of_nodes;
mod of_operators;
mod rejection;
mod threads;
mod tls;
mod write_timeout;

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::Settings;
use super::request::Front;
use crate::server::{OpenKind, Server};
use admission::Admission;
use rejection::Rejections;

pub(in crate::transport) use listen::accept;
pub use listen::{Address, ListenError, Listener};
pub(in crate::transport) use of_operators::serve as serve_operator;
pub use threads::ConnectionThreads;
pub use tls::Tls;

/// At shutdown, how long the responses to cancelled requests may take to be written.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

/// Serves connections until `shutdown` resolves. Streams then get their final message and calls the
/// drain time of [`Settings`]. Returns the threads of the connections: tasks that outlive their requests run there, until
/// it is dropped.
///
/// # Errors
/// If the threads cannot be created.
pub async fn serve(
    server: Arc<Server>,
    listener: Listener,
    mut settings: Settings,
    shutdown: impl Future<Output = ()>,
) -> io::Result<ConnectionThreads> {
    let (drain, tls) = (settings.drain, settings.tls.is_some());
    let node_listener = settings.nodes.as_mut().and_then(|own| own.listener.take());
    let stopped = server.clone();
    let admission = Admission::new(settings.connections, settings.connections_per_address);
    let front = Arc::new(Front::new(server, listener.local_address(), settings));
    let rejections = Rejections::new(tls);
    let threads = ConnectionThreads::start()?;
    let mut connections = JoinSet::new();
    let from_nodes = Arc::new(Semaphore::new(front.settings.connections));
    let mut shutdown = pin!(shutdown);
    let mut end_idle = pin!(front.end_idle());
    let mut end_revoked = pin!(front.end_revoked());
    let mut issuers = pin!(async {
        match &front.settings.oauth {
            Some(oauth) => oauth.verifier.run().await,
            None => std::future::pending().await,
        }
    });
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
            never = &mut end_revoked => match never {},
            never = &mut issuers => match never {},
            never = &mut certificates => match never {},
            // Reaps ended connections; their results do not matter.
            Some(_) = connections.join_next() => continue,
            stream = of_node(node_listener.as_deref()) => {
                if let (Some(own), Ok(permit)) = (&front.settings.nodes, from_nodes.clone().try_acquire_owned()) {
                    let (thread, guard) = threads.least_loaded();
                    let serving = of_nodes::serve(own.nodes.clone(), stream, front.clone());
                    let counted = async move {
                        serving.await;
                        drop((permit, guard));
                    };
                    connections.spawn_on(counted, thread);
                }
                continue;
            }
            accepted = listener.accept() => accepted,
        };
        if let Some(permit) = admission.admit(peer) {
            let (thread, guard) = threads.least_loaded();
            let held = (permit, guard, stopped.opened(OpenKind::Connection));
            connections.spawn_on(connection::serve(accepted, peer, front.clone(), held), thread);
        } else {
            rejections.reject(accepted);
        }
    }
    // Other nodes see at once that nobody listens here any more.
    drop((listener, node_listener));
    let mut end = Box::pin(async {
        front.close(drain).await;
        while connections.join_next().await.is_some() {}
    });
    if tokio::time::timeout(drain, &mut end).await.is_err() {
        stopped.cut_off();
        // Each request has a response now; a client that does not read it must not block shutdown.
        let _ = tokio::time::timeout(FLUSH_TIMEOUT, &mut end).await;
    }
    drop(end);
    stopped.log_cut_off();
    while connections.try_join_next().is_some() {}
    if !connections.is_empty() {
        tracing::warn!(connections = connections.len(), "closed connections whose responses were not read");
    }
    connections.shutdown().await;
    Ok(threads)
}

/// The next connection of another node.
async fn of_node(listener: Option<&TcpListener>) -> TcpStream {
    match listener {
        Some(listener) => accept(listener).await,
        None => std::future::pending().await,
    }
}
