//! An issuer: its metadata and its keys, fetched once for all that wait for them.

use std::convert::Infallible;
use std::mem;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde_json::{Map, Value};
use wharf_report::{bounded, line};

use super::discovery::{self, Metadata};
use super::fetch::{self, Address};
use super::flight::{self, Flight};
use super::introspection;
use super::key_cache::{Cause, KeyCache};
use super::keys::{Chosen, Key, KeySet};
use super::refusal::Refusal;
use super::settings::IssuerSettings;
use super::token::Token;
use crate::net::http::Http;
use crate::sync::lock;

/// How long metadata is used.
const METADATA: Duration = Duration::from_hours(1);

pub(super) struct Issuer {
    /// As in the claim `iss`.
    pub(super) name: Arc<str>,
    pub(super) settings: IssuerSettings,
    http: Arc<Http>,
    state: Mutex<State>,
}

struct State {
    keys: KeyCache,
    /// The attempt that goes on.
    flight: Option<Flight<()>>,
    metadata: Option<Arc<Metadata>>,
    /// When the metadata was asked for last, with or without success.
    asked: Option<Instant>,
    /// Why the last introspection failed; `None` if it did not.
    introspection_error: Option<String>,
}

/// How it is with an issuer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssuerStatus {
    pub issuer: Arc<str>,
    /// Whether its tokens can be verified.
    pub ready: bool,
    /// Why its keys could not be fetched the last time, or it did not answer about a token.
    pub error: Option<String>,
    /// Keys that can be used, and how long ago they were fetched.
    pub keys: usize,
    pub age: Option<Duration>,
}

/// A reason in one line, which may have texts of a server.
fn shown(why: &str) -> String {
    line(&bounded(why))
}

/// Ends an attempt, also if it panics.
struct Landing(Arc<Issuer>);

impl Drop for Landing {
    fn drop(&mut self) {
        lock(&self.0.state).flight = None;
    }
}

impl Issuer {
    pub(super) fn new(settings: IssuerSettings, http: Arc<Http>) -> Self {
        let keys = KeyCache::new(settings.keep_keys);
        let state = Mutex::new(State { keys, flight: None, metadata: None, asked: None, introspection_error: None });
        Self { name: settings.issuer.as_str().into(), settings, http, state }
    }

    pub(super) fn status(&self) -> IssuerStatus {
        let (state, now) = (lock(&self.state), Instant::now());
        let keys = state.keys.usable(now).map_or(0, |keys| keys.len());
        let configured = self.settings.introspection.as_ref().map(|settings| settings.endpoint.is_some());
        let named = state.metadata.as_ref().is_some_and(|metadata| metadata.introspection_endpoint.is_some());
        IssuerStatus {
            issuer: Arc::clone(&self.name),
            ready: keys > 0 || configured.is_some_and(|configured| configured || named),
            error: state.keys.error().or(state.introspection_error.as_deref()).map(str::to_owned),
            keys,
            age: state.keys.age(now),
        }
    }

    /// As if its keys had been fetched earlier.
    #[cfg(test)]
    pub(super) fn age_by(&self, time: Duration) {
        lock(&self.state).keys.age_by(time);
    }

    /// Fetches the keys when they are due, for ever.
    pub(super) async fn keep(self: Arc<Self>) -> Infallible {
        loop {
            let due = lock(&self.state).keys.due(Instant::now());
            tokio::time::sleep_until(due.into()).await;
            self.refresh(Cause::Due).await;
        }
    }

    /// The keys that a token may have been signed with.
    ///
    /// # Errors
    /// If there is none, or the keys cannot be had.
    pub(super) async fn keys(self: &Arc<Self>, token: &Token<'_>) -> Result<Vec<Arc<Key>>, Refusal> {
        let mut found = self.choose(token);
        for cause in [Cause::Due, Cause::UnknownKey] {
            let is_missing = match cause {
                Cause::Due => found.is_none(),
                Cause::UnknownKey => found == Some(Chosen::Unknown),
            };
            if is_missing {
                self.refresh(cause).await;
                found = self.choose(token);
            }
        }
        match found {
            Some(Chosen::Keys(keys)) => Ok(keys),
            Some(Chosen::Unfit(why)) => Err(Refusal::invalid(why)),
            Some(Chosen::Unknown) if lock(&self.state).keys.error().is_none() => {
                Err(Refusal::invalid("the issuer has no key as the token names it"))
            }
            // A newer set might have it.
            Some(Chosen::Unknown) | None => Err(Refusal::unavailable("the keys of the issuer cannot be fetched")),
        }
    }

    fn choose(&self, token: &Token<'_>) -> Option<Chosen> {
        let state = lock(&self.state);
        Some(state.keys.usable(Instant::now())?.choose(token.algorithm, token.key_id.as_deref()))
    }

