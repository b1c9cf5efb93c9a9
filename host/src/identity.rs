//! Who sends a request, as far as it was verified.
//!
//! A plain value: what an identity may do is decided elsewhere.

mod claims;
mod own_name;
mod secret_text;
mod token_hash;

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

pub use claims::{Claims, claim_at};
pub use secret_text::SecretText;
pub use token_hash::TokenHash;

/// A verified identity. Its name is the key of sessions, states, limits and records.
#[derive(Clone)]
pub struct Identity {
    /// `local`, the name of a static token, or issuer and subject of an access token.
    name: Arc<str>,
    /// Set if it comes from an access token.
    pub grant: Option<Arc<AccessGrant>>,
    /// The access token, where something is to be had for it; for the host alone.
    pub token: Option<SecretText>,
    /// Through what it was sent, if not by a client of its own: for records.
    pub via: Option<&'static str>,
}

/// What a verified access token says.
#[derive(Clone, PartialEq)]
pub struct AccessGrant {
    pub issuer: Arc<str>,
    pub subject: Arc<str>,
    pub client: Option<Arc<str>>,
    pub scopes: Arc<[Box<str>]>,
    pub groups: Arc<[Box<str>]>,
    /// All claims of the token, or all members of the introspection response.
    pub claims: Claims,
    pub expires: SystemTime,
}

impl AccessGrant {
    /// Of somebody of whom nothing else is known; it has expired.
    pub(crate) fn of(issuer: &str, subject: &str) -> Self {
        Self {
            issuer: issuer.into(),
            subject: subject.into(),
            client: None,
            scopes: Arc::default(),
            groups: Arc::default(),
            claims: Claims::default(),
            expires: SystemTime::UNIX_EPOCH,
        }
    }
}

impl Identity {
    /// The name of who needs no token.
    pub const LOCAL: &str = "local";

    /// Without authentication; the same as over stdio.
    pub fn local() -> Self {
        Self::token(Self::LOCAL)
    }

    /// The owner of a static token.
    pub fn token(name: &str) -> Self {
        Self { name: name.into(), grant: None, token: None, via: None }
    }

    /// The subject of an access token.
    pub fn subject(grant: AccessGrant) -> Self {
        // The name of a static token is no URL: `config` refuses one.
        let name = format!("{}#{}", grant.issuer, grant.subject.escape_default());
        Self { name: name.into(), grant: Some(Arc::new(grant)), token: None, via: None }
    }

    /// The same with the token that it comes from.
    pub fn with_token(&self, token: SecretText) -> Self {
        Self { token: Some(token), ..self.clone() }
    }

    /// The same, for a request that is sent through that.
    pub fn through(self, via: &'static str) -> Self {
        Self { via: Some(via), ..self }
    }

    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    pub fn has_scope(&self, scope: &str) -> bool {
        self.grant.as_ref().is_some_and(|grant| grant.scopes.iter().any(|has| **has == *scope))
    }
}

impl PartialEq for Identity {
    /// Whatever the token: another one may say the same. Nor does it matter through what it was sent.
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.grant == other.grant
    }
}

impl fmt::Debug for Identity {
    /// Without claims, which may be personal data.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Identity").field(&self.name).finish()
    }
}
