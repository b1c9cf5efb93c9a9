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
use serde::{Deserialize, Serialize};

use crate::json;
use crate::plugin::abi::Ask;
use crate::plugin::{Digest, PluginId};
use crate::protocol;

/// How long a user may take to answer.
pub(in crate::server) const EXPIRY: Duration = Duration::from_secs(600);
const NONCE: usize = 24;
/// Maximum characters of a state: the plugin's part, encoded in base64 twice, and the forms.
const MAX_LENGTH: usize = 1 << 20;

pub struct Seal(XChaCha20Poly1305);

/// What a state is bound to.
#[derive(Clone, Copy)]
pub struct Binding<'a> {
    pub principal: &'a str,
    pub plugin: &'a PluginId,
    pub digest: &'a Digest,
    pub method: &'a str,
    /// Of the tool or prompt, or the resource's URI.
    pub name: &'a str,
    /// A JSON object; the order of its members does not matter.
    pub arguments: &'a str,
}

/// The plaintext of a state.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sealed {
    /// What the client was asked for, in the plugin's order.
    pub(in crate::server) asked: Vec<Question>,
    /// The plugin's state.
    #[serde(with = "base64_bytes", skip_serializing_if = "Option::is_none", default)]
    pub(in crate::server) state: Option<Vec<u8>>,
    /// Rounds so far.
    pub(in crate::server) round: u32,
}

/// The part of a question that is needed to parse its answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(in crate::server) struct Question {
    pub(in crate::server) key: String,
    pub(in crate::server) kind: QuestionKind,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::server) enum QuestionKind {
    /// The JSON Schema of its answer.
    Form(String),
    Url,
    /// Whether the model is offered tools.
    Sample(bool),
    Roots,
}

impl QuestionKind {
    /// The client capability that the question needs.
    pub(in crate::server) fn needs(&self) -> protocol::Ask {
        match self {
            Self::Form(_) => protocol::Ask::ElicitationForm,
            Self::Url => protocol::Ask::ElicitationUrl,
            Self::Sample(true) => protocol::Ask::SamplingTools,
            Self::Sample(false) => protocol::Ask::Sampling,
            Self::Roots => protocol::Ask::Roots,
        }
    }
}

impl From<&Ask> for QuestionKind {
    fn from(ask: &Ask) -> Self {
        match ask {
            Ask::Form(form) => Self::Form(form.schema.clone()),
            Ask::Url(_) => Self::Url,
            Ask::Sample(sampling) => Self::Sample(super::wire::question::offers_tools(sampling)),
            Ask::Roots => Self::Roots,
        }
    }
}

/// Why a state is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SealError {
    Expired,
    /// Modified, forged, or of another request, plugin version, principal or server.
    Invalid,
}

#[derive(Serialize, Deserialize)]
struct Dated {
    /// Seconds since 1970.
    until: u64,
    #[serde(flatten)]
    sealed: Sealed,
}

impl Seal {
    pub fn new(key: &[u8; 32]) -> Self {
        Self(XChaCha20Poly1305::new(key.into()))
    }

    /// The state as base64url.
    ///
    /// # Errors
    /// If the system's random number generator fails: a nonce must never repeat.
    pub fn close(&self, binding: &Binding<'_>, sealed: Sealed, now: SystemTime) -> Result<String, getrandom::Error> {
        let mut nonce = [0; NONCE];
        getrandom::fill(&mut nonce)?;
        let dated = Dated { until: seconds(now + EXPIRY), sealed };
        // Strings, numbers and lists of them always serialize.
        let plain = serde_json::to_vec(&dated).unwrap_or_default();
        let payload = Payload { msg: &plain, aad: &binding.hash() };
        let secret = self.0.encrypt(&XNonce::from(nonce), payload).unwrap_or_default();
        Ok(URL_SAFE_NO_PAD.encode([nonce.as_slice(), &secret].concat()))
    }

    /// # Errors
    /// If the text was not made by [`Seal::close`] for the same binding, or has expired.
    pub fn open(&self, binding: &Binding<'_>, text: &str, now: SystemTime) -> Result<Sealed, SealError> {
        let bytes =
            Some(text).filter(|text| text.len() <= MAX_LENGTH).and_then(|text| URL_SAFE_NO_PAD.decode(text).ok());
        let bytes = bytes.ok_or(SealError::Invalid)?;
        let (nonce, secret) = bytes.split_first_chunk::<NONCE>().ok_or(SealError::Invalid)?;
        let payload = Payload { msg: secret, aad: &binding.hash() };
        let plain = self.0.decrypt(&XNonce::from(*nonce), payload).map_err(|_| SealError::Invalid)?;
        let plain = str::from_utf8(&plain).map_err(|_| SealError::Invalid)?;
        let dated: Dated = json::read(plain).map_err(|_| SealError::Invalid)?;
        if dated.until < seconds(now) {
            return Err(SealError::Expired);
        }
        Ok(dated.sealed)
    }
}

impl Binding<'_> {
    fn hash(&self) -> [u8; 32] {
        let mut hash = blake3::Hasher::new_derive_key("wharf requestState v1");
        let arguments = canonical(self.arguments);
        let plugin = self.plugin.as_ref().as_bytes();
        let parts = [self.principal.as_bytes(), plugin, self.digest.as_bytes(), self.method.as_bytes()];
        for part in parts.into_iter().chain([self.name.as_bytes(), arguments.as_bytes()]) {
            // Length-prefixed, so that different lists of parts never hash the same.
            hash.update(&(part.len() as u64).to_le_bytes()).update(part);
        }
        *hash.finalize().as_bytes()
    }
}

/// The same JSON with sorted members: a client may serialize its request differently for each
/// round. A text that cannot be parsed is returned verbatim.
fn canonical(text: &str) -> String {
    let Ok(mut tree) = json::tree(text, json::MAX_DEPTH) else { return text.to_owned() };
    tree.sort_all_objects();
    json::canonical(&tree)
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

mod base64_bytes {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD_NO_PAD;
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(bytes: &Option<Vec<u8>>, serializer: S) -> Result<S::Ok, S::Error> {
        match bytes {
            Some(bytes) => serializer.serialize_str(&STANDARD_NO_PAD.encode(bytes)),
            None => serializer.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<u8>>, D::Error> {
        let text = String::deserialize(deserializer)?;
        STANDARD_NO_PAD.decode(text).map(Some).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests;
