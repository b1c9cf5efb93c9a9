//! Algorithms of signatures and the public keys that verify them, by `ring`.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{self, RsaPublicKeyComponents, UnparsedPublicKey};
use serde_json::{Map, Value};

/// RSA keys, in bits. Less can be factored; more takes long.
const RSA_BITS: std::ops::RangeInclusive<usize> = 2048..=8192;
/// Bytes of a public exponent: `ring` allows 33 bits.
const MOST_EXPONENT: usize = 5;
const LARGEST_EXPONENT: u64 = (1 << 33) - 1;

/// The algorithms that are accepted (RFC 7518, RFC 8037): none with a shared secret, and never `none`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    Rs256,
    Rs384,
    Rs512,
    Ps256,
    Ps384,
    Ps512,
    Es256,
    Es384,
    EdDsa,
}

impl Algorithm {
    /// By its name, which has one spelling.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "RS256" => Self::Rs256,
            "RS384" => Self::Rs384,
            "RS512" => Self::Rs512,
            "PS256" => Self::Ps256,
            "PS384" => Self::Ps384,
            "PS512" => Self::Ps512,
            "ES256" => Self::Es256,
            "ES384" => Self::Es384,
            "EdDSA" => Self::EdDsa,
            _ => return None,
        })
    }

    fn rsa(self) -> Option<&'static signature::RsaParameters> {
        Some(match self {
            Self::Rs256 => &signature::RSA_PKCS1_2048_8192_SHA256,
            Self::Rs384 => &signature::RSA_PKCS1_2048_8192_SHA384,
            Self::Rs512 => &signature::RSA_PKCS1_2048_8192_SHA512,
            Self::Ps256 => &signature::RSA_PSS_2048_8192_SHA256,
            Self::Ps384 => &signature::RSA_PSS_2048_8192_SHA384,
            Self::Ps512 => &signature::RSA_PSS_2048_8192_SHA512,
            _ => return None,
        })
    }
}

/// A public key of a type that is supported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PublicKey {
    /// Modulus and exponent, without leading zeros.
    Rsa {
        n: Vec<u8>,
        e: Vec<u8>,
    },
    /// A point, uncompressed.
    P256(Vec<u8>),
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
}

impl PublicKey {
    /// The key in a JSON Web Key; `None` if it cannot be used.
    pub(super) fn of(jwk: &Map<String, Value>) -> Option<Self> {
        let text = |name: &str| jwk.get(name)?.as_str();
        let bytes = |name: &str| URL_SAFE_NO_PAD.decode(text(name)?).ok();
        let exact = |name: &str, length: usize| bytes(name).filter(|bytes| bytes.len() == length);
        let point = |length| Some([vec![4], exact("x", length)?, exact("y", length)?].concat());
        match (text("kty")?, text("crv")) {
            ("RSA", _) => {
                let (n, e) = (without_zeros(bytes("n")?), without_zeros(bytes("e")?));
                let bits = 8 * n.len() - n.first()?.leading_zeros() as usize;
                let exponent = e.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
                let is_exponent =
                    e.len() <= MOST_EXPONENT && exponent % 2 == 1 && (3..=LARGEST_EXPONENT).contains(&exponent);
                (RSA_BITS.contains(&bits) && is_exponent).then_some(Self::Rsa { n, e })
            }
            ("EC", Some("P-256")) => Some(Self::P256(point(32)?)),
            ("EC", Some("P-384")) => Some(Self::P384(point(48)?)),
            ("OKP", Some("Ed25519")) => Some(Self::Ed25519(exact("x", 32)?)),
            _ => None,
        }
    }

    /// Whether the algorithm is one for this type of key.
    pub(super) fn fits(&self, algorithm: Algorithm) -> bool {
        match self {
            Self::Rsa { .. } => algorithm.rsa().is_some(),
            Self::P256(_) => algorithm == Algorithm::Es256,
            Self::P384(_) => algorithm == Algorithm::Es384,
            Self::Ed25519(_) => algorithm == Algorithm::EdDsa,
        }
    }

    /// Whether the signature is of this key by that algorithm.
    pub(super) fn verifies(&self, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> bool {
        let unparsed = |parameters: &'static dyn signature::VerificationAlgorithm, key: &[u8]| {
            self.fits(algorithm) && UnparsedPublicKey::new(parameters, key).verify(message, signature).is_ok()
        };
        match self {
            Self::Rsa { n, e } => algorithm.rsa().is_some_and(|parameters| {
                RsaPublicKeyComponents { n, e }.verify(parameters, message, signature).is_ok()
            }),
            Self::P256(point) => unparsed(&signature::ECDSA_P256_SHA256_FIXED, point),
            Self::P384(point) => unparsed(&signature::ECDSA_P384_SHA384_FIXED, point),
            Self::Ed25519(key) => unparsed(&signature::ED25519, key),
        }
    }
}

/// Some issuers write a number with a leading zero, as in DER.
fn without_zeros(bytes: Vec<u8>) -> Vec<u8> {
    bytes.into_iter().skip_while(|byte| *byte == 0).collect()
}
