//! MCP over HTTP/1.1.
//!
//! `socket` handles connections, `request` checks requests, and `mcp` answers them: only `mcp` reads
//! messages.
//! Source: MCP 2026-07-28, basic/transports/streamable-http; the older revisions,
//! basic/transports.

mod caller;
mod mcp;
mod nodes;
mod request;
mod responses;
mod socket;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;

use crate::idle::IdleHook;

pub use mcp::SessionSettings;
pub use nodes::NodeListener;
pub use request::{OAuth, Token, TokenSet};
pub(super) use request::{bearer, is_address_or_localhost};
pub use socket::{Address, ConnectionThreads, ListenError, Listener, Tls, serve};
pub(super) use socket::{accept, serve_operator};

/// A request whose body has been read.
type Request = http::Request<Bytes>;
type Response = http::Response<Body>;
type Body = UnsyncBoxBody<Bytes, Infallible>;

/// Limits and access control.
#[derive(Clone)]
pub struct Settings {
    /// Maximum bytes of one message.
    pub max_message: usize,
    /// Maximum bytes of all bodies over 64 KiB that are being read or handled; further ones wait. At
    /// least `max_message`.
    pub bodies: usize,
    /// Timeout for a request's headers, and between two requests.
    pub header_timeout: Duration,
    /// Timeout for a request's body.
    pub body_timeout: Duration,
    /// Timeout for a write without progress.
    pub write_timeout: Duration,
    /// How long calls may continue at shutdown.
    pub drain: Duration,
    /// Maximum open connections.
    pub connections: usize,
    /// Maximum open connections from one address.
    pub connections_per_address: usize,
    /// Further allowed values of `Host`, with the port where it is not the scheme's default, beside
    /// the local names.
    pub allowed_hosts: Vec<String>,
    /// Origins of web pages that may use the server: `https://app.example`.
    pub allowed_origins: Vec<String>,
    /// Without tokens and `oauth` everyone is allowed.
    pub tokens: TokenSet,
    /// Access tokens are accepted too.
    pub oauth: Option<Arc<OAuth>>,
    pub tls: Option<Tls>,
    /// What clients are given as the address, to be told to anyone who asks.
    pub server_card: Option<String>,
    pub sessions: SessionSettings,
    /// HTTP+SSE, the transport of 2024-11-05, at `/sse` and `/messages`.
    pub sse: bool,
    /// Other nodes have sessions too, and this one answers for its own.
    pub nodes: Option<NodeListener>,
    /// Runs on a connection's thread while it waits for its client.
    pub idle: IdleHook,
}

impl Settings {
    /// Whether a request needs a token.
    pub fn has_authentication(&self) -> bool {
        !self.tokens.is_empty() || self.oauth.is_some()
    }
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
            oauth: None,
            tls: None,
            server_card: None,
            sessions: SessionSettings::default(),
            sse: false,
            nodes: None,
            idle: IdleHook::default(),
        }
    }
}
