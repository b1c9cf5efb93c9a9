//! Tokens and sets of keys: what is accepted has one reading, and no reason has a part of the token.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use wharf::oauth::Refusal;
use wharf::oauth::keys::KeySet;
use wharf::oauth::token::{MAX_TOKEN, Token, is_jwt};

use super::{JSON_WORDS, Target, bytes};

pub(super) fn target() -> Target {
    let seeds = bytes(&[
        "{\"alg\":\"RS256\",\"typ\":\"at+jwt\",\"kid\":\"a\"}\n{\"iss\":\"https://i.example\",\"aud\":[\"a\"],\"exp\":1e9}\nsignature",
        "{\"alg\":\"EdDSA\"}\n{}\n",
        "eyJhbGciOiJFUzI1NiJ9.e30.AAAA",
        "{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo\"}]}",
        "{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4\",\
         \"y\":\"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM\",\"use\":\"sig\",\"kid\":\"1\",\"alg\":\"ES256\"}]}",
    ]);
    let mut words = vec![
        "\"alg\":\"none\",",
        "\"alg\":\"HS256\",",
        "\"typ\":\"JWT\",",
        "\"crit\":[],",
        "\"kty\":\"RSA\",",
        "\"n\":\"",
        "\"e\":\"AQAB\",",
        "\"key_ops\":[\"verify\"],",
        ".",
        "=",
        "-",
        "_",
        "+",
        "\n",
    ];
    words.extend(JSON_WORDS);
    Target { name: "token", seeds, words, run }
}

fn run(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    parse(&text);
    // Three lines are header, claims and signature before they are coded.
    let mut lines = text.splitn(3, '\n').map(|line| URL_SAFE_NO_PAD.encode(line));
    if let (Some(header), Some(claims), Some(signature)) = (lines.next(), lines.next(), lines.next()) {
        parse(&format!("{header}.{claims}.{signature}"));
    }
    match KeySet::parse(input) {
        Ok(keys) => assert!((1..=100).contains(&keys.len())),
        Err(why) => assert!(!why.is_empty()),
    }
}

fn parse(text: &str) {
    match Token::parse(text) {
        Ok(token) => {
            assert!(text.len() <= MAX_TOKEN && is_jwt(text));
            let part = |at: usize| URL_SAFE_NO_PAD.decode(text.split('.').nth(at).expect("three parts"));
            let header = String::from_utf8(part(0).expect("base64url")).expect("UTF-8");
            let header: serde_json::Value = serde_json::from_str(&header).expect("JSON");
            let algorithm = header["alg"].as_str().expect("an algorithm");
            assert!(["RS", "PS", "ES", "Ed"].iter().any(|family| algorithm.starts_with(family)), "{algorithm}");
            assert!(header.get("crit").is_none());
            // One spelling of each part.
            for at in 0..3 {
                assert_eq!(
                    URL_SAFE_NO_PAD.encode(part(at).expect("base64url")),
                    text.split('.').nth(at).expect("a part")
                );
            }
            assert_eq!(token.issuer(), token.claims.get("iss").and_then(|issuer| issuer.as_str()));
        }
        Err(Refusal::Invalid(why)) => {
            assert!(why.bytes().all(|byte| (b' '..=b'~').contains(&byte) && byte != b'"' && byte != b'\\'), "{why}");
        }
        Err(Refusal::Unavailable(why)) => panic!("nobody was asked: {why}"),
    }
}
