//! Access tokens of OAuth 2.1: from the text of a token to an identity, or to the reason why there is none.
//!
//! The server is a resource server: it verifies what others issued, signs nothing and keeps no secrets but its
//! credentials for introspection and exchange. It knows neither MCP nor HTTP servers.

mod claims;
mod clock;
mod crypto;
mod discovery;
mod exchange;
mod fetch;
mod flight;
mod introspection;
mod issuer;
mod key_cache;
pub mod keys;
mod refusal;
mod settings;
#[cfg(test)]
mod tests;
pub mod token;
mod verified;
mod verifier;

pub use claims::grant;
pub use exchange::{ExchangeSettings, Exchanges};
pub use refusal::Refusal;
pub use settings::{IntrospectionSettings, IssuerSettings, OAuthSettings};
pub use verified::Verified;
pub use verifier::{IssuerStatus, Verifier};
