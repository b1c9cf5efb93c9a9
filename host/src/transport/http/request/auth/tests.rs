use std::net::IpAddr;

use http::StatusCode;
use http::header::{AUTHORIZATION, HeaderMap, HeaderValue, WWW_AUTHENTICATE};

use super::{MAX_TRACKED, Token, TokenSet, Tokens};
use crate::transport::http::Response;
use crate::transport::http::caller::Peer;

const SECRET: &str = "0123456789abcdef0123456789abcdef";

fn tokens() -> Tokens {
    Tokens::new(TokenSet::from(vec![
        Token::new("ci", SECRET),
        Token::new("me", "another-secret-of-mine"),
        Token::new("me", "and-its-successor"),
    ]))
}

fn authenticate(tokens: &Tokens, values: &[&str], from: &str) -> Result<String, Box<Response>> {
    let mut headers = HeaderMap::new();
    for value in values {
        headers.append(AUTHORIZATION, HeaderValue::from_str(value).expect("a value"));
    }
    let peer: IpAddr = from.parse().expect("an address");
    let caller = tokens.authenticate(&headers, &Peer::new(Some(peer)));
    caller.map(|caller| caller.identity.name().to_string()).map_err(|refusal| Box::new(refusal.into()))
}

/// Abuse P22.
#[test]
fn a_token_identifies_its_owner() {
    let tokens = tokens();
    let name = |value: &str| authenticate(&tokens, &[value], "10.0.0.1").ok();
    assert_eq!(name(&format!("Bearer {SECRET}")), Some("ci".to_owned()));
    assert_eq!(name(&format!("bearer   {SECRET}")), Some("ci".to_owned()));
    assert_eq!(name("Bearer another-secret-of-mine"), Some("me".to_owned()));
    assert_eq!(name("Bearer and-its-successor"), Some("me".to_owned()), "two tokens of one owner");
    assert_eq!(
        Tokens::new(TokenSet::default())
            .authenticate(&HeaderMap::new(), &Peer::new(None))
            .map(|caller| caller.identity.name().to_string())
            .ok(),
        Some("local".into())
    );
}

/// Abuse P22.
#[test]
fn other_credentials_are_challenged() {
    let right = format!("Bearer {SECRET}");
    let short = &right[..right.len() - 1];
    let long = format!("{right}0");
    let in_base64 = format!("Basic {SECRET}");
    let glued = format!("Bearer{SECRET}");
    let wrong: [&[&str]; 9] = [
        &[],
        &["Bearer "],
        &["Bearer wrong"],
        &[short],
        &[&long],
        &[&in_base64],
        &[&glued],
        &[SECRET],
        &[&right, &right],
    ];
    for (last, values) in wrong.iter().enumerate() {
        let response = authenticate(&tokens(), values, &format!("10.0.0.{last}")).expect_err("not a valid token");
        assert_eq!(response.status(), StatusCode::UNAUTHORIZED, "{values:?}");
        let challenge = response.headers()[WWW_AUTHENTICATE].to_str().expect("a text");
        assert!(challenge.starts_with("Bearer"), "{challenge}");
    }
}

/// Abuse P22.
#[test]
fn repeated_failures_get_429_and_lock_out_no_valid_token() {
    let tokens = tokens();
    let failures: Vec<StatusCode> = (0..30)
        .map(|_| authenticate(&tokens, &["Bearer wrong"], "10.0.0.1").expect_err("not a valid token").status())
        .collect();
    assert_eq!(failures[..10], [StatusCode::UNAUTHORIZED; 10]);
    assert!(failures.contains(&StatusCode::TOO_MANY_REQUESTS), "{failures:?}");
    assert!(authenticate(&tokens, &[&format!("Bearer {SECRET}")], "10.0.0.1").is_ok());
    let elsewhere = authenticate(&tokens, &["Bearer wrong"], "10.0.0.2").expect_err("not a valid token");
    assert_eq!(elsewhere.status(), StatusCode::UNAUTHORIZED);
}

/// Failures are counted per IPv6 network, and the number of tracked networks is bounded.
#[test]
fn failures_are_counted_per_network_and_bounded() {
    let tokens = tokens();
    let guess = |from: &str| authenticate(&tokens, &["Bearer wrong"], from).expect_err("not a valid token").status();
    let all: Vec<StatusCode> = (0..12).map(|host| guess(&format!("2001:db8::{host:x}"))).collect();
    assert_eq!(all.last(), Some(&StatusCode::TOO_MANY_REQUESTS), "another address of the same network");
    assert_eq!(guess("2001:db8:0:1::1"), StatusCode::UNAUTHORIZED, "another network");
    for network in 0..2 * MAX_TRACKED {
        guess(&format!("10.{}.{}.1", network / 256, network % 256));
    }
    assert!(tokens.failures.lock().expect("not poisoned").len() <= MAX_TRACKED);
    assert!(authenticate(&tokens, &[&format!("Bearer {SECRET}")], "10.255.0.1").is_ok());
}

#[test]
fn tokens_can_be_replaced_at_runtime() {
    let set = TokenSet::from(vec![Token::new("ci", SECRET)]);
    let tokens = Tokens::new(set.clone());
    let name = |secret: &str| authenticate(&tokens, &[&format!("Bearer {secret}")], "10.0.0.1").ok();
    assert_eq!(name(SECRET), Some("ci".to_owned()));
    set.replace(vec![Token::new("ci", "its-successor-of-16")]);
    assert_eq!((name(SECRET), name("its-successor-of-16")), (None, Some("ci".to_owned())));
}
