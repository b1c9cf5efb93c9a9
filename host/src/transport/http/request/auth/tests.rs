use std::net::IpAddr;

use http::StatusCode;
use http::header::{AUTHORIZATION, HeaderMap, HeaderValue, WWW_AUTHENTICATE};

use super::{Principal, REMEMBERED, Token, TokenSet, Tokens};
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

fn ask(tokens: &Tokens, values: &[&str], from: &str) -> Result<Principal, Box<Response>> {
    let mut headers = HeaderMap::new();
    for value in values {
        headers.append(AUTHORIZATION, HeaderValue::from_str(value).expect("a value"));
    }
    let peer: IpAddr = from.parse().expect("an address");
    let caller = tokens.authenticate(&headers, &Peer::new(Some(peer)));
    caller.map(|caller| Principal::new(caller.principal)).map_err(|refusal| Box::new(refusal.into()))
}

/// Abuse P22.
#[test]
fn a_token_is_its_bearer() {
    let tokens = tokens();
    let who = |value: &str| ask(&tokens, &[value], "10.0.0.1").ok();
    assert_eq!(who(&format!("Bearer {SECRET}")), Some(Principal::new("ci")));
    assert_eq!(who(&format!("bearer   {SECRET}")), Some(Principal::new("ci")));
    assert_eq!(who("Bearer another-secret-of-mine"), Some(Principal::new("me")));
    assert_eq!(who("Bearer and-its-successor"), Some(Principal::new("me")), "two tokens of one principal");
    assert_eq!(
        Tokens::new(TokenSet::default())
            .authenticate(&HeaderMap::new(), &Peer::new(None))
            .map(|caller| caller.principal)
            .ok(),
        Some("local".into())
    );
}

/// Abuse P22.
#[test]
fn anything_else_is_challenged() {
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
        let response = ask(&tokens(), values, &format!("10.0.0.{last}")).expect_err("no token of ours");
        assert_eq!(response.status(), StatusCode::UNAUTHORIZED, "{values:?}");
        let challenge = response.headers()[WWW_AUTHENTICATE].to_str().expect("a text");
        assert!(challenge.starts_with("Bearer"), "{challenge}");
    }
}

/// Abuse P22.
#[test]
fn who_guesses_is_slowed_down_and_locks_out_nobody() {
    let tokens = tokens();
    let failures: Vec<StatusCode> =
        (0..30).map(|_| ask(&tokens, &["Bearer wrong"], "10.0.0.1").expect_err("no token of ours").status()).collect();
    assert_eq!(failures[..10], [StatusCode::UNAUTHORIZED; 10]);
    assert!(failures.contains(&StatusCode::TOO_MANY_REQUESTS), "{failures:?}");
    assert!(ask(&tokens, &[&format!("Bearer {SECRET}")], "10.0.0.1").is_ok());
    let elsewhere = ask(&tokens, &["Bearer wrong"], "10.0.0.2").expect_err("no token of ours");
    assert_eq!(elsewhere.status(), StatusCode::UNAUTHORIZED);
}

/// A network of IPv6 is one guesser, and however many guess, no more are remembered.
#[test]
fn who_guesses_from_many_addresses_is_counted_and_bounded() {
    let tokens = tokens();
    let guess = |from: &str| ask(&tokens, &["Bearer wrong"], from).expect_err("no token of ours").status();
    let all: Vec<StatusCode> = (0..12).map(|host| guess(&format!("2001:db8::{host:x}"))).collect();
    assert_eq!(all.last(), Some(&StatusCode::TOO_MANY_REQUESTS), "another address of the same network");
    assert_eq!(guess("2001:db8:0:1::1"), StatusCode::UNAUTHORIZED, "another network");
    for network in 0..2 * REMEMBERED {
        guess(&format!("10.{}.{}.1", network / 256, network % 256));
    }
    assert!(tokens.failures.lock().expect("not poisoned").len() <= REMEMBERED);
    assert!(ask(&tokens, &[&format!("Bearer {SECRET}")], "10.255.0.1").is_ok());
}

#[test]
fn tokens_are_replaced_while_they_are_used() {
    let set = TokenSet::from(vec![Token::new("ci", SECRET)]);
    let tokens = Tokens::new(set.clone());
    let who = |secret: &str| ask(&tokens, &[&format!("Bearer {secret}")], "10.0.0.1").ok();
    assert_eq!(who(SECRET), Some(Principal::new("ci")));
    set.replace(vec![Token::new("ci", "its-successor-of-16")]);
    assert_eq!((who(SECRET), who("its-successor-of-16")), (None, Some(Principal::new("ci"))));
}
