//! Tokens that only their issuer can read.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::crafted::{Signer, set, unix, with};
use super::issuers::{Issuer, RESOURCE, verifier};
use super::server::Reply;
use crate::oauth::{IntrospectionSettings, IssuerSettings, Refusal, Verifier};

const INTROSPECT: &str = "/introspect";

fn settings(issuer: &Issuer) -> IssuerSettings {
    let mut settings = IssuerSettings::new(issuer.url());
    settings.introspection = Some(IntrospectionSettings {
        endpoint: None,
        client_id: "wharf".to_owned(),
        client_secret: "s3".to_owned(),
        untyped: false,
    });
    settings
}

async fn start() -> (Issuer, Arc<Verifier>) {
    let issuer = Issuer::start(&set(&[&Signer::ed25519("k")])).await;
    let verifier = verifier(vec![settings(&issuer)]);
    (issuer, verifier)
}

fn answer(issuer: &Issuer, members: &Value) {
    issuer.0.reply(INTROSPECT, Reply::json(members));
}

#[tokio::test]
async fn the_issuer_is_asked_once_and_its_answer_is_kept() {
    let (issuer, verifier) = start().await;
    answer(
        &issuer,
        &json!({"active": true, "sub": "alice", "token_type": "bearer", "scope": "a b", "client_id": "c", "exp": unix(3600)}),
    );
    let asked = (0..50).map(|_| verifier.verify(b"opaque+token/=="));
    let verified = futures_util::future::join_all(asked).await;
    for verified in verified {
        let verified = verified.expect("an active token");
        assert_eq!(**verified.identity.name(), format!("{}#alice", issuer.url()));
        assert!(verified.identity.has_scope("a") && verified.identity.has_scope("b"));
        let left = verified.expires.saturating_duration_since(std::time::Instant::now()).as_secs();
        assert!((3600..=3661).contains(&left), "as long as the token holds: {left}");
    }
    let known_after = |seconds| verifier.cached_after(b"opaque+token/==", Duration::from_secs(seconds)).is_some();
    assert!(known_after(0) && known_after(50) && !known_after(60), "it may be revoked meanwhile");
    let [request] = &issuer.0.requests(INTROSPECT)[..] else { panic!("one request") };
    assert!(request.starts_with("POST /introspect "), "{request}");
    assert!(request.contains("Basic d2hhcmY6czM=\r\n"), "{request}");
    assert!(request.ends_with("\r\n\r\ntoken=opaque%2Btoken%2F%3D%3D&token_type_hint=access_token"), "{request}");
    assert!(verifier.verify(b"another").await.is_ok());
    assert_eq!(issuer.0.count(INTROSPECT), 2);
}

#[tokio::test]
async fn an_answer_is_checked_as_claims_are() {
    let (issuer, verifier) = start().await;
    let active = json!({"active": true, "sub": "alice", "token_type": "Bearer"});
    for (number, (what, other, accepted)) in [
        ("without anything else", json!({}), true),
        ("of this issuer", json!({"iss": issuer.url()}), true),
        ("of another issuer", json!({"iss": "https://other.example"}), false),
        ("for this server", json!({"aud": RESOURCE}), true),
        ("for another server", json!({"aud": "https://other.example"}), false),
        ("expired", json!({"exp": unix(-100)}), false),
        ("bound to a key", json!({"cnf": {}}), false),
        ("an access token by its use", json!({"token_type": null, "token_use": "access_token"}), true),
        ("an access token by its claim", json!({"token_type": null, "typ": "Bearer"}), true),
        ("a token of any kind", json!({"token_type": null}), false),
        ("a refresh token", json!({"token_type": "refresh_token"}), false),
        ("a refresh token by its use", json!({"token_use": "refresh_token"}), false),
        ("a refresh token by its claim", json!({"typ": "Refresh"}), false),
        ("without subject", json!({"sub": null}), false),
        ("not active", json!({"active": false}), false),
    ]
    .into_iter()
    .enumerate()
    {
        answer(&issuer, &with(active.clone(), other));
        let token = format!("opaque-{number}");
        let result = verifier.verify(token.as_bytes()).await;
        assert_eq!(result.is_ok(), accepted, "{what}");
        if !accepted {
            assert!(matches!(result, Err(Refusal::Invalid(_))), "{what}");
            let before = issuer.0.count(INTROSPECT);
            assert!(verifier.verify(token.as_bytes()).await.is_err(), "{what}");
            assert_eq!(issuer.0.count(INTROSPECT), before, "{what}: not asked again at once");
        }
    }
}

