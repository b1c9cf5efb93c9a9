//! MCP over HTTP: the endpoint, stateless requests, sessions with resumable streams, and HTTP+SSE.

mod accepts;
mod endpoint;
mod headers;
mod replay;
mod reply;
mod retention;
mod reuse;
mod session;
mod sse;
mod stateless;
mod stream_limit;

pub(super) use endpoint::{EVENTS, MESSAGES, Mcp, PATH};
pub(super) use reply::NeededScope;
pub(super) use reuse::Reuse;
pub use session::SessionSettings;
