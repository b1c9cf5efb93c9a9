//! Tokens in a user's name for other services: the issuer is given the user's token, and gives another one (RFC 8693).

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, UNIX_EPOCH};

use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::clock::Now;
use super::fetch::{self, Address};
use super::flight::{self, Flight};
use super::verifier::Verifier;
use crate::identity::{Identity, SecretText};
use crate::json;
use crate::net::http::{Http, form};
use crate::sync::lock;

/// Source: RFC 8693, sections 2.1 and 3.
const GRANT: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";
/// How long a token is used that does not say how long it holds, and any token at most.
const UNSAID: Duration = Duration::from_secs(60);
const LONGEST: Duration = Duration::from_secs(600);
/// How long a failure is remembered.
const FAILED: Duration = Duration::from_secs(3);
/// Exchanges at a time; those that go on or wait, in all and of one user; outcomes that are remembered.
const AT_ONCE: usize = 16;
const MOST_WAITING: usize = 256;
const WAITING_OF_SUBJECT: usize = 8;
const MOST: usize = 2048;
const MOST_OF_SUBJECT: usize = 32;
/// Bytes of a response, and of a token in it.
const MAX_RESPONSE: u64 = 64 << 10;
const MAX_TOKEN: usize = 8 << 10;
/// How deep a response may nest.
const MAX_DEPTH: usize = 32;
/// Bytes of the name of an error.
const MAX_ERROR: usize = 64;

/// For which tokens the users' own are exchanged.
#[derive(Clone, PartialEq, Eq)]
pub struct ExchangeSettings {
    /// The issuer whose users' tokens are exchanged.
    pub issuer: String,
    /// If not where its metadata says.
    pub endpoint: Option<String>,
    /// This server's own credentials there.
    pub client_id: String,
    pub client_secret: String,
    pub audience: Option<String>,
    pub resource: Option<String>,
    pub scope: Option<String>,
}

impl fmt::Debug for ExchangeSettings {
    /// Without the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExchangeSettings").field("issuer", &self.issuer).finish_non_exhaustive()
    }
}

/// Why there is no token. Reads after what it is of; what is after a colon is for the operator.
type Failed = String;
type Answer = Result<SecretText, Failed>;

/// The hash of a user's token and of what it is exchanged for.
type Key = blake3::Hash;

/// Exchanges that go on, and their outcomes.
pub struct Exchanges {
    verifier: Arc<Verifier>,
    http: Arc<Http>,
    state: Arc<Mutex<State>>,
    permits: Arc<Semaphore>,
}

#[derive(Default)]
struct State {
    flights: HashMap<Key, (Arc<str>, Flight<Answer>)>,
    known: HashMap<Key, Known>,
    next: u64,
}

/// An outcome.
struct Known {
    /// The name of the user's identity.
    of: Arc<str>,
    answer: Answer,
    until: Instant,
    number: u64,
}

/// Ends the entry of a flight, also if it panics.
struct Landing(Arc<Mutex<State>>, Key);

impl Drop for Landing {
    fn drop(&mut self) {
        lock(&self.0).flights.remove(&self.1);
    }
}

impl Exchanges {
    pub fn new(verifier: Arc<Verifier>) -> Arc<Self> {
        Self::with(verifier, Http::default())
    }

    pub(super) fn with(verifier: Arc<Verifier>, http: Http) -> Arc<Self> {
        let permits = Arc::new(Semaphore::new(AT_ONCE));
        Arc::new(Self { verifier, http: Arc::new(http), state: Arc::default(), permits })
    }

    /// A token in the name of a user. One that was had a while ago is found at once. An exchange that has begun goes on
    /// when nobody waits for it any more.
    ///
    /// # Errors
    /// If the user has no access token of that issuer, or it gives no other one for it.
    pub async fn token(self: &Arc<Self>, settings: &ExchangeSettings, of: &Identity) -> Answer {
        let (Some(grant), Some(own)) = (&of.grant, &of.token) else {
            return Err("is only for users with an access token".into());
        };
        if *grant.issuer != *settings.issuer {
            return Err(format!("is only for users of another issuer: {}", settings.issuer));
        }
        let key = settings.key(own);
        let flight = {
            let (mut state, now) = (lock(&self.state), Instant::now());
            if let Some(known) = state.known.get(&key).filter(|known| now < known.until) {
                return known.answer.clone();
            }
            match state.flights.get(&key) {
                Some((_, flight)) => flight.clone(),
                None => {
                    let of = of.name().clone();
                    let own_waiting = state.flights.values().filter(|(other, _)| *other == of).count();
                    if state.flights.len() >= MOST_WAITING || own_waiting >= WAITING_OF_SUBJECT {
                        return Err("cannot be had now: too many exchanges wait".into());
                    }
                    let expires = grant.expires.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
                    let until = Now::read().at(expires);
                    let flight = self.begin(key, settings.clone(), own.clone(), (of.clone(), until));
                    state.flights.insert(key, (of, flight.clone()));
                    flight
                }
            }
        };
        flight.await.unwrap_or_else(|| Err("cannot be had now: the exchange ended early".into()))
    }

