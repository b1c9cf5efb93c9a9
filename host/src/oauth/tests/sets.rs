//! Sets of keys as issuers publish them.

use serde_json::{Value, json};

use super::crafted::{Signer, code, set, with};
use crate::oauth::crypto::Algorithm;
use crate::oauth::keys::{Chosen, KeySet};

fn read(keys: &[Value]) -> Result<KeySet, String> {
    KeySet::parse(json!({"keys": keys}).to_string().as_bytes())
}

#[test]
fn keys_that_cannot_be_used_are_skipped() {
    let good = Signer::ed25519("good").bare();
    let (rsa, point) = (Signer::rsa("r", "RS256").bare(), Signer::p256("p").bare());
    // Of 1024 bits, and of 16384.
    let modulus = |bytes: usize| code(vec![0xc1; bytes]);
    for (what, key) in [
        ("for encryption", with(rsa.clone(), json!({"use": "enc"}))),
        ("with a purpose that is no text", with(rsa.clone(), json!({"use": 1}))),
        ("for other operations", with(rsa.clone(), json!({"key_ops": ["encrypt"]}))),
        ("of another algorithm", with(rsa.clone(), json!({"alg": "RSA-OAEP"}))),
        ("of an algorithm of another type", with(rsa.clone(), json!({"alg": "ES256"}))),
        ("with a shared secret", json!({"kty": "oct", "k": code("secret"), "alg": "HS256"})),
        ("of 1024 bits", with(rsa.clone(), json!({"n": modulus(128)}))),
        ("of 2040 bits", with(rsa.clone(), json!({"n": modulus(255)}))),
        ("of 16384 bits", with(rsa.clone(), json!({"n": modulus(2048)}))),
        ("of no bits", with(rsa.clone(), json!({"n": ""}))),
        ("with an exponent of 1", with(rsa.clone(), json!({"e": "AQ"}))),
        ("with an even exponent", with(rsa.clone(), json!({"e": "Ag"}))),
        ("with a huge exponent", with(rsa.clone(), json!({"e": modulus(256)}))),
        ("with padding", with(rsa.clone(), json!({"e": "AQAB="}))),
        ("of an unknown curve", with(point.clone(), json!({"crv": "secp256k1"}))),
        ("with half a point", with(point.clone(), json!({"y": null}))),
        ("with a short point", with(point.clone(), json!({"y": code([1; 31])}))),
        ("of another type", json!({"kty": "AKP", "alg": "ML-DSA-44", "pub": "AA"})),
        ("of no type", json!({})),
        ("with a name that is no text", with(rsa.clone(), json!({"kid": 1}))),
        ("that is no object", json!("key")),
    ] {
        assert!(read(std::slice::from_ref(&key)).is_err(), "{what}, alone");
        assert_eq!(read(&[key, good.clone()]).map(|keys| keys.len()), Ok(1), "{what}");
    }
    for key in [
        with(rsa.clone(), json!({"key_ops": ["sign", "verify"]})),
        with(rsa.clone(), json!({"n": format!("AAAA{}", modulus(258))})),
        with(rsa, json!({"n": modulus(1024)})),
        point,
    ] {
        assert!(read(std::slice::from_ref(&key)).is_ok(), "{key}");
    }
}

#[test]
fn texts_that_are_no_sets_are_refused() {
    let signer = Signer::ed25519("a");
    let key = signer.jwk();
    for text in [
        String::new(),
        "[]".to_owned(),
        "{}".to_owned(),
        r#"{"keys": []}"#.to_owned(),
        r#"{"keys": {}}"#.to_owned(),
        format!(r#"{{"keys": [], "keys": [{key}]}}"#),
        format!(r#"{{"keys": [{key}"#),
        format!(r#"{{"keys": [{}]}}"#, key.replacen('{', r#"{"kty": "RSA", "#, 1)),
        format!(r#"{{"keys": [{key}], "more": {}{}}}"#, "[".repeat(17), "]".repeat(17)),
    ] {
        assert!(KeySet::parse(text.as_bytes()).is_err(), "{text}");
    }
    assert!(KeySet::parse(b"\xff").is_err());
    assert_eq!(KeySet::parse(set(&[&signer, &signer]).as_bytes()).map(|keys| keys.len()), Ok(1), "one key twice");
}

#[test]
fn a_hundred_keys_are_looked_at() {
    let mut keys = vec![json!({"kty": "oct"}); 99];
    keys.push(Signer::ed25519("100").bare());
    keys.push(Signer::ed25519("101").bare());
    assert_eq!(read(&keys).map(|keys| keys.len()), Ok(1));
}

#[test]
fn a_key_is_chosen_by_name_and_algorithm() {
    let (first, second, rsa) = (Signer::p256("a"), Signer::p256("b"), Signer::rsa("c", "RS256"));
    let any = with(rsa.bare(), json!({"kid": "d", "e": "Aw"}));
    let keys =
        [first.jwk(), second.jwk(), rsa.jwk(), any.to_string(), with(first.bare(), json!({"kid": "c"})).to_string()];
    let set = KeySet::parse(format!(r#"{{"keys": [{}]}}"#, keys.join(",")).as_bytes()).expect("a set");
    let choose = |algorithm, name| set.choose(algorithm, name);
    assert!(matches!(choose(Algorithm::Es256, Some("a")), Chosen::Keys(_)));
    assert!(matches!(choose(Algorithm::Rs256, Some("c")), Chosen::Keys(_)), "two types under one name");
    assert!(matches!(choose(Algorithm::Es256, Some("c")), Chosen::Keys(_)));
    assert!(matches!(choose(Algorithm::Ps256, Some("c")), Chosen::Unfit(_)), "its own algorithm");
    assert!(matches!(choose(Algorithm::Ps256, Some("d")), Chosen::Keys(_)), "no algorithm of its own");
    assert!(matches!(choose(Algorithm::Rs256, Some("a")), Chosen::Unfit(_)), "another type");
    assert_eq!(choose(Algorithm::Es256, Some("x")), Chosen::Unknown);
    assert_eq!(choose(Algorithm::Es256, Some("")), Chosen::Unknown);
    assert!(matches!(choose(Algorithm::Es256, None), Chosen::Unfit(_)), "several fit");
    assert!(matches!(choose(Algorithm::Ps256, None), Chosen::Keys(_)), "one fits");
    assert_eq!(choose(Algorithm::Es384, None), Chosen::Unknown, "none fits");
}

#[test]
fn some_keys_of_one_name_are_tried() {
    let chosen = |count: usize| {
        let keys: Vec<String> = (0..count).map(|_| Signer::p256("a").jwk().to_string()).collect();
        let set = KeySet::parse(format!(r#"{{"keys": [{}]}}"#, keys.join(",")).as_bytes()).expect("a set");
        match set.choose(Algorithm::Es256, Some("a")) {
            Chosen::Keys(keys) => keys.len(),
            Chosen::Unfit(_) => 0,
            Chosen::Unknown => panic!("it is known"),
        }
    };
    assert_eq!([1, 2, 4, 5].map(chosen), [1, 2, 4, 0]);
}
