//! Tokens that are accepted, and all that must not be.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE;
use ring::hmac;
use serde_json::{Value, json};

use super::crafted::{Signer, code, set, unix, with};
use super::issuers::{Issuer, RESOURCE};
use crate::oauth::{Refusal, Verifier};

fn invalid(why: &str) -> Refusal {
    Refusal::Invalid(why.to_owned())
}

/// Verifies a token, which must be refused, and says why.
async fn refused(verifier: &Verifier, token: &str, what: &str) -> String {
    let refusal = verifier.verify(token.as_bytes()).await.err();
    let Some(Refusal::Invalid(why)) = refusal else { panic!("{what}: {refusal:?}") };
    assert!(verifier.cached(token.as_bytes()).is_none(), "{what}");
    // No part of the token, neither coded nor decoded.
    assert!(why.bytes().all(|byte| (b' '..=b'~').contains(&byte) && byte != b'"' && byte != b'\\'), "{what}: {why}");
    assert!(!why.contains("secret"), "{what}: {why}");
    why
}

#[tokio::test]
async fn tokens_of_each_algorithm_are_accepted() {
    for signer in [
        Signer::rsa("k", "RS256"),
        Signer::rsa("k", "RS384"),
        Signer::rsa("k", "RS512"),
        Signer::rsa("k", "PS256"),
        Signer::rsa("k", "PS384"),
        Signer::rsa("k", "PS512"),
        Signer::p256("k"),
        Signer::p384("k"),
        Signer::ed25519("k"),
    ] {
        let issuer = Issuer::start(&set(&[&signer])).await;
        let (verifier, claims) = (issuer.verifier(), issuer.claims());
        let token = signer.token(&claims);
        let verified = verifier.verify(token.as_bytes()).await.expect("a good token");
        assert_eq!(**verified.identity.name(), format!("{}#alice", issuer.url()));
        assert!(verifier.cached(token.as_bytes()).is_some());
        // Another signature of the same kind.
        let (message, signature) = token.rsplit_once('.').expect("a token");
        let turned: String = signature.chars().rev().collect();
        let forged = format!("{message}.{turned}");
        let why = verifier.verify(forged.as_bytes()).await.expect_err("a forged token");
        assert!(matches!(why, Refusal::Invalid(_)), "{why}");
        // Other claims under the same signature.
        let (header, signature) = (token.split('.').next().expect("a header"), signature);
        let other = code(with(claims, json!({"sub": "mallory"})).to_string());
        let why = refused(&verifier, &format!("{header}.{other}.{signature}"), "other claims").await;
        assert_eq!(why, "the signature of the token is wrong");
    }
}

