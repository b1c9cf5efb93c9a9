//! Digests.

use sha2::Digest;
use wharf_plugin::*;

#[derive(Clone, Copy, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Algorithm {
    #[default]
    Sha256,
    Blake3,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Hash {
    /// The text to hash.
    text: String,
    /// Which digest to compute.
    #[serde(default)]
    algorithm: Algorithm,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Hashed {
    /// Which digest it is.
    algorithm: Algorithm,
    /// The digest, 64 hexadecimal digits.
    hex: String,
    /// How many bytes were hashed.
    bytes: usize,
}

pub(crate) fn hash(_: &Call, args: Hash) -> Result<Json<Hashed>> {
    let text = args.text.as_bytes();
    let digest: [u8; 32] = match args.algorithm {
        Algorithm::Sha256 => sha2::Sha256::digest(text).into(),
        Algorithm::Blake3 => blake3::hash(text).into(),
    };
    Ok(Json(Hashed { algorithm: args.algorithm, hex: hex(&digest), bytes: text.len() }))
}

fn hex(bytes: &[u8]) -> String {
    let nibbles = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    nibbles.filter_map(|nibble| char::from_digit(nibble.into(), 16)).collect()
}
