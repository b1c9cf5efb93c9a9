//! Texts that must not be seen.

use std::fmt;
use std::sync::Arc;

use zeroize::Zeroizing;

/// A text that acts for somebody, such as an access token: never shown, and wiped from memory when nobody has it any
/// more.
#[derive(Clone)]
pub struct SecretText(Arc<Zeroizing<String>>);

impl SecretText {
    pub fn new(text: String) -> Self {
        Self(Arc::new(Zeroizing::new(text)))
    }

    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretText {
    /// Without the text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretText")
    }
}
