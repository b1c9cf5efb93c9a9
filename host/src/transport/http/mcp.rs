//! MCP over HTTP: the endpoint, requests without a session, sessions and what is kept of their
//! streams, and HTTP+SSE.

mod accepts;
mod endpoint;
mod headers;
mod places;
mod replay;
mod reply;
mod reuse;
mod session;
mod shelf;
mod sse;
mod stateless;

pub(super) use endpoint::{EVENTS, MESSAGES, Mcp, PATH};
pub(super) use reuse::Reuse;
pub use session::SessionSettings;
