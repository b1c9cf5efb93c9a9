//! The text of a JWT: header, claims and signature, as strictly as RFC 7515, 8725 and 9068 allow.
//!
//! Verifies no signature: what is read here was claimed by whoever sent it.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value};

use super::crypto::Algorithm;
use super::refusal::Refusal;
use crate::json;

/// Bytes of a token. Those of large providers with many groups have 4 to 8 KiB.
pub const MAX_TOKEN: usize = 16 << 10;
/// How deep header and claims may nest.
const MAX_DEPTH: usize = 32;

/// A JWT that was read, and not verified.
pub struct Token<'a> {
    pub algorithm: Algorithm,
    pub key_id: Option<String>,
    pub claims: Map<String, Value>,
    /// What was signed: the text before the second dot.
    pub(super) message: &'a [u8],
    pub(super) signature: Vec<u8>,
}

impl fmt::Debug for Token<'_> {
    /// Without anything that is secret or personal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token").field("algorithm", &self.algorithm).finish_non_exhaustive()
    }
}

/// Whether a token has the form of a signed JWT: three parts of base64url.
pub fn is_jwt(token: &str) -> bool {
    let is_code = |part: &str| part.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    // `alg: none` leaves the last part empty.
    let parts: Vec<&str> = token.split('.').take(4).collect();
    parts.len() == 3 && !parts[0].is_empty() && !parts[1].is_empty() && parts.into_iter().all(is_code)
}

impl<'a> Token<'a> {
    /// Reads a token.
    ///
    /// # Errors
    /// If it is too long, malformed, or not signed in a way that is accepted.
    pub fn parse(token: &'a str) -> Result<Self, Refusal> {
        if token.len() > MAX_TOKEN {
            return Err(Refusal::invalid("the token has more than 16 KiB"));
        }
        let malformed = || Refusal::invalid("the token is no JWT of three parts");
        if !is_jwt(token) {
            return Err(malformed());
        }
        let (signed, signature) = token.rsplit_once('.').ok_or_else(malformed)?;
        let (header, claims) = signed.split_once('.').ok_or_else(malformed)?;
        let header = object(header, "the header of the token")?;
        let (algorithm, key_id) = checked(&header)?;
        let claims = object(claims, "the set of claims of the token")?;
        let signature = URL_SAFE_NO_PAD.decode(signature);
        let signature = signature.map_err(|_| Refusal::invalid("the signature of the token is not base64url"))?;
        Ok(Self { algorithm, key_id, claims, message: signed.as_bytes(), signature })
    }

    /// The issuer that it claims to be of.
    pub fn issuer(&self) -> Option<&str> {
        self.claims.get("iss")?.as_str()
    }
}

/// The object that a part of a token has.
fn object(part: &str, what: &str) -> Result<Map<String, Value>, Refusal> {
    let bytes = URL_SAFE_NO_PAD.decode(part).map_err(|_| Refusal::invalid(format!("{what} is not base64url")))?;
    let text = String::from_utf8(bytes).map_err(|_| Refusal::invalid(format!("{what} is not UTF-8")))?;
    // The reason is a fixed text, and its place a number.
    match json::tree(&text, MAX_DEPTH).map_err(|error| Refusal::invalid(format!("{what} is not usable: {error}")))? {
        Value::Object(object) => Ok(object),
        _ => Err(Refusal::invalid(format!("{what} is no object"))),
    }
}

/// The algorithm and the key's name. Where a key comes from (`jku`, `jwk`, `x5u`, `x5c`) is not for the token to say:
/// these are ignored.
fn checked(header: &Map<String, Value>) -> Result<(Algorithm, Option<String>), Refusal> {
    let algorithm = header.get("alg").and_then(Value::as_str).and_then(Algorithm::named);
    let algorithm =
        algorithm.ok_or_else(|| Refusal::invalid("the token is not signed by an algorithm that is accepted"))?;
    let is_access_token = match header.get("typ") {
        None => true,
        Some(Value::String(kind)) => {
            ["at+jwt", "application/at+jwt", "JWT"].iter().any(|known| kind.eq_ignore_ascii_case(known))
        }
        Some(_) => false,
    };
    if !is_access_token {
        return Err(Refusal::invalid("the token is of another type than an access token"));
    }
    // None of its extensions is known here.
    if header.contains_key("crit") {
        return Err(Refusal::invalid("the token has critical extensions"));
    }
    match header.get("kid") {
        None => Ok((algorithm, None)),
        Some(Value::String(name)) => Ok((algorithm, Some(name.clone()))),
        Some(_) => Err(Refusal::invalid("the name of the key in the token is no text")),
    }
}
