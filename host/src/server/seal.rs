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
/// Bytes of the id of a key. Not secret, and no proof: it says which key to try.
const ID: usize = 6;
/// Characters of it.
const ID_LENGTH: usize = 8;
/// What the texts of [`Seal::wrap`] are bound to.
const WRAPPED: &[u8] = b"wharf wrapped v1";
/// Maximum characters of one.
const MAX_WRAPPED: usize = 512;
/// Maximum characters of a state: the plugin's part, encoded in base64 twice, and the forms.
pub(in crate::server) const MAX_LENGTH: usize = 1 << 20;

/// One key.
pub struct Seal {
    cipher: XChaCha20Poly1305,
    id: [u8; ID],
}

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
        let mut id = [0; ID];
        id.copy_from_slice(&blake3::derive_key("wharf seal id v1", key)[..ID]);
        Self { cipher: XChaCha20Poly1305::new(key.into()), id }
    }

    /// Whether a text says that it was made with this key.
    pub fn made(&self, text: &str) -> bool {
        let mut id = [0; ID];
        let begin = text.as_bytes().get(..ID_LENGTH);
        begin.is_some_and(|begin| URL_SAFE_NO_PAD.decode_slice(begin, &mut id).is_ok()) && id == self.id
    }

    /// A short text that is not bound to a request, and does not expire.
    ///
    /// # Errors
    /// As [`Seal::close`].
    pub fn wrap(&self, bytes: &[u8]) -> Result<String, getrandom::Error> {
        self.encrypt(bytes, WRAPPED)
    }

    /// What [`Seal::wrap`] made a text of. `None`: it made none of it.
    pub fn unwrap(&self, text: &str) -> Option<Vec<u8>> {
        self.decrypt(text, MAX_WRAPPED, WRAPPED)
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
        let dated = Dated { until: seconds(now + EXPIRY), content };
        // Such content always serializes.
        let plain = serde_json::to_vec(&dated).unwrap_or_default();
        self.encrypt(&plain, &binding.hash())
    }

    /// # Errors
    /// If the text was not made by [`Seal::close`] for the same binding, or has expired.
    pub fn open<T: DeserializeOwned>(
        &self,
        binding: &Binding<'_>,
        text: &str,
        now: SystemTime,
    ) -> Result<T, SealError> {
        let plain = self.decrypt(text, MAX_LENGTH, &binding.hash()).ok_or(SealError::Invalid)?;
        let plain = str::from_utf8(&plain).map_err(|_| SealError::Invalid)?;
        let dated: Dated<T> = json::read(plain).map_err(|_| SealError::Invalid)?;
        if dated.until < seconds(now) {
            return Err(SealError::Expired);
        }
        Ok(dated.content)
    }

    fn encrypt(&self, plain: &[u8], bound_to: &[u8]) -> Result<String, getrandom::Error> {
        let mut nonce = [0; NONCE];
        getrandom::fill(&mut nonce)?;
        let payload = Payload { msg: plain, aad: bound_to };
        let secret = self.cipher.encrypt(&XNonce::from(nonce), payload).unwrap_or_default();
        Ok(URL_SAFE_NO_PAD.encode([self.id.as_slice(), &nonce, &secret].concat()))
    }

    fn decrypt(&self, text: &str, max_length: usize, bound_to: &[u8]) -> Option<Vec<u8>> {
        let bytes = URL_SAFE_NO_PAD.decode(Some(text).filter(|text| text.len() <= max_length)?).ok()?;
        let (id, sealed) = bytes.split_first_chunk::<ID>()?;
        let (nonce, secret) = sealed.split_first_chunk::<NONCE>()?;
        if *id != self.id {
            return None;
        }
        self.cipher.decrypt(&XNonce::from(*nonce), Payload { msg: secret, aad: bound_to }).ok()
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
