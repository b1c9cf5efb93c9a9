//! Tokens that only their issuer can read: it is asked about them (RFC 7662).

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use serde_json::{Map, Value};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::fetch::{self, Address};
use super::flight::{self, Flight};
use super::refusal::Refusal;
use super::settings::IntrospectionSettings;
use super::verified::{TokenHash, Verified};
use crate::json;
use crate::net::http::{Http, form};
use crate::sync::lock;

/// How long a response is used, if the token does not expire before, and one that refuses a token.
pub(super) const ACTIVE: Duration = Duration::from_secs(60);
const INACTIVE: Duration = Duration::from_secs(10);
/// Requests at a time, tokens that are asked about or wait for it, and refused tokens that are remembered.
const AT_ONCE: usize = 32;
const MOST_WAITING: usize = 1024;
const MOST_REFUSED: usize = 4096;
/// Bytes of a response.
const MAX_RESPONSE: u64 = 64 << 10;
/// How deep a response may nest.
const MAX_DEPTH: usize = 32;

pub(super) type Answer = Result<Arc<Verified>, Refusal>;

/// What is being asked, and what was refused a moment ago.
pub(super) struct Introspections {
    state: Arc<Mutex<State>>,
    permits: Arc<Semaphore>,
}

#[derive(Default)]
struct State {
    flights: HashMap<TokenHash, Flight<Answer>>,
    refused: HashMap<TokenHash, (Refusal, Instant)>,
    /// Of what was refused, in that order.
    order: VecDeque<TokenHash>,
}

/// Ends the entry of a flight, also if it panics.
struct Landing(Arc<Mutex<State>>, TokenHash);

impl Drop for Landing {
    fn drop(&mut self) {
        lock(&self.0).flights.remove(&self.1);
    }
}

impl Introspections {
    pub(super) fn new() -> Self {
        Self { state: Arc::default(), permits: Arc::new(Semaphore::new(AT_ONCE)) }
    }

    /// The answer for a token: by that work, if nobody does it already or did a moment ago.
    pub(super) async fn once(&self, hash: TokenHash, work: impl Future<Output = Answer> + Send + 'static) -> Answer {
        let flight = self.flight(hash, work)?;
        flight.await.unwrap_or_else(|| Err(Refusal::unavailable("the introspection ended early")))
    }

    fn flight(
        &self,
        hash: TokenHash,
        work: impl Future<Output = Answer> + Send + 'static,
    ) -> Result<Flight<Answer>, Refusal> {
        let mut state = lock(&self.state);
        if let Some(flight) = state.flights.get(&hash) {
            return Ok(flight.clone());
        }
        if let Some((why, until)) = state.refused.get(&hash)
            && Instant::now() < *until
        {
            return Err(why.clone());
        }
        if state.flights.len() >= MOST_WAITING {
            return Err(Refusal::unavailable("too many tokens wait for their introspection"));
        }
        let (permits, landing) = (Arc::clone(&self.permits), Landing(Arc::clone(&self.state), hash));
        let flight = flight::start(async move {
            // Whole: a block that used one field might leave the rest behind, to be dropped under the lock.
            let landing = landing;
            let Ok(Ok(_permit)) = timeout(fetch::TIME, permits.acquire()).await else {
                return Err(Refusal::unavailable("too many tokens wait for their introspection"));
            };
            let answer = work.await;
            if let Err(why @ Refusal::Invalid(_)) = &answer {
                lock(&landing.0).refuse(landing.1, why.clone(), Instant::now() + INACTIVE);
            }
            answer
        });
        state.flights.insert(hash, flight.clone());
        Ok(flight)
    }
}

impl State {
    fn refuse(&mut self, hash: TokenHash, why: Refusal, until: Instant) {
        if self.refused.insert(hash, (why, until)).is_some() {
            return;
        }
        self.order.push_back(hash);
        if self.order.len() > MOST_REFUSED
            && let Some(oldest) = self.order.pop_front()
        {
            self.refused.remove(&oldest);
        }
    }
}

/// What an issuer says of a token, and its length as text; `None` if the token is not active.
pub(super) async fn ask(
    http: &Http,
    endpoint: &Address,
    settings: &IntrospectionSettings,
    token: &str,
) -> Result<Option<(Map<String, Value>, usize)>, String> {
    let request = request(endpoint, settings, token)?;
    let document = fetch::send(http, endpoint, request, "an introspection", MAX_RESPONSE).await?;
    let text = std::str::from_utf8(&document.bytes).ok();
    let Some(Value::Object(members)) = text.and_then(|text| json::tree(text, MAX_DEPTH).ok()) else {
        return Err(format!(
            "{} did not answer with an object of JSON when asked for an introspection",
            endpoint.host()
        ));
    };
    match members.get("active") {
        Some(Value::Bool(true)) => Ok(Some((members, document.bytes.len()))),
        Some(Value::Bool(false)) => Ok(None),
        _ => Err(format!("{} did not say whether a token is active", endpoint.host())),
    }
}

fn request(endpoint: &Address, settings: &IntrospectionSettings, token: &str) -> Result<Request<Full<Bytes>>, String> {
    let body = form([("token", token), ("token_type_hint", "access_token")]);
    fetch::form_of_client(endpoint, (&settings.client_id, &settings.client_secret), body)
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use http::header;

    use super::*;

    #[test]
    fn credentials_are_encoded() {
        let endpoint = Address::configured("https://h.example/i").expect("a URL");
        let settings = IntrospectionSettings {
            endpoint: None,
            client_id: "https://me".to_owned(),
            client_secret: "a:b c".to_owned(),
        };
        let request = request(&endpoint, &settings, "t").expect("a request");
        let expected = format!("Basic {}", STANDARD.encode("https%3A%2F%2Fme:a%3Ab%20c"));
        assert_eq!(request.headers()[header::AUTHORIZATION], expected);
        assert!(!format!("{request:?} {settings:?}").contains("a:b"), "shown");
    }

    #[test]
    fn refused_tokens_are_bounded() {
        let mut state = State::default();
        let hash = |number: usize| TokenHash::of(&number.to_be_bytes());
        for number in (0..=MOST_REFUSED).chain([MOST_REFUSED]) {
            state.refuse(hash(number), Refusal::invalid("no"), Instant::now());
        }
        assert_eq!((state.refused.len(), state.order.len()), (MOST_REFUSED, MOST_REFUSED));
        assert!(!state.refused.contains_key(&hash(0)) && state.refused.contains_key(&hash(1)));
    }

    #[tokio::test]
    async fn waiting_tokens_are_bounded() {
        let introspections = Introspections::new();
        let flights: Vec<_> = (0..MOST_WAITING)
            .map(|number| introspections.flight(TokenHash::of(&number.to_be_bytes()), std::future::pending()))
            .collect();
        assert!(flights.iter().all(Result::is_ok));
        let again = introspections.flight(TokenHash::of(&0usize.to_be_bytes()), std::future::pending());
        assert!(again.is_ok(), "one that is asked about already");
        let more = introspections.flight(TokenHash::of(b"more"), std::future::pending());
        assert!(matches!(more, Err(Refusal::Unavailable(_))));
    }
}
