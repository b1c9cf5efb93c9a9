//! From the headers of a request to the principal that sent it.
//!
//! Static bearer tokens, kept as hashes. It knows no sessions, and what a principal may do is
//! not decided here. Source: RFC 6750; MCP 2026-07-28, basic/authorization.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use http::StatusCode;
use http::header::{AUTHORIZATION, HeaderMap, RETRY_AFTER, WWW_AUTHENTICATE};

use crate::transport::http::caller::{Caller, Peer, Principal};
use crate::transport::http::refusal::Refusal;

/// Wrong tokens of one address in one second; more are told to wait.
const FAILURES: u32 = 10;
const WINDOW: Duration = Duration::from_secs(1);
/// Networks that are remembered at the same time. With so many in one second a further one is
/// told to wait.
const REMEMBERED: usize = 4096;

/// One token, and who bears it. Several tokens may stand for one principal.
#[derive(Clone, Debug)]
pub struct Token {
    principal: Principal,
    hash: blake3::Hash,
}

impl Token {
    /// The secret itself is not kept.
    pub fn new(name: &str, secret: &str) -> Self {
        Self { principal: Principal::new(name), hash: blake3::hash(secret.as_bytes()) }
    }
}

/// Tokens that can be replaced while they are used; a clone shares them.
#[derive(Clone, Debug, Default)]
pub struct TokenSet(Arc<ArcSwap<Vec<Token>>>);

impl TokenSet {
    pub fn is_empty(&self) -> bool {
        self.0.load().is_empty()
    }

    /// From the next request on, these count and no others.
    pub fn replace(&self, tokens: Vec<Token>) {
        self.0.store(Arc::new(tokens));
    }
}

impl From<Vec<Token>> for TokenSet {
    fn from(tokens: Vec<Token>) -> Self {
        Self(Arc::new(ArcSwap::from_pointee(tokens)))
    }
}

/// Those who may come in; everybody if there are no tokens.
pub(super) struct Tokens {
    tokens: TokenSet,
    everybody: Principal,
    /// Of each network: the second that began with its first failure, and how many since.
    failures: Mutex<HashMap<Option<IpAddr>, (Instant, u32)>>,
}

impl Tokens {
    pub(super) fn new(tokens: TokenSet) -> Self {
        Self { tokens, everybody: Principal::local(), failures: Mutex::default() }
    }

    /// Whose a request is. A right token is always taken, however many wrong ones came
    /// from its address: who guesses must not lock out his neighbours.
    ///
    /// # Errors
    /// 401 without a right token, 429 after too many of those in a second.
    pub(super) fn authenticate(&self, headers: &HeaderMap, peer: &Peer) -> Result<Caller, Refusal> {
        if self.tokens.is_empty() {
            return Ok(peer.caller(self.everybody.clone(), false));
        }
        let (challenge, detail) = match bearer(headers) {
            Some(secret) => match self.find(secret) {
                Some(principal) => return Ok(peer.caller(principal, true)),
                None => ("Bearer error=\"invalid_token\"", "the bearer token is not one of the server's"),
            },
            None => ("Bearer", "this server wants a bearer token in the Authorization header"),
        };
        if self.too_many_failures(peer.network) {
            let refusal = Refusal::new(StatusCode::TOO_MANY_REQUESTS, "too_many_failures", "too many wrong tokens");
            return Err(refusal.header(RETRY_AFTER, "1"));
        }
        Err(Refusal::new(StatusCode::UNAUTHORIZED, "unauthorized", detail).header(WWW_AUTHENTICATE, challenge))
    }

    /// Looks at all of them, and hashes compare in constant time.
    fn find(&self, secret: &[u8]) -> Option<Principal> {
        let hash = blake3::hash(secret);
        let tokens = self.tokens.0.load();
        tokens.iter().filter(|token| token.hash == hash).fold(None, |_, token| Some(token.principal.clone()))
    }

    /// Counts one more failure from there.
    fn too_many_failures(&self, network: Option<IpAddr>) -> bool {
        let now = Instant::now();
        let is_past = |started: Instant| now.duration_since(started) >= WINDOW;
        let mut failures = self.failures.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if failures.len() >= REMEMBERED {
            failures.retain(|_, (started, _)| !is_past(*started));
            if failures.len() >= REMEMBERED && !failures.contains_key(&network) {
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

/// The token of the one `Authorization` header. One in the query would end up in logs, and is
/// not looked for.
fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let value = values.next().filter(|_| values.next().is_none())?.as_bytes();
    let (scheme, token) = value.split_at_checked("Bearer ".len())?;
    scheme.eq_ignore_ascii_case(b"Bearer ").then(|| token.trim_ascii())
}

#[cfg(test)]
mod tests;