#[tokio::test]
async fn headers_are_strict() {
    let signer = Signer::rsa("k", "RS256");
    let issuer = Issuer::start(&set(&[&signer])).await;
    let (verifier, claims) = (issuer.verifier(), issuer.claims().to_string());
    for kind in [json!("JWT"), json!("jwt"), json!("AT+JWT"), json!("application/at+jwt"), Value::Null] {
        let token = signer.sign(&with(signer.header(), json!({"typ": kind})).to_string(), &claims);
        assert!(verifier.verify(token.as_bytes()).await.is_ok(), "{kind}");
    }
    // Where a key comes from is not for the token to say.
    let mallory = Signer::ed25519("k");
    let sources =
        json!({"jku": "http://127.0.0.1:1/", "x5u": "http://127.0.0.1:1/", "x5c": ["AA=="], "jwk": mallory.bare()});
    let token = signer.sign(&with(signer.header(), sources.clone()).to_string(), &claims);
    assert!(verifier.verify(token.as_bytes()).await.is_ok(), "they are ignored");
    let token = mallory.sign(&with(mallory.header(), sources).to_string(), &claims);
    refused(&verifier, &token, "a key of its own").await;

    for (what, other) in [
        ("alg none", json!({"alg": "none"})),
        ("alg None", json!({"alg": "None"})),
        ("a shared secret", json!({"alg": "HS256"})),
        ("a hash that is not used", json!({"alg": "ES512"})),
        ("an algorithm in other case", json!({"alg": "rs256"})),
        ("no algorithm", json!({"alg": null})),
        ("several algorithms", json!({"alg": ["RS256"]})),
        ("an ID-JAG", json!({"typ": "oauth-id-jag+jwt"})),
        ("a proof", json!({"typ": "dpop+jwt"})),
        ("a logout token", json!({"typ": "logout+jwt"})),
        ("a type that is no text", json!({"typ": 1})),
        ("critical extensions", json!({"crit": ["exp"]})),
        ("no critical extensions", json!({"crit": []})),
        ("the name of a key that is no text", json!({"kid": 1})),
        ("an algorithm of another type of key", json!({"alg": "ES256"})),
    ] {
        let token = signer.sign(&with(signer.header(), other).to_string(), &claims);
        refused(&verifier, &token, what).await;
    }
    // The public key, as text, is the secret.
    let message = format!("{}.{}", code(json!({"alg": "HS256", "kid": "k"}).to_string()), code(&claims));
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, signer.jwk().as_bytes()), message.as_bytes());
    refused(&verifier, &format!("{message}.{}", code(tag)), "key confusion").await;
    let message = format!("{}.{}", code(json!({"alg": "none"}).to_string()), code(&claims));
    refused(&verifier, &format!("{message}."), "unsigned").await;
    assert_eq!(issuer.key_fetches(), 1, "nothing is fetched for them");
}

