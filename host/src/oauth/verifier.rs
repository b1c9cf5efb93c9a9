//! Verifies tokens of all configured issuers.

use std::convert::Infallible;
use std::fmt;
use std::mem;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use bytes::Bytes;
use futures_util::future::select_all;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use super::claims::{Expected, Granted, Vouched};
use super::clock::Now;
use super::fetch::Address;
use super::introspection::{self, Answer, Introspections};
use super::issuer::Issuer;
pub use super::issuer::IssuerStatus;
use super::refusal::Refusal;
use super::settings::OAuthSettings;
use super::token::{self, MAX_TOKEN, Token};
use super::verified::{Verified, VerifiedTokens};
use crate::identity::{Identity, TokenHash};
use crate::net::http::Http;
use crate::sync::lock;

/// Maximum signatures that are verified at the same time.
const MAX_VERIFYING: usize = 2;

/// Verifies tokens.
pub struct Verifier {
    /// The URI of this server.
    resource: Arc<str>,
    issuers: Vec<Arc<Issuer>>,
    tokens: Arc<Mutex<VerifiedTokens>>,
    /// Permits to verify a signature.
    verifying: Arc<Semaphore>,
    introspections: Introspections,
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.issuers.iter().map(|issuer| &issuer.name)).finish()
    }
}

impl Verifier {
    /// A verifier, which has asked no issuer yet.
    pub fn new(settings: OAuthSettings) -> Arc<Self> {
        Self::with(settings, Http::default())
    }

    pub(super) fn with(settings: OAuthSettings, http: Http) -> Arc<Self> {
        let http = Arc::new(http);
        let issuers = settings.issuers.into_iter().map(|issuer| Arc::new(Issuer::new(issuer, Arc::clone(&http))));
        Arc::new(Self {
            resource: settings.resource.into(),
            issuers: issuers.collect(),
            tokens: Arc::default(),
            verifying: Arc::new(Semaphore::new(MAX_VERIFYING)),
            introspections: Introspections::new(),
        })
    }

    /// What a token was verified to be a while ago.
    #[cfg(test)]
    pub(super) fn cached(&self, token: &[u8]) -> Option<Arc<Verified>> {
        lock(&self.tokens).get(&TokenHash::of(token), Instant::now())
    }

    /// Verifies a token with that hash that came from that network, if it is known. One that was verified a while ago is
    /// found at once; it waits only if the keys of its issuer are not there, or the issuer must be asked about it.
    ///
    /// # Errors
    /// If the token is not accepted, or not now.
    pub async fn verify_from(
        &self,
        token: &[u8],
        hash: TokenHash,
        network: Option<IpAddr>,
    ) -> Result<Arc<Verified>, Refusal> {
        if let Some(verified) = lock(&self.tokens).get(&hash, Instant::now()) {
            return Ok(verified);
        }
        if token.len() > MAX_TOKEN {
            return Err(Refusal::invalid("the token has more than 16 KiB"));
        }
        let text = std::str::from_utf8(token).map_err(|_| Refusal::invalid("the token is no text"))?;
        if token::is_jwt(text) { self.verify_jwt(text, hash).await } else { self.ask(text, hash, network).await }
    }

    /// As [`Self::verify_from`], from nowhere.
    pub async fn verify(&self, token: &[u8]) -> Result<Arc<Verified>, Refusal> {
        self.verify_from(token, TokenHash::of(token), None).await
    }

    async fn verify_jwt(&self, text: &str, hash: TokenHash) -> Answer {
        let now = Now::read();
        // First what costs least.
        let (token, _, issuer) = checked(text, &self.issuers, &self.resource, now)?;
        let keys = issuer.keys(&token).await?;
        // Not on a thread that serves others: the signature of a stranger takes a tenth of a millisecond, and what is kept
        // of many tokens would be scattered over the memory that each request uses. So all of it is made there.
        let permit = Arc::clone(&self.verifying).acquire_owned().await;
        let (issuers, resource, tokens) = (self.issuers.clone(), Arc::clone(&self.resource), Arc::clone(&self.tokens));
        let text = text.to_owned();
        let verifying = spawn_blocking(move || {
            let _permit = permit;
            let (token, granted, _) = checked(&text, &issuers, &resource, now)?;
            let wrong = || Refusal::invalid("the signature of the token is wrong");
            let key = keys.iter().find(|key| key.signed(&token)).ok_or_else(wrong)?;
            let verified = verified(granted, now, &tokens);
            lock(&tokens).put(hash, &verified, Some(key), verified.expires, (text.len(), Instant::now()));
            Ok(verified)
        });
        verifying.await.unwrap_or_else(|_| Err(Refusal::Unavailable("the token cannot be verified now".into())))
    }

