//! Issuers that are slow, broken, gone, or change their keys.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::crafted::{Signer, set, unix, with};
use super::server::{Reply, Server};
use crate::net::http::Http;
use crate::oauth::{IssuerSettings, OAuthSettings, Refusal, Verifier};

pub(super) const RESOURCE: &str = "https://wharf.example/mcp";
const METADATA: &str = "/.well-known/oauth-authorization-server";
const OPENID: &str = "/.well-known/openid-configuration";
const KEYS: &str = "/keys";

/// An issuer with metadata and keys.
pub(super) struct Issuer(pub(super) Server);

impl Issuer {
    pub(super) async fn start(keys: &str) -> Self {
        let issuer = Self(Server::start().await);
        let url = issuer.url();
        let metadata = json!({"issuer": url, "jwks_uri": format!("{url}{KEYS}"), "introspection_endpoint": format!("{url}/introspect")});
        issuer.0.reply(METADATA, Reply::json(metadata));
        issuer.0.reply(KEYS, Reply::json(keys));
        issuer
    }

    pub(super) fn url(&self) -> &str {
        &self.0.url
    }

    pub(super) fn claims(&self) -> Value {
        json!({"iss": self.url(), "aud": RESOURCE, "sub": "alice", "exp": unix(300), "iat": unix(0)})
    }

    pub(super) fn verifier(&self) -> Arc<Verifier> {
        self.verifier_with(|_| {})
    }

    pub(super) fn verifier_with(&self, change: impl FnOnce(&mut IssuerSettings)) -> Arc<Verifier> {
        let mut settings = IssuerSettings::new(self.url());
        change(&mut settings);
        verifier(vec![settings])
    }

    pub(super) fn key_fetches(&self) -> usize {
        self.0.count(KEYS)
    }
}

pub(super) fn verifier(issuers: Vec<IssuerSettings>) -> Arc<Verifier> {
    Verifier::with(OAuthSettings { resource: RESOURCE.to_owned(), issuers }, Http::direct())
}

/// When an unknown key may cause a fetch again.
const LATER: Duration = Duration::from_secs(30);

/// Waits for something that the verifier does by itself.
async fn until(done: impl Fn() -> bool) {
    let wait = async {
        while !done() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_mins(1), wait).await.expect("it is done");
}

#[tokio::test]
async fn nothing_is_fetched_for_tokens_of_others() {
    let signer = Signer::ed25519("k");
    let issuer = Issuer::start(&set(&[&signer])).await;
    let verifier = issuer.verifier();
    for claims in [
        with(issuer.claims(), json!({"iss": "http://127.0.0.1:1"})),
        with(issuer.claims(), json!({"exp": unix(-100)})),
        with(issuer.claims(), json!({"aud": "other"})),
    ] {
        assert!(matches!(verifier.verify(signer.token(&claims).as_bytes()).await, Err(Refusal::Invalid(_))));
    }
    assert_eq!(issuer.0.count(METADATA) + issuer.key_fetches(), 0);
}

#[tokio::test]
async fn metadata_is_found_in_each_place() {
    let signer = Signer::ed25519("k");
    for (path, place) in [
        ("", METADATA.to_owned()),
        ("", OPENID.to_owned()),
        ("/realms/a", format!("{METADATA}/realms/a")),
        ("/realms/a", format!("{OPENID}/realms/a")),
        ("/realms/a", format!("/realms/a{OPENID}")),
    ] {
        let server = Server::start().await;
        let url = format!("{}{path}", server.url);
        let metadata = json!({"issuer": url, "jwks_uri": format!("{}{KEYS}", server.url), "x": 1});
        server.reply(&place, Reply::json(&metadata));
        server.reply(KEYS, Reply::json(set(&[&signer])));
        let verifier = verifier(vec![IssuerSettings::new(&*url)]);
        let claims = json!({"iss": url, "aud": RESOURCE, "sub": "a", "exp": unix(60)});
        assert!(verifier.verify(signer.token(&claims).as_bytes()).await.is_ok(), "{place}");
        let document = verifier.authorization_server_metadata().await.expect("metadata");
        assert_eq!(document, metadata.to_string(), "unchanged");
        assert_eq!(server.count(&place), 1, "once");
    }
}