/// Some issuers say the type of access tokens alone, and some of none.
#[tokio::test]
async fn answers_without_a_type_are_accepted_if_that_is_configured() {
    let (issuer, strict) = start().await;
    let mut settings = settings(&issuer);
    settings.introspection.as_mut().expect("settings").untyped = true;
    let lenient = verifier(vec![settings]);
    answer(&issuer, &json!({"active": true, "sub": "alice"}));
    assert!(matches!(strict.verify(b"opaque").await, Err(Refusal::Invalid(_))));
    assert!(lenient.verify(b"opaque").await.is_ok());
    answer(&issuer, &json!({"active": true, "sub": "alice", "typ": "Refresh"}));
    assert!(matches!(lenient.verify(b"another").await, Err(Refusal::Invalid(_))));
}

#[tokio::test]
async fn answers_that_are_none_say_nothing_of_the_token() {
    let (issuer, verifier) = start().await;
    for (number, reply) in [
        Reply::Status(401, String::new()),
        Reply::Status(302, "location: /\r\n".to_owned()),
        Reply::json("{}"),
        Reply::json(r#"{"active": "true", "sub": "a"}"#),
        Reply::json(r#"{"active": false, "active": true, "sub": "a"}"#),
        Reply::json("[]"),
        Reply::json(format!(r#"{{"active": true, "sub": "{}"}}"#, "a".repeat(64 << 10))),
        Reply::Silence,
    ]
    .into_iter()
    .enumerate()
    {
        issuer.0.reply(INTROSPECT, reply);
        let token = format!("opaque-{number}");
        let refusal = verifier.verify(token.as_bytes()).await.err();
        let Some(Refusal::Unavailable(why)) = refusal else { panic!("{number}: {refusal:?}") };
        assert!(!why.contains("opaque"), "{why}");
        // It is asked again when the issuer is there.
        answer(&issuer, &json!({"active": true, "sub": "alice", "token_type": "Bearer"}));
        assert!(verifier.verify(token.as_bytes()).await.is_ok(), "{number}");
    }
}

#[tokio::test]
async fn nobody_is_asked_about_what_looks_like_a_jwt() {
    let (issuer, verifier) = start().await;
    answer(&issuer, &json!({"active": true, "sub": "mallory", "token_type": "Bearer"}));
    let forged = Signer::ed25519("k").token(&issuer.claims());
    assert!(verifier.verify(forged.as_bytes()).await.is_err());
    assert!(verifier.verify(b"a.b.c").await.is_err());
    assert_eq!(issuer.0.count(INTROSPECT), 0);
    // And without introspection about nothing.
    let refusal = issuer.verifier().verify(b"opaque").await.err();
    assert!(matches!(refusal, Some(Refusal::Invalid(_))), "{refusal:?}");
}

#[tokio::test]
async fn each_issuer_that_answers_is_asked() {
    let ((first, _), (second, _)) = (start().await, start().await);
    let both = verifier(vec![settings(&first), settings(&second)]);
    answer(&first, &json!({"active": false}));
    answer(&second, &json!({"active": true, "sub": "bob", "token_type": "Bearer"}));
    let verified = both.verify(b"one").await.expect("an active token");
    assert_eq!(**verified.identity.name(), format!("{}#bob", second.url()));
    // The token may be of the one that does not answer.
    first.0.reply(INTROSPECT, Reply::Status(500, String::new()));
    answer(&second, &json!({"active": false}));
    assert!(matches!(both.verify(b"two").await, Err(Refusal::Unavailable(_))));
}
