//! MCP over HTTP/1.1: the socket, the limits of each step, who may come in, and the paths.
//!
//! What is said at `/mcp` is in `mcp`; all around it is here, and has not read a message.
//! Source: MCP 2026-07-28, basic/transports/streamable-http; the older revisions,
//! basic/transports.

mod accepts;
mod admission;
mod auth;
mod body;
mod caller;
mod connection;
mod front;
mod goodbye;
mod guard;
mod headers;
mod listen;
mod mcp;
mod places;
mod refusal;
mod replay;
mod reply;
mod reuse;
mod session;
mod shelf;
mod sse;
mod stall;
mod stateless;
mod threads;
mod tls;

use std::convert::Infallible;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use tokio::task::JoinSet;

use crate::server::Server;
use admission::Admission;
use front::Front;
use goodbye::Goodbyes;
use threads::Threads;

pub use auth::{Token, TokenSet};
pub use caller::Principal;
pub use listen::{Address, ListenError, Listener};
pub use session::SessionSettings;
pub use tls::Tls;

/// How long, at the end, the answers of what was cut off may take to be written.
const LAST_WORD: Duration = Duration::from_secs(2);

/// A request whose body has been read.
type Request = http::Request<Bytes>;
type Response = http::Response<Body>;
type Body = UnsyncBoxBody<Bytes, Infallible>;

/// Bounds, and who may come in.
#[derive(Clone)]
pub struct Settings {
    /// Bytes of one message.
    pub max_message: usize,
    /// Bytes of all bodies together, of more than 64 KiB each, that are read or worked on; one
    /// more waits. No less than `max_message`.
    pub bodies: usize,
    /// For a request's headers, and between two requests.
    pub header_timeout: Duration,
    /// For a request's body.
    pub body_timeout: Duration,
    /// How long a client may read nothing of what is written to it.
    pub write_timeout: Duration,
    /// How long calls may go on after a request to stop.
    pub drain: Duration,
    /// Open at the same time.
    pub connections: usize,
    /// Open at the same time from one address.
    pub connections_per_address: usize,
    /// Names of the server in `Host`, with the port where it is not the scheme's own, beside
    /// those of its own machine.
    pub allowed_hosts: Vec<String>,
    /// Web sites whose pages may use the server: `https://app.example`.
    pub allowed_origins: Vec<String>,
    /// None of them lets everybody in.
    pub tokens: TokenSet,
    pub tls: Option<Tls>,
    pub sessions: SessionSettings,
    /// HTTP+SSE, the transport of 2024-11-05, at `/sse` and `/messages`.
    pub sse: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_message: 4 << 20,
            bodies: 64 << 20,
            header_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(30),
            drain: Duration::from_secs(5),
            connections: 512,
            connections_per_address: 64,
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            tokens: TokenSet::default(),
            tls: None,
            sessions: SessionSettings::default(),
            sse: false,
        }
    }
}

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
