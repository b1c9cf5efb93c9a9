//! OAuth 2.1: this server as a resource, whose access tokens others issue.
//!
//! Source: MCP 2026-07-28, basic/authorization.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::challenge::Challenge;
use super::metadata::Metadata;
use crate::identity::{Identity, SecretText, TokenHash};
use crate::oauth::{Refusal, Verified, Verifier};

/// How access tokens are verified, and what clients are told about them.
pub struct OAuth {
    pub verifier: Arc<Verifier>,
    /// The canonical URI of this server; its grammar was checked.
    pub resource: String,
    /// The URIs of the authorization servers.
    pub issuers: Vec<String>,
    /// Required of every request.
    pub scopes: Vec<String>,
    pub name: Option<String>,
    pub documentation: Option<String>,
    /// Whether clients of 2025-03-26 are told the metadata of the issuer.
    pub legacy_metadata: bool,
    /// Whether requests carry the tokens that they came with, since others are to be had for them.
    pub carries_tokens: AtomicBool,
}

/// Why a token is not accepted.
pub(super) enum Denial {
    Refused(Refusal),
    InsufficientScope(Arc<Identity>),
}

impl OAuth {
    /// Whose token it is, which came from that network.
    ///
    /// # Errors
    /// If it is not accepted, or lacks a scope that every request needs.
    pub(super) async fn verified(
        &self,
        token: &[u8],
        hash: TokenHash,
        network: Option<IpAddr>,
    ) -> Result<Arc<Verified>, Denial> {
        let verified = self.verifier.verify_from(token, hash, network).await.map_err(Denial::Refused)?;
        let suffices = self.scopes.iter().all(|scope| verified.identity.has_scope(scope));
        if suffices { Ok(verified) } else { Err(Denial::InsufficientScope(verified.identity.clone())) }
    }

    /// Whose request it is, with the token if that is needed further.
    pub(super) fn identity(&self, verified: &Verified, token: &[u8]) -> Arc<Identity> {
        match std::str::from_utf8(token) {
            Ok(text) if self.carries_tokens.load(Ordering::Relaxed) => {
                Arc::new(verified.identity.with_token(SecretText::new(text.to_owned())))
            }
            _ => verified.identity.clone(),
        }
    }

    pub(super) fn challenge(&self) -> Challenge {
        Challenge::new(&Metadata::url(&self.resource), &self.scopes)
    }
}