#[tokio::test]
async fn answers_that_are_no_keys_are_failures() {
    let signer = Signer::ed25519("k");
    let set = set(&[&signer]);
    let half = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{}", set.len(), &set[..set.len() / 2]);
    let huge =
        |length: String| [format!("HTTP/1.1 200 OK\r\n{length}\r\n{set}").into_bytes(), vec![b' '; 10 << 20]].concat();
    for (what, path, reply) in [
        ("silence", KEYS, Reply::Silence),
        ("silence about the metadata", METADATA, Reply::Silence),
        ("half a set", KEYS, Reply::Raw(half.into_bytes())),
        ("half a head", KEYS, Reply::Raw(b"HTTP/1.1 200 OK\r\ncont".to_vec())),
        ("10 MiB", KEYS, Reply::Raw(huge(format!("content-length: {}\r\n", set.len() + (10 << 20))))),
        ("10 MiB without length", KEYS, Reply::Raw(huge("connection: close\r\n".to_owned()))),
        ("a redirect", KEYS, Reply::Status(302, "location: /elsewhere\r\n".to_owned())),
        ("a redirect of the metadata", METADATA, Reply::Status(301, "location: /elsewhere\r\n".to_owned())),
        ("an error", KEYS, Reply::Status(500, String::new())),
        ("no keys", KEYS, Reply::json(r#"{"keys": []}"#)),
        ("a page", KEYS, Reply::json("<html>")),
        (
            "the metadata of another issuer",
            METADATA,
            Reply::json(json!({"issuer": "https://other.example", "jwks_uri": "https://other.example"})),
        ),
        ("metadata without keys", METADATA, Reply::json("{}")),
        (
            "metadata that leads into the network",
            METADATA,
            Reply::json(json!({"issuer": "URL", "jwks_uri": "https://10.0.0.1/keys"})),
        ),
    ] {
        let issuer = Issuer::start(&set).await;
        issuer.0.reply("/elsewhere", Reply::json(&set));
        let reply = match reply {
            Reply::Json(text, fields) => Reply::Json(text.replace("URL", issuer.url()), fields),
            reply => reply,
        };
        issuer.0.reply(path, reply);
        let verifier = issuer.verifier();
        let token = signer.token(&issuer.claims());
        let refusal = verifier.verify(token.as_bytes()).await.err();
        assert!(matches!(refusal, Some(Refusal::Unavailable(_))), "{what}: {refusal:?}");
        let [status] = &verifier.status()[..] else { panic!("one issuer") };
        assert!(!status.ready && status.error.is_some() && status.keys == 0, "{what}: {status:?}");
        assert_eq!(issuer.0.count("/elsewhere"), 0, "{what}");
    }
}

#[tokio::test]
async fn the_server_starts_without_its_issuer_and_finds_it_later() {
    let signer = Signer::ed25519("k");
    let issuer = Issuer::start(&set(&[&signer])).await;
    issuer.0.reply(KEYS, Reply::Status(503, String::new()));
    let verifier = issuer.verifier();
    assert!(!verifier.status()[0].ready);
    let token = signer.token(&issuer.claims());
    for _ in 0..10 {
        let refusal = verifier.verify(token.as_bytes()).await.err();
        assert!(matches!(refusal, Some(Refusal::Unavailable(_))), "{refusal:?}");
    }
    assert_eq!(issuer.key_fetches(), 1, "no attempt for each request");
    issuer.0.reply(KEYS, Reply::json(set(&[&signer])));
    // Without any request, a second after the failure.
    let running = Arc::clone(&verifier);
    let run = tokio::spawn(async move { running.run().await });
    until(|| verifier.status()[0].ready).await;
    run.abort();
    assert!(verifier.verify(token.as_bytes()).await.is_ok());
    let status = &verifier.status()[0];
    assert_eq!((status.keys, status.error.as_deref()), (1, None));
    assert!(status.age.is_some());
}

#[tokio::test]
async fn random_key_names_cause_one_fetch() {
    let signer = Signer::ed25519("k");
    let issuer = Issuer::start(&set(&[&signer])).await;
    let verifier = issuer.verifier();
    assert!(verifier.verify(signer.token(&issuer.claims()).as_bytes()).await.is_ok());
    assert_eq!(issuer.key_fetches(), 1);
    verifier.later(LATER);
    let claims = issuer.claims().to_string();
    let unknown = |number: usize| signer.sign(&json!({"alg": "EdDSA", "kid": number.to_string()}).to_string(), &claims);
    let refused = async |token: String| {
        let refusal = verifier.verify(token.as_bytes()).await.err();
        assert!(matches!(refusal, Some(Refusal::Invalid(_))), "{refusal:?}");
    };
    // At once, and one after the other.
    futures_util::future::join_all((0..500).map(|number| refused(unknown(number)))).await;
    for number in 500..1000 {
        refused(unknown(number)).await;
    }
    assert_eq!(issuer.key_fetches(), 2);
    assert_eq!(issuer.0.count(METADATA), 1);
}

#[tokio::test]
async fn keys_are_fetched_once_for_all_that_wait() {
    let signer = Signer::ed25519("k");
    let issuer = Issuer::start(&set(&[&signer])).await;
    let verifier = issuer.verifier();
    let tokens = (0..100).map(|number| signer.token(&with(issuer.claims(), json!({"jti": number}))));
    let results = tokens.map(|token| {
        let verifier = Arc::clone(&verifier);
        async move { verifier.verify(token.as_bytes()).await.is_ok() }
    });
    assert!(futures_util::future::join_all(results).await.into_iter().all(|accepted| accepted));
    assert_eq!(issuer.key_fetches(), 1);
}

#[tokio::test]
async fn a_client_that_leaves_ends_no_fetch() {
    let signer = Signer::ed25519("k");
    let issuer = Issuer::start(&set(&[&signer])).await;
    let verifier = issuer.verifier();
    let token = signer.token(&issuer.claims());
    // Polled once, so that the fetch has begun.
    {
        let mut waits = Box::pin(verifier.verify(token.as_bytes()));
        assert!(futures_util::poll!(&mut waits).is_pending());
    }
    assert!(verifier.verify(token.as_bytes()).await.is_ok());
    assert_eq!(issuer.key_fetches(), 1);
}

#[tokio::test]
async fn keys_are_rotated_without_a_failed_request() {
    let (old, new) = (Signer::ed25519("old"), Signer::p256("new"));
    let issuer = Issuer::start(&set(&[&old])).await;
    let verifier = issuer.verifier();
    let before = old.token(&issuer.claims());
    assert!(verifier.verify(before.as_bytes()).await.is_ok());
    verifier.later(LATER);
    issuer.0.reply(KEYS, Reply::json(set(&[&old, &new])));
    let after = new.token(&issuer.claims());
    assert!(verifier.verify(after.as_bytes()).await.is_ok());
    assert!(verifier.cached(before.as_bytes()).is_some(), "its key is still there");
    assert!(verifier.verify(old.token(&with(issuer.claims(), json!({"jti": 2}))).as_bytes()).await.is_ok());
    assert_eq!(issuer.key_fetches(), 2);
    // The old key is taken away: also from what was verified with it.
    verifier.later(LATER);
    issuer.0.reply(KEYS, Reply::json(set(&[&new])));
    let unknown = Signer::ed25519("unknown").token(&issuer.claims());
    assert!(verifier.verify(unknown.as_bytes()).await.is_err());
    assert!(verifier.cached(before.as_bytes()).is_none());
    assert!(matches!(verifier.verify(before.as_bytes()).await, Err(Refusal::Invalid(_))));
    assert!(verifier.cached(after.as_bytes()).is_some());
}

#[tokio::test]
async fn the_last_keys_are_kept_for_the_time_that_is_set() {
    let signer = Signer::ed25519("k");
    let issuer = Issuer::start(&set(&[&signer])).await;
    let keep = Duration::from_hours(2);
    let verifier = issuer.verifier_with(|settings| settings.keep_keys = keep);
    let first = signer.token(&issuer.claims());
    assert!(verifier.verify(first.as_bytes()).await.is_ok());
    for reply in [Reply::Status(500, String::new()), Reply::json(r#"{"keys": []}"#), Reply::json("")] {
        issuer.0.reply(KEYS, reply);
        verifier.later(LATER);
        let refusal = verifier.verify(Signer::ed25519("new").token(&issuer.claims()).as_bytes()).await.err();
        assert!(matches!(refusal, Some(Refusal::Unavailable(_))), "it may have that key: {refusal:?}");
        let other = signer.token(&with(issuer.claims(), json!({"jti": unix(0)})));
        assert!(verifier.verify(other.as_bytes()).await.is_ok());
        assert!(verifier.status()[0].ready && verifier.status()[0].error.is_some());
    }
    // The fifteen minutes of keys that are not said to hold longer.
    verifier.later(keep + Duration::from_mins(15));
    let other = signer.token(&with(issuer.claims(), json!({"jti": 9})));
    assert!(matches!(verifier.verify(other.as_bytes()).await, Err(Refusal::Unavailable(_))));
    assert!(verifier.cached(first.as_bytes()).is_none(), "neither is what was verified with them");
    assert!(!verifier.status()[0].ready);
}

#[tokio::test]
async fn keys_are_fetched_again_before_they_are_too_old() {
    let signer = Signer::ed25519("k");
    let issuer = Issuer::start(&set(&[&signer])).await;
    issuer.0.reply(KEYS, Reply::Json(set(&[&signer]), "cache-control: public, max-age=1000\r\n"));
    let verifier = issuer.verifier();
    assert!(verifier.verify(signer.token(&issuer.claims()).as_bytes()).await.is_ok());
    verifier.later(Duration::from_secs(750));
    let running = Arc::clone(&verifier);
    let run = tokio::spawn(async move { running.run().await });
    until(|| issuer.key_fetches() == 2).await;
    run.abort();
}

#[tokio::test]
async fn several_issuers_are_independent() {
    let (one, other) = (Signer::ed25519("k"), Signer::ed25519("k"));
    let (first, second) = (Issuer::start(&set(&[&one])).await, Issuer::start(&set(&[&other])).await);
    second.0.reply(METADATA, Reply::Status(500, String::new()));
    let mut by_keys = IssuerSettings::new(second.url());
    by_keys.jwks_uri = Some(format!("{}{KEYS}", second.url()));
    by_keys.audiences = vec!["second".to_owned()];
    let verifier = verifier(vec![IssuerSettings::new(first.url()), by_keys]);
    assert!(verifier.verify(one.token(&first.claims()).as_bytes()).await.is_ok());
    assert!(verifier.verify(other.token(&second.claims()).as_bytes()).await.is_ok(), "needs no metadata");
    for token in [
        one.token(&second.claims()),
        other.token(&first.claims()),
        one.token(&with(first.claims(), json!({"aud": "second"}))),
    ] {
        assert!(matches!(verifier.verify(token.as_bytes()).await, Err(Refusal::Invalid(_))));
    }
    assert!(verifier.authorization_server_metadata().await.is_none(), "of which?");
}

/// As some issuers name theirs while they rotate them.
#[tokio::test]
async fn keys_of_one_name_are_told_by_the_signature() {
    let signers = [Signer::ed25519("k"), Signer::ed25519("k"), Signer::ed25519("k")];
    let issuer = Issuer::start(&set(&[&signers[0], &signers[1]])).await;
    let verifier = issuer.verifier();
    let [first, second, third] = signers.map(|signer| signer.token(&issuer.claims()));
    assert!(verifier.verify(first.as_bytes()).await.is_ok());
    assert!(verifier.verify(second.as_bytes()).await.is_ok());
    assert!(matches!(verifier.verify(third.as_bytes()).await, Err(Refusal::Invalid(_))));
}