    /// What it says of a token that only it can read; see [`introspection::ask`].
    pub(super) async fn introspect(
        self: &Arc<Self>,
        token: &str,
    ) -> Result<Option<(Map<String, Value>, usize)>, Refusal> {
        let Some(settings) = &self.settings.introspection else { return Ok(None) };
        let endpoint = match &settings.endpoint {
            Some(url) => Address::configured(url).map_err(Refusal::unavailable)?,
            None => {
                let metadata = self.metadata().await;
                let named = metadata.as_ref().and_then(|metadata| metadata.introspection_endpoint.clone());
                named.ok_or_else(|| Refusal::unavailable("it is not known where the issuer answers about tokens"))?
            }
        };
        let answer = introspection::ask(&self.http, &endpoint, settings, token).await.map_err(|why| shown(&why));
        let before = mem::replace(&mut lock(&self.state).introspection_error, answer.as_ref().err().cloned());
        // Once, and not for each token.
        match (&before, &answer) {
            (None, Err(why)) => tracing::warn!(issuer = &*self.name, "failed to ask it about a token: {why}"),
            (Some(_), Ok(_)) => tracing::info!(issuer = &*self.name, "it answers about tokens again"),
            _ => {}
        }
        answer.map_err(|_| Refusal::unavailable("the issuer does not answer about tokens"))
    }

    /// Its metadata as it was received.
    pub(super) async fn document(self: &Arc<Self>) -> Option<Bytes> {
        Some(self.metadata().await?.document.clone())
    }

    /// Where it exchanges tokens; `None` if it does not say, or its metadata cannot be had.
    pub(super) async fn token_endpoint(self: &Arc<Self>) -> Option<Address> {
        self.metadata().await?.token_endpoint.clone()
    }

    async fn metadata(self: &Arc<Self>) -> Option<Arc<Metadata>> {
        let known = |issuer: &Self| lock(&issuer.state).metadata.clone();
        if let Some(metadata) = known(self) {
            return Some(metadata);
        }
        self.refresh(Cause::Due).await;
        known(self)
    }

    /// Fetches the keys, and the metadata if it is old; waits for an attempt that goes on already. Does nothing if none
    /// may begin now.
    async fn refresh(self: &Arc<Self>, cause: Cause) {
        let flight = {
            let (mut state, now) = (lock(&self.state), Instant::now());
            match &state.flight {
                Some(flight) => flight.clone(),
                None if state.keys.may_fetch(cause, now) => {
                    state.keys.begin(now);
                    let landing = Landing(Arc::clone(self));
                    let flight = flight::start(async move {
                        // Whole, so that nothing of it is dropped under the lock.
                        let landing = landing;
                        landing.0.attempt().await;
                    });
                    state.flight = Some(flight.clone());
                    flight
                }
                None => return,
            }
        };
        flight.await;
    }

    async fn attempt(&self) {
        let fetched = self.fetch().await;
        let (mut state, now) = (lock(&self.state), Instant::now());
        let failed_before = state.keys.error().is_some();
        match fetched {
            Ok((keys, max_age)) => {
                state.keys.store(keys, max_age, now);
                if failed_before {
                    tracing::info!(issuer = &*self.name, "its keys were fetched again");
                }
            }
            Err(why) => {
                let why = shown(&why);
                // Once, and not for each attempt.
                if !failed_before {
                    tracing::warn!(issuer = &*self.name, "failed to fetch its keys: {why}");
                }
                state.keys.fail(why, now);
            }
        }
    }

    async fn fetch(&self) -> Result<(KeySet, Option<Duration>), String> {
        if let Some(url) = &self.settings.jwks_uri {
            let address = Address::configured(url)?;
            // The metadata is of use for others, and not needed for this.
            let (keys, _) = tokio::join!(self.keys_at(&address), self.discover());
            return keys;
        }
        let metadata = self.discover().await?;
        match &metadata.jwks_uri {
            Some(address) => self.keys_at(address).await,
            // All its tokens are for introspection.
            None if self.settings.introspection.is_some() => Ok((KeySet::default(), None)),
            None => Err("its metadata has no jwks_uri".to_owned()),
        }
    }

    async fn keys_at(&self, address: &Address) -> Result<(KeySet, Option<Duration>), String> {
        let document = fetch::get(&self.http, address, "the set of keys").await?;
        let keys = KeySet::parse(&document.bytes).map_err(|why| format!("{} gave no keys: {why}", address.host()))?;
        Ok((keys, document.max_age))
    }

    /// The metadata, asked for if it is old, or if what it names was of no use the last time.
    async fn discover(&self) -> Result<Arc<Metadata>, String> {
        {
            let (mut state, now) = (lock(&self.state), Instant::now());
            let is_old = state.asked.is_none_or(|asked| asked + METADATA <= now) || state.keys.error().is_some();
            if let Some(metadata) = state.metadata.as_ref().filter(|_| !is_old) {
                return Ok(Arc::clone(metadata));
            }
            state.asked = Some(now);
        }
        let metadata = Arc::new(discovery::discover(&self.http, &self.name).await?);
        lock(&self.state).metadata = Some(Arc::clone(&metadata));
        Ok(metadata)
    }
}