#[tokio::test]
async fn texts_are_strict() {
    let signer = Signer::ed25519("k");
    let issuer = Issuer::start(&set(&[&signer])).await;
    let (verifier, header, claims) = (issuer.verifier(), signer.header().to_string(), issuer.claims().to_string());
    let token = signer.sign(&header, &claims);
    let parts: Vec<&str> = token.split('.').collect();
    let doubled = claims.replacen('{', r#"{"sub": "mallory", "#, 1);
    let deep =
        |depth: usize| claims.replacen('{', &format!(r#"{{"x": {}{}, "#, "[".repeat(depth), "]".repeat(depth)), 1);
    assert!(verifier.verify(signer.sign(&header, &deep(31)).as_bytes()).await.is_ok(), "as deep as it may be");
    for (what, text) in [
        ("nothing", String::new()),
        ("dots", "..".to_owned()),
        ("two parts", parts[..2].join(".")),
        ("four parts", format!("{token}.{}", parts[2])),
        ("five parts", format!("{token}.{}.{}", parts[2], parts[2])),
        ("a line break at the end", format!("{token}\n")),
        ("a line break in a part", format!("{}.{}\r\n.{}", parts[0], parts[1], parts[2])),
        ("a space", format!(" {token}")),
        ("padding", format!("{}.{}.{}", URL_SAFE.encode(format!("{header} ")), parts[1], parts[2])),
        ("padding of the signature", format!("{token}==")),
        ("the other alphabet", format!("{}.{}.+/{}", parts[0], parts[1], &parts[2][2..])),
        ("bits after the end", format!("{}.{}.{}B", parts[0], parts[1], &parts[2][..85])),
        ("half a header", signer.sign(&header[1..], &claims)),
        ("an array as header", signer.sign("[]", &claims)),
        ("an array as claims", signer.sign(&header, "[]")),
        ("two subjects", signer.sign(&header, &doubled)),
        ("two algorithms", signer.sign(&header.replacen('{', r#"{"alg": "none", "#, 1), &claims)),
        ("text after the claims", signer.sign(&header, &format!("{claims}{{}}"))),
        (
            "a reserved name",
            signer.sign(&header, &claims.replacen('{', r#"{"$serde_json::private::Number": "1", "#, 1)),
        ),
        ("a bomb", signer.sign(&header, &deep(32))),
        (
            "a bomb in the header",
            signer.sign(
                &header.replacen('{', &format!(r#"{{"x": {}{}, "#, "[".repeat(5000), "]".repeat(5000)), 1),
                &claims,
            ),
        ),
        ("100 kB", signer.sign(&header, &claims.replacen('{', &format!(r#"{{"x": "{}", "#, "a".repeat(75_000)), 1))),
        ("a secret", "secret".to_owned()),
    ] {
        refused(&verifier, &text, what).await;
    }
    let why = verifier.verify(b"\xff\xfe").await.expect_err("no text");
    assert_eq!(why, invalid("the token is no text"));
}

#[tokio::test]
async fn tokens_have_sixteen_kib_at_most() {
    let signer = Signer::ed25519("k");
    let issuer = Issuer::start(&set(&[&signer])).await;
    let (verifier, header) = (issuer.verifier(), signer.header().to_string());
    let most = crate::oauth::token::MAX_TOKEN;
    let padded =
        |length: usize| signer.sign(&header, &with(issuer.claims(), json!({"x": "a".repeat(length)})).to_string());
    // Three bytes of claims are four of the token.
    let rest = (most - padded(0).len()) * 3 / 4;
    let longest = (rest - 3..=rest + 3).map(padded).rfind(|token| token.len() <= most).expect("a token");
    assert!(longest.len() > most - 2);
    assert!(verifier.verify(longest.as_bytes()).await.is_ok());
    let longer = padded(rest + 4);
    assert!(longer.len() > most);
    assert_eq!(refused(&verifier, &longer, "longer").await, "the token has more than 16 KiB");
}

#[tokio::test]
async fn claims_are_those_of_an_access_token_for_this_server() {
    let signer = Signer::ed25519("k");
    let issuer = Issuer::start(&set(&[&signer])).await;
    let verifier = issuer.verifier_with(|settings| settings.audiences = vec!["api://wharf".to_owned()]);
    let url = issuer.url();
    for (what, other) in [
        ("as it is", json!({})),
        ("an audience of the configuration", json!({"aud": "api://wharf"})),
        ("one of several audiences", json!({"aud": ["https://other.example", RESOURCE]})),
        ("expired within the leeway", json!({"exp": unix(-55)})),
        ("a fraction of a second", json!({"exp": unix(60) as f64 + 0.5})),
        ("valid within the leeway", json!({"nbf": unix(55), "iat": unix(55)})),
        ("another claim typ", json!({"typ": "Bearer"})),
        ("a machine", json!({"sub": null, "client_id": "machine"})),
        ("a machine of an OpenID provider", json!({"sub": null, "azp": "machine"})),
        ("a long subject", json!({"sub": "s".repeat(255)})),
        ("an escaped subject", json!({"sub": "\u{202e}\n#"})),
    ] {
        let token = signer.token(&with(issuer.claims(), other));
        if let Err(why) = verifier.verify(token.as_bytes()).await {
            panic!("{what}: {why}");
        }
    }
    for (what, other, why) in [
        ("no issuer", json!({"iss": null}), "issuer"),
        ("another issuer", json!({"iss": "https://secret.example"}), "issuer"),
        ("a slash more", json!({"iss": format!("{url}/")}), "issuer"),
        ("the issuer in capitals", json!({"iss": url.to_uppercase()}), "issuer"),
        ("several issuers", json!({"iss": [url]}), "issuer"),
        ("no audience", json!({"aud": null}), "audience"),
        ("no audiences", json!({"aud": []}), "audience"),
        ("another server", json!({"aud": "https://secret.example/mcp"}), "audience"),
        ("the issuer as audience", json!({"aud": url}), "audience"),
        ("the client as audience", json!({"aud": "client", "azp": "client"}), "audience"),
        ("a slash at the end", json!({"aud": format!("{RESOURCE}/")}), "audience"),
        ("another path", json!({"aud": RESOURCE.replace("mcp", "MCP")}), "audience"),
        ("a port", json!({"aud": RESOURCE.replace(".example", ".example:443")}), "audience"),
        ("a part of the name", json!({"aud": "api://wharf2"}), "audience"),
        ("both in one text", json!({"aud": format!("{RESOURCE} api://wharf")}), "audience"),
        ("audiences that are no texts", json!({"aud": [1, RESOURCE]}), "audience"),
        ("an object as audience", json!({"aud": {RESOURCE: true}}), "audience"),
        ("no end", json!({"exp": null}), "exp"),
        ("expired", json!({"exp": unix(-61)}), "expired"),
        ("an end as text", json!({"exp": unix(60).to_string()}), "exp"),
        ("an end in milliseconds", json!({"exp": unix(60) * 1000 * 1000}), "exp"),
        ("a huge end", json!({"exp": 1e308}), "exp"),
        ("a negative end", json!({"exp": -1}), "exp"),
        ("a beginning in the future", json!({"nbf": unix(66)}), "nbf"),
        ("a beginning as text", json!({"nbf": "0"}), "nbf"),
        ("issued in the future", json!({"iat": unix(66)}), "iat"),
        ("an ID token", json!({"nonce": "secret"}), "no access token"),
        ("an ID token with a hash", json!({"at_hash": "secret"}), "no access token"),
        ("an ID token with a hash of the code", json!({"c_hash": "secret"}), "no access token"),
        ("a notice of a logout", json!({"events": {}}), "no access token"),
        ("an ID token by its claim", json!({"typ": "ID"}), "no access token"),
        ("a refresh token by its claim", json!({"typ": "Refresh"}), "no access token"),
        ("an ID token by its use", json!({"token_use": "id"}), "no access token"),
        ("bound to a key", json!({"cnf": {"jkt": "secret"}}), "bound"),
        ("no subject", json!({"sub": null}), "subject"),
        ("an empty subject", json!({"sub": ""}), "subject"),
        ("a number as subject", json!({"sub": 1}), "sub"),
        ("a longer subject", json!({"sub": "s".repeat(256)}), "subject"),
        ("a number as client", json!({"client_id": 1}), "client_id"),
    ] {
        let token = signer.token(&with(issuer.claims(), other));
        let said = refused(&verifier, &token, what).await;
        assert!(said.contains(why), "{what}: {said}");
    }
}

#[tokio::test]
async fn what_a_token_grants_is_read_from_its_claims() {
    let signer = Signer::ed25519("k");
    let issuer = Issuer::start(&set(&[&signer])).await;
    let verifier = issuer.verifier_with(|settings| {
        settings.scope_claim = Some("https://wharf.example/scopes".to_owned());
        settings.groups_claim = "realm_access.roles".to_owned();
    });
    let claims = json!({
        "scope": "a  b",
        "scp": ["b", "c d"],
        "https://wharf.example/scopes": "e f",
        "realm_access": {"roles": ["admin", "g h"]},
        "azp": "client",
    });
    let token = signer.token(&with(issuer.claims(), claims));
    let verified = verifier.verify(token.as_bytes()).await.expect("a good token");
    let grant = verified.identity.grant.as_ref().expect("a grant");
    assert_eq!(*grant.issuer, *issuer.url());
    assert_eq!((&*grant.subject, grant.client.as_deref()), ("alice", Some("client")));
    assert_eq!(grant.scopes.iter().map(|scope| &**scope).collect::<Vec<_>>(), ["a", "b", "c d", "e", "f"]);
    assert_eq!(grant.groups.iter().map(|group| &**group).collect::<Vec<_>>(), ["admin", "g h"]);
    assert_eq!(grant.claims.at("realm_access.roles").expect("it is there")[0], "admin");
    let left = verified.expires.saturating_duration_since(std::time::Instant::now()).as_secs();
    assert!((355..=361).contains(&left), "five minutes and the leeway: {left}");

    let groups = |groups: &Value| signer.token(&with(issuer.claims(), json!({"realm_access": {"roles": groups}})));
    let many = |number: usize| vec!["g"; number];
    for (what, token, accepted) in [
        ("512 groups", groups(&json!(many(512))), true),
        ("513 groups", groups(&json!(many(513))), false),
        ("a group of 256 bytes", groups(&json!(["g".repeat(256)])), true),
        ("a group of 257 bytes", groups(&json!(["g".repeat(257)])), false),
        ("one group as text", groups(&json!("a b")), true),
        ("no group", groups(&Value::Null), true),
        ("a group that is no text", groups(&json!([1])), false),
        (
            "256 scopes",
            signer.token(&with(
                issuer.claims(),
                json!({"scope": (0..256).map(|n| n.to_string()).collect::<Vec<_>>().join(" ")}),
            )),
            true,
        ),
        (
            "257 scopes",
            signer.token(&with(
                issuer.claims(),
                json!({"scope": (0..257).map(|n| n.to_string()).collect::<Vec<_>>().join(" ")}),
            )),
            false,
        ),
        (
            "257 scopes in two claims",
            signer.token(&with(
                issuer.claims(),
                json!({"scope": "x y", "scp": (0..255).map(|n| n.to_string()).collect::<Vec<_>>()}),
            )),
            false,
        ),
        ("a scope of 257 bytes", signer.token(&with(issuer.claims(), json!({"scp": ["s".repeat(257)]}))), false),
        ("a number as scope", signer.token(&with(issuer.claims(), json!({"scope": 1}))), false),
    ] {
        assert_eq!(verifier.verify(token.as_bytes()).await.is_ok(), accepted, "{what}");
    }
}

#[tokio::test]
async fn a_chosen_subject_claim_has_no_stand_in() {
    let signer = Signer::ed25519("k");
    let issuer = Issuer::start(&set(&[&signer])).await;
    let verifier = issuer.verifier_with(|settings| settings.subject_claim = "email".to_owned());
    let token = signer.token(&with(issuer.claims(), json!({"email": "a@b.example"})));
    let verified = verifier.verify(token.as_bytes()).await.expect("a good token");
    assert!(verified.identity.name().ends_with("#a@b.example"));
    let token = signer.token(&with(issuer.claims(), json!({"client_id": "a@b.example"})));
    refused(&verifier, &token, "without that claim").await;
}

/// Who can choose the ID of a client is no user of that name.
#[tokio::test]
async fn a_machine_is_not_the_user_of_its_name() {
    let signer = Signer::ed25519("k");
    let issuer = Issuer::start(&set(&[&signer])).await;
    let verifier = issuer.verifier();
    for (claims, end) in [
        (json!({"sub": "alice"}), "#alice"),
        (json!({"sub": null, "client_id": "alice"}), "#client:alice"),
        (json!({"sub": null, "azp": "alice"}), "#client:alice"),
    ] {
        let token = signer.token(&with(issuer.claims(), claims));
        let verified = verifier.verify(token.as_bytes()).await.expect("a good token");
        assert!(verified.identity.name().ends_with(end), "{}", verified.identity.name());
    }
}

#[tokio::test]
async fn tokens_are_shown_nowhere() {
    let signer = Signer::ed25519("k");
    let issuer = Issuer::start(&set(&[&signer])).await;
    let verifier = issuer.verifier();
    let text = signer.token(&with(issuer.claims(), json!({"mail": "secret"})));
    let verified = verifier.verify(text.as_bytes()).await.expect("a good token");
    let token = crate::oauth::token::Token::parse(&text).expect("a token");
    for shown in
        [format!("{verified:?}"), format!("{verifier:?}"), format!("{token:?}"), format!("{:?}", verifier.status())]
    {
        assert!(!shown.contains("secret") && !text.split('.').any(|part| shown.contains(part)), "{shown}");
    }
}
