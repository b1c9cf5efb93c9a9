//! Secrets that a plugin's grants name, with their values.

use std::fmt;

/// A secret by its name.
#[derive(Clone, PartialEq)]
pub struct Secret {
    pub name: String,
    /// Whether the plugin itself may read it, not only the host use it in the plugin's place.
    pub readable: bool,
    value: Result<String, String>,
}

impl Secret {
    /// `value`: or why it is not there.
    pub fn new(name: String, readable: bool, value: Result<String, String>) -> Self {
        Self { name, readable, value }
    }

    /// The secret itself, if it is there.
    pub fn expose(&self) -> Option<&str> {
        self.value.as_deref().ok()
    }

    /// Why it is not there.
    pub(super) fn missing(&self) -> Option<&str> {
        self.value.as_ref().err().map(String::as_str)
    }
}

/// Never the value.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secret").field("name", &self.name).finish_non_exhaustive()
    }
}
