//! `requestState`: the state of a call for its next round, encrypted and authenticated, since the
//! client stores it.
//!
//! XChaCha20-Poly1305. Principal, plugin and digest, method, name and arguments are the additional
//! authenticated data: not stored, but they must be the same again.
//!
//! Source: MCP 2026-07-28, basic/patterns/mrtr, "Security".

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::json;
use crate::plugin::{Digest, PluginId};

/// How long a user may take to answer.
pub(in crate::server) const EXPIRY: Duration = Duration::from_secs(600);
const NONCE: usize = 24;
/// Maximum characters of a state: the plugin's part, encoded in base64 twice, and the forms.
const MAX_LENGTH: usize = 1 << 20;

pub struct Seal(XChaCha20Poly1305);

/// What a state is bound to.
pub struct Binding<'a> {
    pub principal: &'a str,
    pub plugin: &'a PluginId,
    pub digest: &'a Digest,
    pub method: &'a str,
    /// Of the tool or prompt, or the resource's URI.
    pub name: &'a str,
    /// A JSON object; the order of its members does not matter.
    pub arguments: &'a str,
    /// The extra grants and limits that the call has: with another token of the same user it would be another call.
    pub extras: Vec<Box<str>>,
}

/// Why a state is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SealError {
    Expired,
    /// Modified, forged, or of another request, plugin version, principal or server.
    Invalid,
}

#[derive(Serialize, Deserialize)]
struct Dated<T> {
    /// Seconds since 1970.
    until: u64,
    #[serde(flatten)]
    content: T,
}

impl Seal {
    pub fn new(key: &[u8; 32]) -> Self {
        Self(XChaCha20Poly1305::new(key.into()))
    }

    /// The content, an object of strings, numbers and lists of them, as base64url.
    ///
    /// # Errors
    /// If the system's random number generator fails: a nonce must never repeat.
    pub fn close<T: Serialize>(
        &self,
        binding: &Binding<'_>,
        content: T,
        now: SystemTime,
    ) -> Result<String, getrandom::Error> {
        let mut nonce = [0; NONCE];
        getrandom::fill(&mut nonce)?;
        let dated = Dated { until: seconds(now + EXPIRY), content };
        // Such content always serializes.
        let plain = serde_json::to_vec(&dated).unwrap_or_default();
        let payload = Payload { msg: &plain, aad: &binding.hash() };
        let secret = self.0.encrypt(&XNonce::from(nonce), payload).unwrap_or_default();
        Ok(URL_SAFE_NO_PAD.encode([nonce.as_slice(), &secret].concat()))
    }

    /// # Errors
    /// If the text was not made by [`Seal::close`] for the same binding, or has expired.
    pub fn open<T: DeserializeOwned>(
        &self,
        binding: &Binding<'_>,
        text: &str,
        now: SystemTime,
    ) -> Result<T, SealError> {
        let bytes =
            Some(text).filter(|text| text.len() <= MAX_LENGTH).and_then(|text| URL_SAFE_NO_PAD.decode(text).ok());
        let bytes = bytes.ok_or(SealError::Invalid)?;
        let (nonce, secret) = bytes.split_first_chunk::<NONCE>().ok_or(SealError::Invalid)?;
        let payload = Payload { msg: secret, aad: &binding.hash() };
        let plain = self.0.decrypt(&XNonce::from(*nonce), payload).map_err(|_| SealError::Invalid)?;
        let plain = str::from_utf8(&plain).map_err(|_| SealError::Invalid)?;
        let dated: Dated<T> = json::read(plain).map_err(|_| SealError::Invalid)?;
        if dated.until < seconds(now) {
            return Err(SealError::Expired);
        }
        Ok(dated.content)
    }
}

impl Binding<'_> {
    fn hash(&self) -> [u8; 32] {
        let mut hash = blake3::Hasher::new_derive_key("wharf requestState v1");
        let arguments = canonical(self.arguments);
        let plugin = self.plugin.as_ref().as_bytes();
        let parts = [self.principal.as_bytes(), plugin, self.digest.as_bytes(), self.method.as_bytes()];
        let extras = self.extras.iter().map(|name| name.as_bytes());
        for part in parts.into_iter().chain([self.name.as_bytes(), arguments.as_bytes()]).chain(extras) {
            // Length-prefixed, so that different lists of parts never hash the same.
            hash.update(&(part.len() as u64).to_le_bytes()).update(part);
        }
        *hash.finalize().as_bytes()
    }
}

/// The same JSON with sorted members: a client may serialize its request differently for each
/// round. A text that cannot be parsed is returned verbatim.
pub(in crate::server) fn canonical(text: &str) -> String {
    let Ok(mut tree) = json::tree(text, json::MAX_DEPTH) else { return text.to_owned() };
    tree.sort_all_objects();
    json::canonical(&tree)
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests;
