//! Authentication: from the headers of a request to its identity.
//!
//! Static bearer tokens, stored as hashes. It knows no sessions and does no authorization.
//! Source: RFC 6750; MCP 2026-07-28, basic/authorization.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use http::StatusCode;
use http::header::{AUTHORIZATION, HeaderMap, RETRY_AFTER, WWW_AUTHENTICATE};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::identity::Identity;
use crate::sync::lock;
use crate::transport::http::caller::{Caller, Peer};
use crate::transport::http::responses::ErrorResponse;

/// Failures of one network per second; beyond that, 429.
const FAILURES: u32 = 10;
const WINDOW: Duration = Duration::from_secs(1);
/// Maximum networks whose failures are tracked. Beyond that, failures of other networks get 429.
const MAX_TRACKED: usize = 4096;

/// One token and its owner, who may have several tokens.
#[derive(Clone, Debug)]
pub struct Token {
    identity: Arc<Identity>,
    hash: blake3::Hash,
    /// Cancelled when the token is no longer in the set.
    revoked: CancellationToken,
}

impl Token {
    /// The secret itself is not stored.
    pub fn new(name: &str, secret: &str) -> Self {
        Self {
            identity: Arc::new(Identity::token(name)),
            hash: blake3::hash(secret.as_bytes()),
            revoked: CancellationToken::new(),
        }
    }

    /// Whether it is the same secret of the same owner.
    fn is(&self, other: &Self) -> bool {
        self.hash == other.hash && self.identity == other.identity
    }
}

/// Tokens that can be replaced at runtime; clones share them.
#[derive(Clone, Debug, Default)]
pub struct TokenSet {
    tokens: Arc<ArcSwap<Vec<Token>>>,
    replaced: watch::Sender<()>,
}

impl TokenSet {
    pub fn is_empty(&self) -> bool {
        self.tokens.load().is_empty()
    }

    /// Replaces all tokens. What was started with one that is no longer there is ended.
    pub fn replace(&self, mut tokens: Vec<Token>) {
        let old = self.tokens.load_full();
        for token in &mut tokens {
            if let Some(same) = old.iter().find(|old| old.is(token)) {
                token.revoked = same.revoked.clone();
            }
        }
        let tokens = Arc::new(tokens);
        self.tokens.store(tokens.clone());
        for removed in old.iter().filter(|old| !tokens.iter().any(|token| token.is(old))) {
            removed.revoked.cancel();
        }
        self.replaced.send_replace(());
    }

    /// Changes when the tokens are replaced.
    pub(super) fn replaced(&self) -> watch::Receiver<()> {
        self.replaced.subscribe()
    }

    /// Whether somebody of that name has a token.
    pub(super) fn has(&self, name: &str) -> bool {
        self.tokens.load().iter().any(|token| **token.identity.name() == *name)
    }
}

impl From<Vec<Token>> for TokenSet {
    fn from(tokens: Vec<Token>) -> Self {
        Self { tokens: Arc::new(ArcSwap::from_pointee(tokens)), ..Self::default() }
    }
}

/// Authenticates requests; without tokens everyone is allowed.
pub(super) struct Tokens {
    tokens: TokenSet,
    /// Of all requests, if there are no tokens.
    anonymous: Arc<Identity>,
    /// By network: when the current second began, and the failures since.
    failures: Mutex<HashMap<Option<IpAddr>, (Instant, u32)>>,
}

impl Tokens {
    pub(super) fn new(tokens: TokenSet) -> Self {
        Self { tokens, anonymous: Arc::new(Identity::local()), failures: Mutex::default() }
    }

    /// The caller of a request. A valid token is always accepted, however many failures its network
    /// had: an attacker must not lock out its neighbours.
    ///
    /// # Errors
    /// 401 without a valid token, 429 after too many failures in a second.
    pub(super) fn authenticate(&self, headers: &HeaderMap, peer: &Peer) -> Result<Caller, ErrorResponse> {
        if self.tokens.is_empty() {
            return Ok(peer.caller(self.anonymous.clone(), false));
        }
        let (challenge, detail) = match bearer(headers) {
            Some(secret) => match self.find(secret) {
                Some(Token { identity, revoked, .. }) => {
                    return Ok(Caller { revoked: Some(revoked), ..peer.caller(identity, true) });
                }
                None => ("Bearer error=\"invalid_token\"", "the bearer token is invalid"),
            },
            None => ("Bearer", "this server requires a bearer token in the Authorization header"),
        };
        if self.too_many_failures(peer.network) {
            let refusal =
                ErrorResponse::new(StatusCode::TOO_MANY_REQUESTS, "too_many_failures", "too many invalid tokens");
            return Err(refusal.header(RETRY_AFTER, "1"));
        }
        Err(ErrorResponse::new(StatusCode::UNAUTHORIZED, "unauthorized", detail).header(WWW_AUTHENTICATE, challenge))
    }

    /// Compares with all tokens; hashes compare in constant time.
    fn find(&self, secret: &[u8]) -> Option<Token> {
        let hash = blake3::hash(secret);
        let tokens = self.tokens.tokens.load();
        tokens.iter().filter(|token| token.hash == hash).fold(None, |_, token| Some(token.clone()))
    }

    /// Counts a failure of a network; whether it has had too many in this second.
    fn too_many_failures(&self, network: Option<IpAddr>) -> bool {
        let now = Instant::now();
        let is_past = |started: Instant| now.duration_since(started) >= WINDOW;
        let mut failures = lock(&self.failures);
        if failures.len() >= MAX_TRACKED {
            failures.retain(|_, (started, _)| !is_past(*started));
            if failures.len() >= MAX_TRACKED && !failures.contains_key(&network) {
                return true;
            }
        }
        let (started, count) = failures.entry(network).or_insert((now, 0));
        if is_past(*started) {
            (*started, *count) = (now, 0);
        }
        *count += 1;
        *count > FAILURES
    }
}

/// The token of the `Authorization` header. Tokens in the query are not supported: they would end
/// up in logs.
fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let value = values.next().filter(|_| values.next().is_none())?.as_bytes();
    let (scheme, token) = value.split_at_checked("Bearer ".len())?;
    scheme.eq_ignore_ascii_case(b"Bearer ").then(|| token.trim_ascii())
}

#[cfg(test)]
mod tests;
