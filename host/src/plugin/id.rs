//! Ids of plugins and digests of components.
//!
//! Independent of folders: the catalog maps files to ids.

use std::fmt;
use std::sync::Arc;

use crate::skills::is_skill_name;

/// The id of a plugin: `[a-z0-9][a-z0-9-]{0,47}`; or of a skill in a plugin folder, [`PluginId::of_skill`].
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PluginId(Arc<str>);

/// A name that is not a valid plugin id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("parse the plugin name, which must be 1 to 48 of a-z, 0-9 and -, not starting with -: {0}")]
pub struct InvalidPluginId(String);

impl PluginId {
    /// Maximum length, in bytes.
    pub const MAX: usize = 48;

    /// Parses and validates a name.
    pub fn parse(name: &str) -> Result<Self, InvalidPluginId> {
        let bytes = name.as_bytes();
        let charset = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'-';
        let good = !bytes.is_empty() && bytes.len() <= Self::MAX && bytes[0] != b'-' && bytes.iter().all(charset);
        if good { Ok(Self(name.into())) } else { Err(InvalidPluginId(crate::text::quote(name, 120))) }
    }

    /// The id of a file by its name without `.wasm`, as compilers write it: capitals become small
    /// letters, and `_`, `.` and spaces become `-`.
    pub fn of_file(stem: &str) -> Result<Self, InvalidPluginId> {
        let mapped = |c: char| if matches!(c, '_' | '.' | ' ') { '-' } else { c.to_ascii_lowercase() };
        let name: String = stem.chars().map(mapped).collect();
        Self::parse(&name).map_err(|_| InvalidPluginId(crate::text::quote(stem, 120)))
    }

    /// The id under which a skill is served, pinned and recorded: `skill:` and its name. No plugin has such an id.
    pub fn of_skill(name: &str) -> Self {
        Self(format!("{SKILL}{name}").into())
    }

    /// The same of a text that is such an id.
    pub fn parse_skill(text: &str) -> Option<Self> {
        text.strip_prefix(SKILL).filter(|name| is_skill_name(name)).map(Self::of_skill)
    }

    /// Whether it is that of a skill.
    pub fn is_skill(&self) -> bool {
        self.0.starts_with(SKILL)
    }
}

/// Begins the ids of skills.
const SKILL: &str = "skill:";

impl AsRef<str> for PluginId {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PluginId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for PluginId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &self.0)
    }
}

/// The BLAKE3 hash of a component's bytes, or of its canonical surface.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Hashes a component.
    pub fn of(component: &[u8]) -> Self {
        Self(*blake3::hash(component).as_bytes())
    }

    /// Parses 64 hexadecimal digits, with or without the prefix `blake3:`.
    pub fn parse(text: &str) -> Option<Self> {
        let hash = blake3::Hash::from_hex(text.strip_prefix("blake3:").unwrap_or(text)).ok()?;
        Some(Self(*hash.as_bytes()))
    }

    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The first 12 hexadecimal digits, enough for people to distinguish two files.
    pub fn short(&self) -> String {
        let mut hex = self.to_string();
        hex.truncate(12);
        hex
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}
