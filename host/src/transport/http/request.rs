//! Checks of a request: host and origin, token, path, and the limits of its body.

mod auth;
mod body;
mod front;
mod guard;

pub use auth::{Token, TokenSet};
pub(super) use front::{ClientConnection, Front};
