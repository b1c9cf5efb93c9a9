//! MCP over HTTP/1.1: the socket, the limits of each step, who may come in, and the paths.
//!
//! `socket` has the connections, `request` decides which requests are let in, and `mcp` answers
//! them: the other two have read no message.
//! Source: MCP 2026-07-28, basic/transports/streamable-http; the older revisions,
//! basic/transports.

mod caller;
mod mcp;
mod refusal;
mod request;
mod socket;

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;

use crate::idle::IdleHook;

pub use caller::Principal;
pub use mcp::SessionSettings;
pub use request::{Token, TokenSet};
pub use socket::{Address, ListenError, Listener, Tls, serve};

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
    /// Runs on the thread of a connection that waits for its client.
    pub idle: IdleHook,
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
            idle: IdleHook::default(),
        }
    }
}
