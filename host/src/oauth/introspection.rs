//! Tokens that only their issuer can read: it is asked about them (RFC 7662).

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
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
use super::verified::Verified;
use crate::identity::TokenHash;
use crate::json;
use crate::net::http::{Http, form};
use crate::sync::lock;

/// How long a response is used, if the token does not expire before, and one that refuses a token.
pub(super) const ACTIVE: Duration = Duration::from_secs(60);
const INACTIVE: Duration = Duration::from_secs(10);
/// Requests at a time, and tokens that are asked about or wait for it: in all, and of one network, which cannot take all
/// of a slow issuer with texts that are no tokens.
const AT_ONCE: usize = 64;
const AT_ONCE_OF_NETWORK: usize = 32;
const MOST_WAITING: usize = 1024;
const MOST_WAITING_OF_NETWORK: usize = 768;
/// Refused tokens that are remembered.
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
    /// Of networks that wait.
    shares: HashMap<Option<IpAddr>, Share>,
}

/// What one network has.
struct Share {
    permits: Arc<Semaphore>,
    waiting: usize,
}

/// Ends the entry of a flight, also if it panics.
struct Landing {
    state: Arc<Mutex<State>>,
    hash: TokenHash,
    network: Option<IpAddr>,
}

impl Drop for Landing {
    fn drop(&mut self) {
        let mut state = lock(&self.state);
        state.flights.remove(&self.hash);
        if let Some(share) = state.shares.get_mut(&self.network) {
            share.waiting -= 1;
            if share.waiting == 0 {
                state.shares.remove(&self.network);
            }
        }
    }
}

impl Introspections {
    pub(super) fn new() -> Self {
        Self { state: Arc::default(), permits: Arc::new(Semaphore::new(AT_ONCE)) }
    }

    /// The answer for a token that came from that network: by that work, if nobody does it already or did a moment ago.
    pub(super) async fn once(
        &self,
        hash: TokenHash,
        network: Option<IpAddr>,
        work: impl Future<Output = Answer> + Send + 'static,
    ) -> Answer {
        let flight = self.flight(hash, network, work)?;
        flight.await.unwrap_or_else(|| Err(Refusal::unavailable("the introspection ended early")))
    }

    fn flight(
        &self,
        hash: TokenHash,
        network: Option<IpAddr>,
        work: impl Future<Output = Answer> + Send + 'static,
    ) -> Result<Flight<Answer>, Refusal> {
        let too_many = || Refusal::unavailable("too many tokens wait for their introspection");
        let mut state = lock(&self.state);
        if let Some(flight) = state.flights.get(&hash) {
            return Ok(flight.clone());
        }
        if let Some((why, until)) = state.refused.get(&hash)
            && Instant::now() < *until
        {
            return Err(why.clone());
        }
        let waiting = state.shares.get(&network).map_or(0, |share| share.waiting);
        if state.flights.len() >= MOST_WAITING || waiting >= MOST_WAITING_OF_NETWORK {
            return Err(too_many());
        }
        let new = || Share { permits: Arc::new(Semaphore::new(AT_ONCE_OF_NETWORK)), waiting: 0 };
        let share = state.shares.entry(network).or_insert_with(new);
        share.waiting += 1;
        let (own, all) = (Arc::clone(&share.permits), Arc::clone(&self.permits));
        let landing = Landing { state: Arc::clone(&self.state), hash, network };
        let flight = flight::start(async move {
            // Whole: a block that used one field might leave the rest behind, to be dropped under the lock.
            let landing = landing;
            let permits = async { (own.acquire().await, all.acquire().await) };
            let Ok((Ok(_own), Ok(_permit))) = timeout(fetch::TIME, permits).await else {
                return Err(too_many());
            };
            let answer = work.await;
            if let Err(why @ Refusal::Invalid(_)) = &answer {
                lock(&landing.state).refuse(landing.hash, why.clone(), Instant::now() + INACTIVE);
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
            untyped: false,
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
        let network = |number: u8| Some(IpAddr::from([10, 0, 0, number]));
        let wait = |from, number: usize| {
            introspections.flight(TokenHash::of(&number.to_be_bytes()), network(from), std::future::pending())
        };
        let mut flights: Vec<_> = (0..MOST_WAITING_OF_NETWORK).map(|number| wait(1, number)).collect();
        assert!(flights.iter().all(Result::is_ok));
        assert!(matches!(wait(1, MOST_WAITING), Err(Refusal::Unavailable(_))), "its share");
        assert!(wait(1, 0).is_ok(), "one that is asked about already");
        flights.extend((MOST_WAITING_OF_NETWORK..MOST_WAITING).map(|number| wait(2, number)));
        assert!(flights.iter().all(Result::is_ok));
        assert!(matches!(wait(3, MOST_WAITING), Err(Refusal::Unavailable(_))), "all");
    }

    /// Answers that never come of one network leave room for those of another.
    #[tokio::test]
    async fn one_network_does_not_take_all_of_a_slow_issuer() {
        let introspections = Introspections::new();
        let [garbage, other] = [1, 2].map(|number| Some(IpAddr::from([10, 0, 0, number])));
        let begun = Arc::new(Semaphore::new(0));
        for number in 0..AT_ONCE {
            let begun = Arc::clone(&begun);
            let work = async move {
                begun.add_permits(1);
                std::future::pending().await
            };
            assert!(introspections.flight(TokenHash::of(&number.to_be_bytes()), garbage, work).is_ok());
        }
        let share = u32::try_from(AT_ONCE_OF_NETWORK).expect("a few");
        begun.acquire_many(share).await.expect("its share is at work").forget();
        let refused = async { Err(Refusal::invalid("no")) };
        let answer = introspections.once(TokenHash::of(b"another"), other, refused).await;
        assert!(matches!(answer, Err(Refusal::Invalid(_))), "it is asked about");
        assert_eq!(begun.available_permits(), 0, "and about no more of the first network");
        assert_eq!(lock(&introspections.state).shares.len(), 1, "of those that wait");
    }
}