    fn begin(
        self: &Arc<Self>,
        key: Key,
        settings: ExchangeSettings,
        own: SecretText,
        (of, expires): (Arc<str>, Instant),
    ) -> Flight<Answer> {
        let (exchanges, landing) = (Arc::clone(self), Landing(Arc::clone(&self.state), key));
        flight::start(async move {
            // Whole, so that nothing of it is dropped under the lock.
            let landing = landing;
            let Ok(Ok(_permit)) = timeout(fetch::TIME, exchanges.permits.acquire()).await else {
                return Err("cannot be had now: too many exchanges wait".into());
            };
            let (answer, holds) = match exchanges.exchange(&settings, &own).await {
                Ok((token, holds)) => (Ok(token), holds),
                Err(why) => (Err(why), FAILED),
            };
            let until = (Instant::now() + holds).min(expires);
            lock(&landing.0).remember(key, of, answer.clone(), until);
            answer
        })
    }

    async fn exchange(&self, settings: &ExchangeSettings, own: &SecretText) -> Result<(SecretText, Duration), Failed> {
        let endpoint = match &settings.endpoint {
            Some(url) => Address::configured(url).ok(),
            None => self.verifier.token_endpoint(&settings.issuer).await,
        };
        let failed = |why: String| format!("cannot be had now: {why}");
        let endpoint =
            endpoint.ok_or_else(|| failed(format!("it is not known where {} exchanges tokens", settings.issuer)))?;
        let credentials = (&*settings.client_id, &*settings.client_secret);
        let request = fetch::form_of_client(&endpoint, credentials, settings.form(own)).map_err(failed)?;
        let received = fetch::receive(&self.http, &endpoint, request, "an exchange of tokens", MAX_RESPONSE).await;
        let (status, document) = received.map_err(|error| failed(error.into()))?;
        let members = document.as_ref().and_then(|document| {
            let text = std::str::from_utf8(&document.bytes).ok()?;
            json::tree(text, MAX_DEPTH).ok().filter(Value::is_object)
        });
        let host = endpoint.host();
        if status != http::StatusCode::OK {
            let error = members.as_ref().and_then(|members| members["error"].as_str()).filter(|error| is_error(error));
            let error = error.map_or_else(String::new, |error| format!(", {error}"));
            return Err(format!("was refused by the issuer: {host} answered {status}{error}"));
        }
        let members = members.ok_or_else(|| failed(format!("{host} did not answer with an object of JSON")))?;
        let not_given = |why: &str| format!("was not given by the issuer: {host} {why}");
        match read(&members) {
            // It must not leave this server.
            Ok((token, _)) if token.expose() == own.expose() => Err(not_given("gave back the user's own token")),
            read => read.map_err(not_given),
        }
    }

    /// Outcomes that are remembered, and exchanges that go on.
    #[cfg(test)]
    pub(super) fn count(&self) -> (usize, usize) {
        let state = lock(&self.state);
        (state.known.len(), state.flights.len())
    }

    /// As if that time had passed.
    #[cfg(test)]
    pub(super) fn later(&self, time: Duration) {
        lock(&self.state).known.values_mut().for_each(|known| known.until -= time);
    }
}

impl ExchangeSettings {
    /// Different for each token and each exchange.
    fn key(&self, own: &SecretText) -> Key {
        let Self { issuer, endpoint, client_id, client_secret, audience, resource, scope } = self;
        let given = [endpoint, audience, resource, scope].map(Option::as_deref);
        let mut hasher = blake3::Hasher::new();
        // Each with its length, so that no two read the same.
        for text in [Some(own.expose()), Some(issuer), Some(client_id), Some(client_secret)].into_iter().chain(given) {
            hasher.update(&[u8::from(text.is_some())]);
            hasher.update(&text.map_or(0, str::len).to_be_bytes());
            hasher.update(text.unwrap_or_default().as_bytes());
        }
        hasher.finalize()
    }

    fn form(&self, own: &SecretText) -> String {
        let always = [
            ("grant_type", GRANT),
            ("subject_token", own.expose()),
            ("subject_token_type", ACCESS_TOKEN),
            ("requested_token_type", ACCESS_TOKEN),
        ];
        let given = [("audience", &self.audience), ("resource", &self.resource), ("scope", &self.scope)];
        form(always.into_iter().chain(given.into_iter().filter_map(|(name, value)| Some((name, value.as_deref()?)))))
    }
}

impl State {
    /// Of one user, and of all, the outcomes that came first make place.
    fn remember(&mut self, key: Key, of: Arc<str>, answer: Answer, until: Instant) {
        let now = Instant::now();
        self.known.retain(|_, known| now < known.until);
        let oldest = |known: &HashMap<Key, Known>, is_one: &dyn Fn(&Known) -> bool| {
            known.iter().filter(|(_, known)| is_one(known)).min_by_key(|(_, known)| known.number).map(|(key, _)| *key)
        };
        let is_own = |known: &Known| known.of == of;
        let removed = if self.known.values().filter(|known| is_own(known)).count() >= MOST_OF_SUBJECT {
            oldest(&self.known, &is_own)
        } else if self.known.len() >= MOST {
            oldest(&self.known, &|_| true)
        } else {
            None
        };
        removed.map(|key| self.known.remove(&key));
        let number = self.next;
        self.next += 1;
        self.known.insert(key, Known { of, answer, until, number });
    }
}

