//! Checks of a request: host and origin, token, path, and the limits of its body.

mod auth;
mod body;
mod challenge;
mod failures;
mod front;
mod guard;
mod metadata;
mod oauth;
mod server_card;
mod tokens;

pub(in crate::transport) use auth::bearer;
pub(super) use front::{ClientConnection, Front};
pub(in crate::transport) use guard::is_address_or_localhost;
pub use oauth::OAuth;
pub use tokens::{Token, TokenSet};
