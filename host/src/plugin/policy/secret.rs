//! Secrets that a plugin's grants name, with their values.

use std::fmt;

use super::denial::Lack;

/// A secret by its name.
#[derive(Clone, PartialEq)]
pub struct Secret {
    pub name: String,
    /// Whether the plugin itself may read it, not only the host use it in the plugin's place.
    pub readable: bool,
    value: Result<String, Missing>,
}

/// Why a secret is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// Reads after "it", with the place.
    pub why: String,
    /// What to do, without the place.
    pub hint: &'static str,
}

impl Secret {
    /// `value`: or why it is not there.
    pub fn new(name: String, readable: bool, value: Result<String, Missing>) -> Self {
        Self { name, readable, value }
    }

    /// The secret itself, if it is there.
    pub fn expose(&self) -> Option<&str> {
        self.value.as_deref().ok()
    }

    /// What a grant lacks that needs it, if it is not there.
    pub(in crate::plugin) fn lack(&self) -> Option<Lack> {
        let Missing { why, hint } = self.value.as_ref().err()?;
        let name = &self.name;
        let told = format!("its secret '{name}' could not be read");
        Some(Lack { logged: format!("{told}: it {why}"), told, hint })
    }
}

/// Never the value.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secret").field("name", &self.name).finish_non_exhaustive()
    }
}
