//! What is answered to each token, at each endpoint, in each era.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use regex::Regex;
use ring::hmac;
use serde_json::{Value, json};
use wharf::oauth::IssuerSettings;
use wharf::transport::http::{OAuth, Settings, Token, TokenSet};

use super::issuer::{Issuer, RESOURCE, SCOPE, by, encode, now};
use crate::support::TIMEOUT;
use crate::support::http::{HttpServer, Request, Response};
use crate::support::streamable::{Endpoint, initialize, request, stateless};

const METADATA: &str = "https://tools.example/.well-known/oauth-protected-resource/mcp";

/// The parameters of the challenge of a response.
pub(super) fn challenge(response: &Response) -> BTreeMap<String, String> {
    let value = response.header("www-authenticate").unwrap_or_else(|| panic!("no challenge: {response:?}"));
    let parameters = value.strip_prefix("Bearer ").unwrap_or_else(|| panic!("another scheme: {value}"));
    let parameter = Regex::new(r#"^(\w+)="([^"\\]*)"(?:, |$)"#).expect("an expression");
    let (mut rest, mut found) = (parameters, BTreeMap::new());
    while !rest.is_empty() {
        let captured = parameter.captures(rest).unwrap_or_else(|| panic!("no parameter: {rest}"));
        found.insert(captured[1].to_owned(), captured[2].to_owned());
        rest = &rest[captured[0].len()..];
    }
    found
}

/// A request to each endpoint, in each era.
fn requests(server: &HttpServer) -> Vec<Request> {
    let endpoint = Endpoint::new(server.address);
    let mut session = endpoint.clone();
    (session.session, session.version) = (Some("0".repeat(32)), Some("2025-11-25".into()));
    let ping = request(1, "ping", json!({}));
    vec![
        endpoint.post(&stateless(1, "server/discover", json!({}))),
        endpoint.post(&initialize("2025-11-25")),
        session.post(&ping),
        session.get(),
        session.delete(),
        Request::new("GET", "/sse", server.address),
        Request::new("POST", "/messages?session=0", server.address).json(ping.to_string()),
    ]
}

/// The status and the error of that token at each endpoint, which must be the same.
fn answer(issuer: &Issuer, token: &str) -> (u16, String) {
    // Of its own, since failures are counted.
    let server = HttpServer::start(issuer.settings());
    let answers = requests(&server).into_iter().map(|request| {
        let response = server.exchange(&by(request, token));
        let challenge = challenge(&response);
        assert_eq!((challenge["resource_metadata"].as_str(), challenge["scope"].as_str()), (METADATA, SCOPE));
        assert!(!challenge["error_description"].is_empty(), "{challenge:?}");
        for part in token.split('.').filter(|part| part.len() > 8) {
            assert!(!response.text().contains(part) && !format!("{challenge:?}").contains(part), "{}", response.text());
        }
        (response.status, challenge["error"].clone())
    });
    let mut answers: Vec<_> = answers.collect();
    answers.dedup();
    assert_eq!(answers.len(), 1, "{answers:?}");
    answers.remove(0)
}

#[test]
fn without_a_token_a_client_is_told_where_to_get_one() {
    let server = HttpServer::start(Issuer::start().settings());
    for request in requests(&server) {
        for request in [request.clone(), request.set("Authorization", "Basic YTpi")] {
            let response = server.exchange(&request);
            assert_eq!(response.status, 401, "{}", request.line);
            let expected = [("resource_metadata", METADATA), ("scope", SCOPE)];
            let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
            assert_eq!(challenge(&response), expected.into(), "{}: an error, though there is none", request.line);
        }
    }
    let mut elsewhere = server.discover();
    elsewhere.line = "POST /elsewhere HTTP/1.1".into();
    assert_eq!(server.exchange(&elsewhere).status, 401);
}

#[test]
fn a_valid_token_lets_in_at_each_endpoint() {
    let issuer = Issuer::start();
    let server = HttpServer::start(issuer.settings());
    let token = issuer.token("alice");
    let statuses: Vec<u16> =
        requests(&server).into_iter().map(|request| server.exchange(&by(request, &token)).status).collect();
    // The sessions do not exist.
    assert_eq!(statuses, [200, 200, 404, 404, 404, 200, 404]);
    for audience in [json!([RESOURCE]), json!(["https://other.example", RESOURCE])] {
        let token = issuer.with("alice", "aud", audience);
        assert_eq!(server.exchange(&by(server.discover(), &token)).status, 200);
    }
    let admin = issuer.with("alice", "scope", json!("admin mcp offline_access"));
    assert_eq!(server.exchange(&by(server.discover(), &admin)).status, 200);
    let lower = server.discover().with("authorization", &format!("bEARER   {token}"));
    assert_eq!(server.exchange(&lower).status, 200);
}

#[test]
fn wrong_tokens_are_401() {
    let issuer = Issuer::start();
    let other = Issuer::start();
    let good = issuer.token("alice");
    let (head, signature) = good.rsplit_once('.').expect("a token");
    let (header, claims) = head.split_once('.').expect("a token");
    let unsigned = |header: &Value| format!("{}.{claims}.", encode(header.to_string()));
    let symmetric = {
        // Signed with what everybody knows: the public key.
        let head = format!("{}.{claims}", encode(json!({"alg": "HS256", "kid": "key-1"}).to_string()));
        let key = hmac::Key::new(hmac::HMAC_SHA256, issuer.url().as_bytes());
        format!("{head}.{}", encode(hmac::sign(&key, head.as_bytes())))
    };
    let headed = |header: Value| issuer.sign_with(&header, &issuer.claims("alice"));
    let with = |claim: &str, value: Value| issuer.with("alice", claim, value);
    for (what, token) in [
        ("not a token", "abcdefgh".to_owned()),
        ("no signature", unsigned(&json!({"alg": "none"}))),
        ("no signature, by another spelling", unsigned(&json!({"alg": "NoNe", "kid": "key-1"}))),
        ("a symmetric signature", symmetric),
        ("a signature of other claims", format!("{header}.{}.{signature}", encode("{}"))),
        ("a cut signature", good[..good.len() - 4].to_owned()),
        ("padding", format!("{good}==")),
        ("five parts", format!("{good}.a.b")),
        ("another issuer's signature", other.sign(&issuer.claims("alice"))),
        ("another issuer", other.token("alice")),
        ("the issuer with a slash", with("iss", json!(issuer.url() + "/"))),
        ("an unknown key", headed(json!({"alg": "EdDSA", "kid": "key-2"}))),
        ("another algorithm than the key's", headed(json!({"alg": "RS256", "kid": "key-1"}))),
        ("an extension that must be understood", headed(json!({"alg": "EdDSA", "kid": "key-1", "crit": ["b64"]}))),
        ("an assertion", headed(json!({"alg": "EdDSA", "kid": "key-1", "typ": "oauth-id-jag+jwt"}))),
        ("a proof", headed(json!({"alg": "EdDSA", "kid": "key-1", "typ": "dpop+jwt"}))),
        ("another audience", with("aud", json!("https://other.example/mcp"))),
        ("no audience", with("aud", Value::Null)),
        ("the audience with a slash", with("aud", json!(format!("{RESOURCE}/")))),
        ("the audience in capitals", with("aud", json!("https://tools.example/MCP"))),
        ("the audience with a port", with("aud", json!("https://tools.example:443/mcp"))),
        ("a prefix of the audience", with("aud", json!("https://tools.example"))),
        ("an old token", with("exp", json!(now(-61)))),
        ("no end", with("exp", Value::Null)),
        ("an end in words", with("exp", json!(now(300).to_string()))),
        ("an endless token", with("exp", json!(1e308))),
        ("a future token", with("nbf", json!(now(90)))),
        ("no subject", with("sub", Value::Null)),
        ("an ID token", with("nonce", json!("n"))),
        ("a token that is bound to a key", with("cnf", json!({"jkt": "a"}))),
        ("deep claims", issuer.with("alice", "x", deep(200))),
        ("a long token", with("x", json!("x".repeat(20 << 10)))),
    ] {
        assert_eq!(answer(&issuer, &token), (401, "invalid_token".into()), "{what}");
    }
    // More than any request head.
    let server = HttpServer::start(issuer.settings());
    let huge = server.exchange(&by(server.discover(), &with("x", json!("x".repeat(100_000)))));
    assert_eq!(huge.status, 431);
}

fn deep(levels: usize) -> Value {
    (0..levels).fold(json!(1), |inner, _| json!([inner]))
}

#[test]
fn a_token_without_a_scope_is_403() {
    let issuer = Issuer::start();
    for scopes in [json!(""), json!("mcp:read"), json!("MCP"), Value::Null] {
        let token = issuer.with("alice", "scope", scopes);
        assert_eq!(answer(&issuer, &token), (403, "insufficient_scope".into()));
    }
    let server = HttpServer::start(issuer.settings());
    let other_claim = issuer.with("alice", "scp", json!(["a", "mcp"]));
    assert_eq!(server.exchange(&by(server.discover(), &other_claim)).status, 200);
}

/// Entra ID has clients ask for `api://tools/mcp`, and writes `mcp` into the token.
#[test]
fn an_issuer_may_leave_out_the_beginning_of_scopes() {
    let issuer = Issuer::start();
    let scope = "api://tools/mcp";
    let own = IssuerSettings { scope_prefix: Some("api://tools/".into()), ..IssuerSettings::new(issuer.url()) };
    let oauth = OAuth { scopes: vec![scope.into()], ..issuer.oauth(vec![own]) };
    let server = HttpServer::start(Settings { oauth: Some(Arc::new(oauth)), ..Settings::default() });
    assert_eq!(challenge(&server.exchange(&server.discover()))["scope"], scope);
    let status = |scopes: &str| {
        let mut claims = issuer.claims("alice");
        claims.as_object_mut().expect("an object").remove("scope");
        claims["scp"] = json!(scopes);
        server.exchange(&by(server.discover(), &issuer.sign(&claims))).status
    };
    assert_eq!((status("read mcp"), status("read"), status(scope)), (200, 403, 403));
}

#[test]
fn what_is_not_one_token_in_the_header_is_400() {
    let issuer = Issuer::start();
    let token = issuer.token("alice");
    let server = HttpServer::start(issuer.settings());
    let in_url = |query: &str| {
        let mut request = by(server.discover(), &token);
        request.line = format!("POST /mcp?{query} HTTP/1.1");
        request
    };
    for request in [
        in_url(&format!("access_token={token}")),
        in_url(&format!("a=b&access%5Ftoken={token}")),
        in_url(&format!("%61ccess_token={token}")),
        by(server.discover(), &token).with("Authorization", &format!("Bearer {token}")),
        by(server.discover(), &format!("{token}, Bearer {token}")),
        by(server.discover(), ""),
    ] {
        let response = server.exchange(&request);
        assert_eq!((response.status, challenge(&response)["error"].as_str()), (400, "invalid_request"));
    }
}

/// A client that is told 401 would log in again.
#[test]
fn an_issuer_that_is_down_is_503() {
    let issuer = Issuer::down();
    let server = HttpServer::start(issuer.settings());
    let token = issuer.token("alice");
    for request in requests(&server) {
        let response = server.exchange(&by(request, &token));
        assert_eq!((response.status, response.header("www-authenticate")), (503, None));
        assert_eq!(response.header("retry-after"), Some("5"));
    }
    // What is wrong in any case is said all the same.
    let wrong = server.exchange(&by(server.discover(), &issuer.with("alice", "aud", json!("https://other.example"))));
    assert_eq!(wrong.status, 401);
    issuer.set_up(true);
    let begun = Instant::now();
    while server.exchange(&by(server.discover(), &token)).status != 200 {
        assert!(begun.elapsed() < TIMEOUT, "the issuer is up");
        std::thread::sleep(Duration::from_millis(50));
    }
    // Its keys are there.
    issuer.set_up(false);
    assert_eq!(server.exchange(&by(server.discover(), &issuer.token("bob"))).status, 200);
}

/// Failures of one network are counted, but not of clients that have no token yet, or one that has just expired.
#[test]
fn guessing_tokens_is_rate_limited() {
    let issuer = Issuer::start();
    let server = HttpServer::start(issuer.settings());
    let mut connection = server.connect();
    connection.send(&server.discover().bytes().repeat(30));
    assert!((0..30).all(|_| connection.response().expect("a response").status == 401));
    let expired = issuer.with("alice", "exp", json!(now(-100)));
    connection.send(&by(server.discover(), &expired).bytes().repeat(30));
    assert!((0..30).all(|_| connection.response().expect("a response").status == 401));
    connection.send(&by(server.discover(), "abcdefgh").bytes().repeat(50));
    let responses: Vec<_> = (0..50).map(|_| connection.response().expect("a response")).collect();
    let limited = responses.iter().find(|response| response.status == 429).expect("50 at once are too many");
    assert_eq!(limited.header("retry-after"), Some("1"));
    assert_eq!(connection.exchange(&by(server.discover(), &issuer.token("alice"))).status, 200);
}

#[test]
fn static_tokens_are_accepted_beside() {
    let issuer = Issuer::start();
    let secret = "0123456789abcdef";
    let tokens = vec![Token::new("ci", secret)];
    let server = HttpServer::start(Settings { tokens: tokens.into(), ..issuer.settings() });
    for token in [secret, &issuer.token("alice")] {
        assert_eq!(server.exchange(&by(server.discover(), token)).status, 200);
    }
    let wrong = server.exchange(&by(server.discover(), "another-0123456789"));
    assert_eq!((wrong.status, challenge(&wrong)["resource_metadata"].as_str()), (401, METADATA));
}

/// A request that waits when its token is revoked; afterwards its client is told where to get another one.
#[test]
fn a_request_whose_token_is_revoked_is_challenged_too() {
    let issuer = Issuer::start();
    let secret = "0123456789abcdef";
    let tokens = TokenSet::from(vec![Token::new("ci", secret)]);
    let server = HttpServer::start(Settings { tokens: tokens.clone(), ..issuer.settings() });
    let post = Endpoint::new(server.address).post(&stateless(1, "tools/list", json!({})));
    let post = by(post, secret).with("Expect", "100-continue");
    let mut connection = server.connect();
    connection.send(&post.head());
    // It is told to go on when its token was accepted. Then it waits for plugins.
    let mut told = [0; 25];
    connection.stream().read_exact(&mut told).expect("an interim response");
    assert_eq!(&told, b"HTTP/1.1 100 Continue\r\n\r\n");
    tokens.replace(Vec::new());
    connection.send(&post.body);
    let response = connection.response().expect("a response");
    let challenge = challenge(&response);
    assert_eq!((response.status, challenge["error"].as_str()), (401, "invalid_token"));
    assert!(challenge["error_description"].contains("revoked"), "{challenge:?}");
    assert_eq!(challenge["resource_metadata"], METADATA);
}

/// Pages of allowed origins may read the challenge.
#[test]
fn a_challenge_can_be_read_by_pages() {
    let origin = "https://app.example";
    let settings = Settings { allowed_origins: vec![origin.into()], ..Issuer::start().settings() };
    let server = HttpServer::start(settings);
    let response = server.exchange(&server.discover().with("Origin", origin));
    assert_eq!(response.status, 401);
    assert!(response.header("access-control-expose-headers").is_some_and(|names| names.contains("WWW-Authenticate")));
}
