//! Authentication: from the headers of a request to its identity.
//!
//! Source: RFC 6750; MCP 2026-07-28, basic/authorization.

use std::sync::Arc;

use fluent_uri::pct_enc::EStr;
use fluent_uri::pct_enc::encoder::Query;
use http::Uri;
use http::header::{AUTHORIZATION, HeaderMap, HeaderValue};

use super::challenge::{Challenge, too_many_failures, unavailable};
use super::failures::Failures;
use super::oauth::{Denial, OAuth};
use super::tokens::TokenSet;
use crate::identity::{Identity, TokenHash};
use crate::oauth::Refusal;
use crate::oauth::token::is_jwt;
use crate::transport::http::caller::{Caller, Peer};
use crate::transport::http::responses::ErrorResponse;

/// Authenticates requests; without tokens and OAuth everyone is allowed.
pub(super) struct Auth {
    tokens: TokenSet,
    oauth: Option<Arc<OAuth>>,
    challenge: Challenge,
    /// Of all requests, if everyone is allowed.
    anonymous: Arc<Identity>,
    failures: Failures,
}

impl Auth {
    pub(super) fn new(tokens: TokenSet, oauth: Option<Arc<OAuth>>) -> Self {
        let challenge = oauth.as_ref().map(|oauth| oauth.challenge()).unwrap_or_default();
        Self { tokens, oauth, challenge, anonymous: Arc::new(Identity::local()), failures: Failures::default() }
    }

    /// The caller of a request. A valid token is always accepted, however many failures its network
    /// had: an attacker must not lock out its neighbours.
    ///
    /// # Errors
    /// 401 without a valid token, 400 if it is not sent as it should be, 403 without a scope, 503 if it
    /// cannot be verified now, 429 after too many guesses in a second.
    pub(super) async fn authenticate(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
        peer: &Peer,
    ) -> Result<Caller, ErrorResponse> {
        if self.tokens.is_empty() && self.oauth.is_none() {
            return Ok(peer.caller(self.anonymous.clone(), false));
        }
        let refusal = match bearer(uri, headers) {
            // Nobody guesses with it.
            Ok(None) => return Err(self.challenge.no_token()),
            Ok(Some(token)) => {
                // Once for both kinds: it is most of what a known token costs.
                let hash = TokenHash::of(token);
                if let Some((identity, revoked)) = self.tokens.find(&hash) {
                    return Ok(Caller { revoked: Some(revoked), ..peer.caller(identity, true) });
                }
                let Some(oauth) = &self.oauth else {
                    return Err(self.failed(peer, self.challenge.invalid_token("the bearer token is invalid")));
                };
                match oauth.verified(token, hash, peer.network).await {
                    Ok(verified) => {
                        let caller = peer.caller(oauth.identity(&verified, token), true);
                        return Ok(Caller { expires: Some(verified.expires), ..caller });
                    }
                    Err(Denial::InsufficientScope(who)) => {
                        tracing::debug!(principal = &**who.name(), "refused an access token: it lacks a scope");
                        return Err(self.challenge.insufficient_scope());
                    }
                    Err(Denial::Refused(Refusal::Unavailable(why))) => return Err(unavailable(&why)),
                    Err(Denial::Refused(Refusal::Invalid(why))) => {
                        tracing::debug!("refused an access token: {why}");
                        let refusal = self.challenge.invalid_token(&why);
                        // Nobody guesses a signature, and many clients may come from one address with tokens that
                        // have just expired.
                        if std::str::from_utf8(token).is_ok_and(is_jwt) {
                            return Err(refusal);
                        }
                        refusal
                    }
                }
            }
            Err(why) => self.challenge.invalid_request(why),
        };
        Err(self.failed(peer, refusal))
    }

    /// The challenge for a request that needs more scopes.
    pub(super) fn step_up(&self, scope: &str) -> HeaderValue {
        self.challenge.step_up(scope)
    }

    /// The challenge for a request whose token was revoked while it ran.
    pub(super) fn revoked(&self) -> HeaderValue {
        self.challenge.revoked()
    }

    /// Counts a failure, after too many of which there is another refusal.
    fn failed(&self, peer: &Peer, refusal: ErrorResponse) -> ErrorResponse {
        if self.failures.are_too_many(peer.network) { too_many_failures() } else { refusal }
    }
}

/// The token of the `Authorization` header; `None` if there is none.
///
/// # Errors
/// If there are several, it is malformed, or it is in the URL too.
pub(in crate::transport) fn bearer<'a>(uri: &Uri, headers: &'a HeaderMap) -> Result<Option<&'a [u8]>, &'static str> {
    let is_token = |pair: &str| pair.split('=').next().is_some_and(|name| is_named(name, "access_token"));
    if uri.query().is_some_and(|query| query.split('&').any(is_token)) {
        return Err("a token belongs in the Authorization header, not in the URL, which ends up in logs");
    }
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err("there is more than one Authorization header");
    }
    let value = value.as_bytes();
    let (scheme, token) = value.split_at(value.iter().position(|byte| *byte == b' ').unwrap_or(value.len()));
    if !scheme.eq_ignore_ascii_case(b"Bearer") {
        return Ok(None);
    }
    match token.trim_ascii() {
        token if !token.is_empty() && token.iter().fold(true, |all, byte| all & byte.is_ascii_graphic()) => {
            Ok(Some(token))
        }
        _ => Err("the bearer token is malformed"),
    }
}

/// Whether a name of a query is that one, in any of its encodings.
fn is_named(name: &str, wanted: &str) -> bool {
    EStr::<Query>::new(name).is_some_and(|name| *name.decode().to_bytes() == *wanted.as_bytes())
}

#[cfg(test)]
mod tests;