    /// Asks all issuers that answer about tokens: such a token does not say whose it is.
    async fn ask(&self, text: &str, hash: TokenHash, network: Option<IpAddr>) -> Answer {
        let asked: Vec<Arc<Issuer>> =
            self.issuers.iter().filter(|issuer| issuer.settings.introspection.is_some()).cloned().collect();
        if asked.is_empty() {
            return Err(Refusal::invalid("the token is no JWT of three parts"));
        }
        let (tokens, resource, text) = (Arc::clone(&self.tokens), Arc::clone(&self.resource), text.to_owned());
        let work = async move {
            let mut refusal = Refusal::invalid("the token is not active");
            for issuer in &asked {
                match issuer.introspect(&text).await {
                    Ok(Some((claims, length))) => {
                        let now = Now::read();
                        let granted = expected(issuer, &resource).check(claims, Vouched::Introspection, now)?;
                        let verified = verified(granted, now, &tokens);
                        let until = verified.expires.min(now.instant + introspection::ACTIVE);
                        lock(&tokens).put(hash, &verified, None, until, (length, now.instant));
                        return Ok(verified);
                    }
                    Ok(None) => {}
                    // It might be its token.
                    Err(why) => refusal = why,
                }
            }
            Err(refusal)
        };
        self.introspections.once(hash, network, work).await
    }

    /// Fetches keys before they are needed, and again before they are too old. Ends only if dropped.
    pub async fn run(&self) -> Infallible {
        let kept: Vec<_> = self.issuers.iter().map(|issuer| Box::pin(Arc::clone(issuer).keep())).collect();
        if kept.is_empty() {
            return std::future::pending().await;
        }
        select_all(kept).await.0
    }

    /// What is known of a token after that time.
    #[cfg(test)]
    pub(super) fn cached_after(&self, token: &[u8], time: std::time::Duration) -> Option<Arc<Verified>> {
        lock(&self.tokens).get(&TokenHash::of(token), Instant::now() + time)
    }

    /// As if that time had passed for the keys.
    #[cfg(test)]
    pub(super) fn later(&self, time: std::time::Duration) {
        self.issuers.iter().for_each(|issuer| issuer.age_by(time));
    }

    /// Where an issuer exchanges tokens, as its metadata says.
    pub(super) async fn token_endpoint(&self, issuer: &str) -> Option<Address> {
        self.issuers.iter().find(|known| *known.name == *issuer)?.token_endpoint().await
    }

    /// How it is with each issuer.
    pub fn status(&self) -> Vec<IssuerStatus> {
        self.issuers.iter().map(|issuer| issuer.status()).collect()
    }

    /// The metadata of the only issuer, unchanged: clients of 2025-03-26 look for it here. `None` if there are several
    /// issuers, or it cannot be had.
    pub async fn authorization_server_metadata(&self) -> Option<Bytes> {
        match &*self.issuers {
            [issuer] => issuer.document().await,
            _ => None,
        }
    }
}

/// A token and what it grants if its signature is right, and its issuer.
fn checked<'a>(
    text: &'a str,
    issuers: &'a [Arc<Issuer>],
    resource: &str,
    now: Now,
) -> Result<(Token<'a>, Granted, &'a Arc<Issuer>), Refusal> {
    let mut token = Token::parse(text)?;
    let named = token.issuer().and_then(|name| issuers.iter().find(|issuer| *issuer.name == *name));
    // Nothing is fetched for a token of anybody else.
    let issuer = named.ok_or_else(|| Refusal::invalid("the token is of an issuer that is not accepted"))?;
    let claims = mem::take(&mut token.claims);
    let granted = expected(issuer, resource).check(claims, Vouched::Signature, now)?;
    Ok((token, granted, issuer))
}

fn expected<'a>(issuer: &'a Issuer, resource: &'a str) -> Expected<'a> {
    Expected { issuer: &issuer.name, resource, settings: &issuer.settings }
}

fn verified(granted: Granted, now: Now, tokens: &Mutex<VerifiedTokens>) -> Arc<Verified> {
    let expires = now.at(granted.until);
    let mut grant = granted.grant;
    lock(tokens).share_parts(&mut grant);
    Arc::new(Verified { identity: Arc::new(Identity::subject(grant)), expires })
}
