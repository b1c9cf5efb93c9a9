//! Verifies a component's minisign signature, in the file `NAME.wasm.minisig` next to it.
//!
//! A signature proves who made the bytes, not that they are harmless.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use minisign_verify::{PublicKey, Signature};

use super::file;
use crate::os::paths::with_suffix;
use crate::plugin::error::LoadError;

/// Maximum bytes of a signature file; usual ones have some hundreds.
const MAX_SIZE: u64 = 8 << 10;

/// The signer: a public key in minisign's one-line form.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Signer(String);

impl Signer {
    /// From a stored text, without validation.
    pub fn recorded(key: impl Into<String>) -> Self {
        Self(key.into())
    }
}

impl fmt::Display for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The trusted keys, and whether a signature is required.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Signatures {
    keys: Vec<(Signer, PublicKey)>,
    required: bool,
}

impl Signatures {
    /// `keys` are public keys in one line of base64, starting with `RW`.
    ///
    /// # Errors
    /// The first invalid key.
    pub fn new(keys: &[String], required: bool) -> Result<Self, String> {
        let key = |text: &String| {
            PublicKey::from_base64(text).map(|key| (Signer(text.clone()), key)).map_err(|_| text.clone())
        };
        Ok(Self { keys: keys.iter().map(key).collect::<Result<_, _>>()?, required })
    }

    /// The signer of these bytes, which are the component in that file. Without keys no signature
    /// is read.
    ///
    /// # Errors
    /// If the signature is invalid, or missing where one is required.
    pub fn check(&self, path: &Path, component: &[u8]) -> Result<Option<Signer>, LoadError> {
        if self.keys.is_empty() && !self.required {
            return Ok(None);
        }
        let beside = signature_file(path);
        if std::fs::symlink_metadata(&beside).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            return if self.required { Err(LoadError::Unsigned) } else { Ok(None) };
        }
        let bad = |why: &str| LoadError::BadSignature(why.to_owned());
        let text = file::read_up_to(&beside, MAX_SIZE).map_err(unreadable)?;
        let signature = std::str::from_utf8(&text).ok().and_then(|text| Signature::decode(text).ok());
        let signature = signature.ok_or_else(|| bad("it is not a minisign signature"))?;
        // `true`: also the legacy form without prehashing, of minisign 0.10 and older.
        let signed_by = |(_, key): &&(Signer, PublicKey)| key.verify(component, &signature, true).is_ok();
        match self.keys.iter().find(signed_by) {
            Some((signer, _)) => Ok(Some(signer.clone())),
            None => Err(bad("no trusted key made it for these bytes")),
        }
    }
}

/// The error for a signature file that was not read: an invalid signature, unless it is read again.
fn unreadable(error: LoadError) -> LoadError {
    if error.is_temporary() { error } else { LoadError::BadSignature(format!("failed to {error}")) }
}

/// The path of the signature for a component's file.
pub fn signature_file(path: &Path) -> PathBuf {
    with_suffix(path, ".minisig")
}

#[cfg(test)]
mod tests;
