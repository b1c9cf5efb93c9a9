//! Plugin names. The server has the same rule (`PluginId`); a test compares the two.

use std::fmt;

/// The longest name, in bytes.
const MAX: usize = 48;
/// Maximum characters of an invalid name that are shown.
const SHOWN: usize = 120;

/// The name of a plugin: `[a-z0-9][a-z0-9-]{0,47}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginName(String);

impl PluginName {
    /// Parses the name.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(name: &str) -> Result<Self, String> {
        let charset = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        if (1..=MAX).contains(&name.len()) && !name.starts_with('-') && name.bytes().all(charset) {
            return Ok(Self(name.to_owned()));
        }
        let shown: String = name.chars().take(SHOWN).flat_map(char::escape_debug).collect();
        Err(format!("the plugin name must be 1 to {MAX} of a-z, 0-9 and -, not starting with -: {shown}"))
    }

    /// The closest valid name to one that other tools allow.
    pub(crate) fn near(name: &str) -> Option<Self> {
        let dashed = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
        let mut near: String = name.trim().chars().map(dashed).collect();
        while near.contains("--") {
            near = near.replace("--", "-");
        }
        near.truncate(MAX);
        Self::parse(near.trim_matches('-')).ok()
    }
}

impl AsRef<str> for PluginName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PluginName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
