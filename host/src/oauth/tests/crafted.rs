//! Keys, and tokens signed with them.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::rsa::PublicKeyComponents;
use ring::signature::{
    self, ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, EcdsaSigningAlgorithm,
    Ed25519KeyPair, KeyPair as _, RsaKeyPair,
};
use serde_json::{Value, json};

use crate::oauth::clock::Now;

/// A private key of 2048 bits, PKCS #8, made for these tests.
const RSA: &[u8] = include_bytes!("rsa-2048.der");

enum Pair {
    Ed25519(Ed25519KeyPair),
    Ecdsa(EcdsaKeyPair, &'static str),
    Rsa(RsaKeyPair),
}

/// A key of an issuer.
pub(crate) struct Signer {
    name: String,
    algorithm: &'static str,
    pair: Pair,
}

pub(crate) fn code(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Seconds since 1970, now and that much later.
pub(crate) fn unix(later: i64) -> i64 {
    Now::read().unix as i64 + later
}

impl Signer {
    pub(crate) fn ed25519(name: &str) -> Self {
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).expect("a key");
        let pair = Ed25519KeyPair::from_pkcs8(document.as_ref()).expect("a key");
        Self { name: name.to_owned(), algorithm: "EdDSA", pair: Pair::Ed25519(pair) }
    }

    fn ecdsa(name: &str, algorithm: &'static str, with: &'static EcdsaSigningAlgorithm, curve: &'static str) -> Self {
        let random = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(with, &random).expect("a key");
        let pair = EcdsaKeyPair::from_pkcs8(with, document.as_ref(), &random).expect("a key");
        Self { name: name.to_owned(), algorithm, pair: Pair::Ecdsa(pair, curve) }
    }

    pub(crate) fn p256(name: &str) -> Self {
        Self::ecdsa(name, "ES256", &ECDSA_P256_SHA256_FIXED_SIGNING, "P-256")
    }

    pub(crate) fn p384(name: &str) -> Self {
        Self::ecdsa(name, "ES384", &ECDSA_P384_SHA384_FIXED_SIGNING, "P-384")
    }

    /// The same key for each name.
    pub(crate) fn rsa(name: &str, algorithm: &'static str) -> Self {
        let pair = RsaKeyPair::from_pkcs8(RSA).expect("a key");
        Self { name: name.to_owned(), algorithm, pair: Pair::Rsa(pair) }
    }

    /// The members of its public key that all keys of its type have.
    pub(crate) fn bare(&self) -> Value {
        match &self.pair {
            Pair::Ed25519(pair) => json!({"kty": "OKP", "crv": "Ed25519", "x": code(pair.public_key())}),
            Pair::Ecdsa(pair, curve) => {
                let point = &pair.public_key().as_ref()[1..];
                let (x, y) = point.split_at(point.len() / 2);
                json!({"kty": "EC", "crv": curve, "x": code(x), "y": code(y)})
            }
            Pair::Rsa(pair) => {
                let public = PublicKeyComponents::<Vec<u8>>::from(pair.public_key());
                json!({"kty": "RSA", "n": code(public.n), "e": code(public.e)})
            }
        }
    }

    /// Its public key with name, algorithm and purpose.
    pub(crate) fn jwk(&self) -> String {
        let mut key = self.bare();
        key["kid"] = json!(self.name);
        key["alg"] = json!(self.algorithm);
        key["use"] = json!("sig");
        key.to_string()
    }

    pub(crate) fn header(&self) -> Value {
        json!({"alg": self.algorithm, "kid": self.name, "typ": "at+jwt"})
    }

    pub(crate) fn sign(&self, header: &str, claims: &str) -> String {
        let message = format!("{}.{}", code(header), code(claims));
        let random = SystemRandom::new();
        let signature = match &self.pair {
            Pair::Ed25519(pair) => pair.sign(message.as_bytes()).as_ref().to_vec(),
            Pair::Ecdsa(pair, _) => pair.sign(&random, message.as_bytes()).expect("a signature").as_ref().to_vec(),
            Pair::Rsa(pair) => {
                let padding: &dyn signature::RsaEncoding = match self.algorithm {
                    "RS256" => &signature::RSA_PKCS1_SHA256,
                    "RS384" => &signature::RSA_PKCS1_SHA384,
                    "RS512" => &signature::RSA_PKCS1_SHA512,
                    "PS256" => &signature::RSA_PSS_SHA256,
                    "PS384" => &signature::RSA_PSS_SHA384,
                    _ => &signature::RSA_PSS_SHA512,
                };
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(padding, &random, message.as_bytes(), &mut signature).expect("a signature");
                signature
            }
        };
        format!("{message}.{}", code(signature))
    }

    /// A token with those claims.
    pub(crate) fn token(&self, claims: &Value) -> String {
        self.sign(&self.header().to_string(), &claims.to_string())
    }
}

/// The set of those keys.
pub(crate) fn set(signers: &[&Signer]) -> String {
    let keys: Vec<String> = signers.iter().map(|signer| signer.jwk()).collect();
    format!(r#"{{"keys": [{}]}}"#, keys.join(","))
}

/// With other members: `null` takes one away.
pub(crate) fn with(mut base: Value, other: Value) -> Value {
    let (Some(members), Value::Object(other)) = (base.as_object_mut(), other) else { panic!("no objects") };
    for (name, value) in other {
        match value {
            Value::Null => drop(members.remove(&name)),
            value => drop(members.insert(name, value)),
        }
    }
    base
}