/// The token of a response, and how long it is used.
fn read(members: &Value) -> Result<(SecretText, Duration), &'static str> {
    let text = |name: &str| members[name].as_str();
    // Required by RFC 8693, section 2.2.1.
    if text("issued_token_type") != Some(ACCESS_TOKEN) {
        return Err("gave a token of another kind than an access token");
    }
    if !text("token_type").is_some_and(|kind| kind.eq_ignore_ascii_case("bearer")) {
        return Err("gave a token that is not a bearer's");
    }
    let token = text("access_token").ok_or("gave no token")?;
    if !(1..=MAX_TOKEN).contains(&token.len()) || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("gave a token that is too long, or no visible ASCII");
    }
    let holds = match &members["expires_in"] {
        Value::Null => UNSAID,
        seconds => Duration::from_secs(seconds.as_u64().ok_or("gave a token without a valid expires_in")?),
    };
    // It must hold until the service has seen it.
    Ok((SecretText::new(token.to_owned()), holds.min(LONGEST) * 9 / 10))
}

/// Source: RFC 6749, section 5.2. Only what cannot be mistaken for anything else is logged.
fn is_error(text: &str) -> bool {
    (1..=MAX_ERROR).contains(&text.len()) && text.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'_'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn key(number: usize) -> Key {
        blake3::hash(&number.to_be_bytes())
    }

    #[test]
    fn outcomes_are_bounded_in_all_and_by_user() {
        let mut state = State::default();
        let until = Instant::now() + Duration::from_secs(60);
        let put = |state: &mut State, of: &str, number: usize| {
            state.remember(key(number), of.into(), Err("no".into()), until);
        };
        put(&mut state, "other", 0);
        (1..=MOST_OF_SUBJECT + 1).for_each(|number| put(&mut state, "own", number));
        assert_eq!(state.known.len(), MOST_OF_SUBJECT + 1);
        assert!(state.known.contains_key(&key(0)) && !state.known.contains_key(&key(1)));
        (100..MOST + 100).for_each(|number| put(&mut state, &number.to_string(), number));
        assert_eq!(state.known.len(), MOST);
        assert!(!state.known.contains_key(&key(0)));
    }

    #[test]
    fn only_bearer_access_tokens_are_used() {
        let good = json!({"access_token": "t", "issued_token_type": ACCESS_TOKEN, "token_type": "bearer"});
        let with = |name: &str, value: Value| {
            let mut members = good.clone();
            members[name] = value;
            read(&members).map(|(token, holds)| (token.expose().to_owned(), holds.as_secs()))
        };
        assert_eq!(with("token_type", json!("Bearer")), Ok(("t".into(), 54)));
        assert_eq!(with("expires_in", json!(100)), Ok(("t".into(), 90)));
        assert_eq!(with("expires_in", json!(u64::MAX)), Ok(("t".into(), 540)));
        assert_eq!(with("expires_in", json!(0)), Ok(("t".into(), 0)));
        assert!(with("access_token", json!("t".repeat(MAX_TOKEN))).is_ok());
        for (name, value) in [
            ("access_token", json!("t".repeat(MAX_TOKEN + 1))),
            ("access_token", json!("")),
            ("access_token", json!("a b")),
            ("access_token", json!("a\r\nb")),
            ("access_token", json!(1)),
            ("access_token", Value::Null),
            ("issued_token_type", json!("urn:ietf:params:oauth:token-type:refresh_token")),
            ("issued_token_type", json!("urn:ietf:params:oauth:token-type:id_token")),
            ("issued_token_type", Value::Null),
            ("token_type", json!("N_A")),
            ("token_type", json!("DPoP")),
            ("token_type", Value::Null),
            ("expires_in", json!(-1)),
            ("expires_in", json!(1.5)),
            ("expires_in", json!("60")),
        ] {
            assert!(with(name, value.clone()).is_err(), "{name}: {value}");
        }
    }

    #[test]
    fn each_exchange_of_each_token_is_its_own() {
        let settings = ExchangeSettings {
            issuer: "https://id.example".into(),
            endpoint: None,
            client_id: "wharf".into(),
            client_secret: "s3cret".into(),
            audience: Some("a".into()),
            resource: None,
            scope: None,
        };
        let own = |text: &str| SecretText::new(text.into());
        let other = ExchangeSettings { audience: None, resource: Some("a".into()), ..settings.clone() };
        assert_ne!(settings.key(&own("t")), other.key(&own("t")));
        assert_ne!(settings.key(&own("t")), settings.key(&own("u")));
        assert_eq!(settings.key(&own("t")), settings.clone().key(&own("t")));
        assert!(!format!("{settings:?} {:?}", own("t0ken")).contains("s3cret"));
        assert!(!format!("{:?}", own("t0ken")).contains("t0ken"));
        assert!(is_error("invalid_grant") && !is_error("a b") && !is_error("eyJ") && !is_error(&"a".repeat(65)));
    }
}
