use std::net::IpAddr;

use futures_util::FutureExt as _;
use http::StatusCode;
use http::Uri;
use http::header::{AUTHORIZATION, HeaderMap, HeaderValue, WWW_AUTHENTICATE};

use super::Auth;
use crate::transport::http::caller::Peer;
use crate::transport::http::request::failures::MAX_TRACKED;
use crate::transport::http::responses::ErrorResponse;
use crate::transport::http::{Response, Token, TokenSet};

const SECRET: &str = "0123456789abcdef0123456789abcdef";

fn auth() -> Auth {
    of(TokenSet::from(vec![
        Token::new("ci", SECRET),
        Token::new("me", "another-secret-of-mine"),
        Token::new("me", "and-its-successor"),
    ]))
}

fn of(tokens: TokenSet) -> Auth {
    Auth::new(tokens, None)
}

/// The name of the caller.
fn authenticate_at(uri: &str, auth: &Auth, values: &[&str], from: &str) -> Result<String, Box<Response>> {
    let mut headers = HeaderMap::new();
    for value in values {
        headers.append(AUTHORIZATION, HeaderValue::from_str(value).expect("a value"));
    }
    let (uri, peer): (Uri, IpAddr) = (uri.parse().expect("a URI"), from.parse().expect("an address"));
    let peer = Peer::new(Some(peer));
    let caller = auth.authenticate(&uri, &headers, &peer).now_or_never().expect("static tokens wait for nothing");
    caller
        .map(|caller| caller.identity.name().to_string())
        .map_err(|refusal: ErrorResponse| Box::new(Response::from(refusal)))
}

fn authenticate(auth: &Auth, values: &[&str], from: &str) -> Result<String, Box<Response>> {
    authenticate_at("/mcp", auth, values, from)
}

/// Abuse P22.
#[test]
fn a_token_identifies_its_owner() {
    let auth = auth();
    let name = |value: &str| authenticate(&auth, &[value], "10.0.0.1").ok();
    assert_eq!(name(&format!("Bearer {SECRET}")), Some("ci".to_owned()));
    assert_eq!(name(&format!("bearer   {SECRET}")), Some("ci".to_owned()));
    assert_eq!(name("Bearer another-secret-of-mine"), Some("me".to_owned()));
    assert_eq!(name("Bearer and-its-successor"), Some("me".to_owned()), "two tokens of one owner");
    assert_eq!(authenticate(&of(TokenSet::default()), &[], "10.0.0.1").ok(), Some("local".to_owned()));
}

/// Abuse P22.
#[test]
fn other_credentials_are_challenged() {
    let right = format!("Bearer {SECRET}");
    let short = &right[..right.len() - 1];
    let long = format!("{right}0");
    let in_base64 = format!("Basic {SECRET}");
    let glued = format!("Bearer{SECRET}");
    let (none, invalid, malformed) = ("Bearer", "Bearer error=\"invalid_token\"", "Bearer error=\"invalid_request\"");
    let wrong: [(&[&str], u16, &str); 11] = [
        (&[], 401, none),
        (&["Bearer wrong"], 401, invalid),
        (&[short], 401, invalid),
        (&[&long], 401, invalid),
        (&[&in_base64], 401, none),
        (&[&glued], 401, none),
        (&[SECRET], 401, none),
        (&["Bearer "], 400, malformed),
        (&["Bearer"], 400, malformed),
        (&["Bearer a b"], 400, malformed),
        (&[&right, &right], 400, malformed),
    ];
    for (last, (values, status, challenge)) in wrong.iter().enumerate() {
        let response = authenticate(&auth(), values, &format!("10.0.0.{last}")).expect_err("not a valid token");
        let challenged = response.headers()[WWW_AUTHENTICATE].to_str().expect("a text");
        let (start, _) = challenged.split_once(',').unwrap_or((challenged, ""));
        assert_eq!((response.status().as_u16(), start), (*status, *challenge), "{values:?}");
    }
    let uri = format!("/mcp?a=b&access_token={SECRET}");
    let response = authenticate_at(&uri, &auth(), &[&right], "10.0.0.1").expect_err("it is in the URL too");
    assert_eq!(response.status(), StatusCode::BAD_REQUEST);
}

/// Whoever has no token yet guesses none.
#[test]
fn requests_without_a_token_are_no_failures() {
    let auth = auth();
    let statuses = (0..30).map(|_| authenticate(&auth, &[], "10.0.0.1").expect_err("no token").status());
    assert!(statuses.into_iter().all(|status| status == StatusCode::UNAUTHORIZED));
}

/// Abuse P22.
#[test]
fn repeated_failures_get_429_and_lock_out_no_valid_token() {
    let auth = auth();
    let failures: Vec<StatusCode> = (0..30)
        .map(|_| authenticate(&auth, &["Bearer wrong"], "10.0.0.1").expect_err("not a valid token").status())
        .collect();
    assert_eq!(failures[..10], [StatusCode::UNAUTHORIZED; 10]);
    assert!(failures.contains(&StatusCode::TOO_MANY_REQUESTS), "{failures:?}");
    assert!(authenticate(&auth, &[&format!("Bearer {SECRET}")], "10.0.0.1").is_ok());
    let elsewhere = authenticate(&auth, &["Bearer wrong"], "10.0.0.2").expect_err("not a valid token");
    assert_eq!(elsewhere.status(), StatusCode::UNAUTHORIZED);
}

/// Failures are counted per IPv6 network, and the number of tracked networks is bounded.
#[test]
fn failures_are_counted_per_network_and_bounded() {
    let auth = auth();
    let guess = |from: &str| authenticate(&auth, &["Bearer wrong"], from).expect_err("not a valid token").status();
    let all: Vec<StatusCode> = (0..12).map(|host| guess(&format!("2001:db8::{host:x}"))).collect();
    assert_eq!(all.last(), Some(&StatusCode::TOO_MANY_REQUESTS), "another address of the same network");
    assert_eq!(guess("2001:db8:0:1::1"), StatusCode::UNAUTHORIZED, "another network");
    for network in 0..2 * MAX_TRACKED {
        guess(&format!("10.{}.{}.1", network / 256, network % 256));
    }
    assert!(auth.failures.tracked() <= MAX_TRACKED);
    assert!(authenticate(&auth, &[&format!("Bearer {SECRET}")], "10.255.0.1").is_ok());
}

#[test]
fn tokens_can_be_replaced_at_runtime() {
    let set = TokenSet::from(vec![Token::new("ci", SECRET)]);
    let auth = of(set.clone());
    let name = |secret: &str| authenticate(&auth, &[&format!("Bearer {secret}")], "10.0.0.1").ok();
    assert_eq!(name(SECRET), Some("ci".to_owned()));
    set.replace(vec![Token::new("ci", "its-successor-of-16")]);
    assert_eq!((name(SECRET), name("its-successor-of-16")), (None, Some("ci".to_owned())));
}
