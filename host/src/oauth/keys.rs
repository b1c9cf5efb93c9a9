//! The keys of an issuer: a JSON Web Key Set (RFC 7517), and which of them a token must be signed with.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::crypto::{Algorithm, PublicKey};
use super::token::Token;
use crate::json;

/// Keys of a set that are looked at.
const MOST_KEYS: usize = 100;
/// Keys of one name that are tried: each costs the check of a signature.
const MOST_TRIED: usize = 4;
/// How deep a set may nest.
const MAX_DEPTH: usize = 16;

/// A key that verifies signatures.
#[derive(Debug, PartialEq, Eq)]
pub struct Key {
    name: Option<String>,
    /// The only algorithm that it is for.
    algorithm: Option<Algorithm>,
    public: PublicKey,
}

impl Key {
    /// A key that is for signatures and can be used here; others are no error, since a set has keys for others too.
    fn of(jwk: &Map<String, Value>) -> Option<Self> {
        let text = |name: &str| match jwk.get(name) {
            None => Some(None),
            Some(value) => value.as_str().map(Some),
        };
        if text("use")?.is_some_and(|purpose| purpose != "sig") {
            return None;
        }
        if let Some(operations) = jwk.get("key_ops")
            && !operations.as_array()?.iter().any(|operation| operation == "verify")
        {
            return None;
        }
        let public = PublicKey::of(jwk)?;
        let algorithm = match text("alg")? {
            None => None,
            Some(name) => Some(Algorithm::named(name).filter(|algorithm| public.fits(*algorithm))?),
        };
        Some(Self { name: text("kid")?.map(str::to_owned), algorithm, public })
    }

    fn fits(&self, algorithm: Algorithm) -> bool {
        self.public.fits(algorithm) && self.algorithm.is_none_or(|own| own == algorithm)
    }

    /// Whether the token was signed with it.
    pub(super) fn signed(&self, token: &Token<'_>) -> bool {
        self.fits(token.algorithm) && self.public.verifies(token.algorithm, token.message, &token.signature)
    }
}

/// Which key a token names.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Chosen {
    /// One, or some of one name: any of them may have signed it.
    Keys(Vec<Arc<Key>>),
    /// None of this set: the issuer may have a newer one.
    Unknown,
    /// Keys of that name are for other algorithms, or more than one fits: a newer set changes nothing.
    Unfit(&'static str),
}

/// The keys of an issuer.
#[derive(Default)]
pub struct KeySet(Vec<Arc<Key>>);

impl fmt::Debug for KeySet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeySet of {}", self.0.len())
    }
}

impl KeySet {
    /// Reads a set.
    ///
    /// # Errors
    /// If it is none, or no key of it can be used.
    pub fn parse(text: &[u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(text).map_err(|_| "the set of keys is not UTF-8".to_owned())?;
        let tree = json::tree(text, MAX_DEPTH).map_err(|error| format!("the set of keys is not usable: {error}"))?;
        let keys = tree.get("keys").and_then(Value::as_array).ok_or("the set of keys has no list of keys")?;
        let mut found: Vec<Arc<Key>> = Vec::new();
        for key in keys.iter().take(MOST_KEYS).filter_map(Value::as_object).filter_map(Key::of) {
            // A key that is there twice is one.
            if !found.iter().any(|known| **known == key) {
                found.push(Arc::new(key));
            }
        }
        if found.is_empty() {
            return Err("the set of keys has none that can be used".to_owned());
        }
        Ok(Self(found))
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    #[cfg(test)]
    pub(super) fn named(&self, name: &str) -> Option<Arc<Key>> {
        self.0.iter().find(|key| key.name.as_deref() == Some(name)).cloned()
    }

    /// Takes over the keys that were in an earlier set, so that what hangs on them goes on.
    pub(super) fn keep_from(&mut self, earlier: &Self) {
        for key in &mut self.0 {
            if let Some(known) = earlier.0.iter().find(|known| *known == key) {
                *key = Arc::clone(known);
            }
        }
    }

    /// The keys that a token may have been signed with: those of its name, or without a name the only one that fits.
    pub(super) fn choose(&self, algorithm: Algorithm, name: Option<&str>) -> Chosen {
        let mut named = self.0.iter().filter(|key| name.is_none() || key.name.as_deref() == name).peekable();
        let is_known = named.peek().is_some() && name.is_some();
        let most = if name.is_some() { MOST_TRIED } else { 1 };
        let fitting: Vec<_> = named.filter(|key| key.fits(algorithm)).take(most + 1).cloned().collect();
        match fitting.len() {
            0 if is_known => Chosen::Unfit("the key that the token names is for another algorithm"),
            0 => Chosen::Unknown,
            count if count > most => Chosen::Unfit("the token does not say which of several keys it was signed with"),
            _ => Chosen::Keys(fitting),
        }
    }
}
