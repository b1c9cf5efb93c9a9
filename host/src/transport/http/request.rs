//! Whether a request is let in: its host and origin, its token, its path, and its body within limits.

mod auth;
mod body;
mod front;
mod guard;

pub use auth::{Token, TokenSet};
pub(super) use front::{ClientConnection, Front};
