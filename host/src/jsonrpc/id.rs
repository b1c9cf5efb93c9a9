//! A request's id: echoed byte for byte, compared by type and value.
//! It does not know which ids are in flight.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde_json::value::RawValue;

use crate::json::{self, Kind};

/// A string or an integer of any size. `1` and `"1"` differ; `"a"` and `"\u0061"`,
/// `100` and `1e2` are the same.
#[derive(Debug, Clone)]
pub struct RequestId {
    raw: Arc<str>,
    /// What to compare when `raw` is not already the canonical spelling.
    canonical: Option<Box<str>>,
}

/// Why a value cannot be an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidId {
    #[error("must be a string or an integer, not {}", .0.name())]
    Kind(Kind),
    #[error("must be an integer, not a fraction")]
    Fraction,
    #[error("has an exponent that is out of range")]
    Exponent,
    #[error("is not valid Unicode")]
    Unicode,
}

impl RequestId {
    /// The id of a server request.
    pub fn new_number(number: u64) -> Self {
        let raw = number.to_string();
        let canonical = canonical_integer(&raw).ok().flatten();
        Self { raw: raw.into(), canonical }
    }

    pub fn parse(value: &RawValue) -> Result<Self, InvalidId> {
        let raw = value.get().trim();
        let canonical = match Kind::of(value) {
            Kind::String if raw.contains('\\') => {
                let text = json::string(value).ok_or(InvalidId::Unicode)?;
                Some(json::quote(&text).into())
            }
            Kind::String => None,
            Kind::Number => canonical_integer(raw)?,
            other => return Err(InvalidId::Kind(other)),
        };
        Ok(Self { raw: raw.into(), canonical })
    }

    /// The JSON text, as it was received.
    pub fn as_json(&self) -> &str {
        &self.raw
    }

    fn key(&self) -> &str {
        self.canonical.as_deref().unwrap_or(&self.raw)
    }
}

impl PartialEq for RequestId {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for RequestId {}

impl Hash for RequestId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.raw)
    }
}

/// The number as significant digits and a power of ten (`100` is `1e2`, `-0` is `0`),
/// without ever expanding the power; `None` when `raw` is spelled so already.
fn canonical_integer(raw: &str) -> Result<Option<Box<str>>, InvalidId> {
    let plain = raw.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    if plain && (raw == "0" || !raw.ends_with('0')) {
        return Ok(None);
    }
    let (mantissa, power) = raw.split_once(['e', 'E']).unwrap_or((raw, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let (sign, whole) = whole.strip_prefix('-').map_or(("", whole), |digits| ("-", digits));
    let digits = format!("{whole}{fraction}");
    let kept = digits.trim_end_matches('0');
    let trimmed = i64::try_from(digits.len() - kept.len()).map_err(|_| InvalidId::Exponent)?;
    let shift = i64::try_from(fraction.len()).map_err(|_| InvalidId::Exponent)?;
    let kept = kept.trim_start_matches('0');
    if kept.is_empty() {
        return Ok(Some("0".into()));
    }
    let power: i64 = match power.parse() {
        Ok(power) => power,
        Err(_) if power.starts_with('-') => return Err(InvalidId::Fraction),
        Err(_) => return Err(InvalidId::Exponent),
    };
    let power = power.checked_add(trimmed - shift).ok_or(InvalidId::Exponent)?;
    match power {
        ..0 => Err(InvalidId::Fraction),
        0 => Ok(Some(format!("{sign}{kept}").into())),
        _ => Ok(Some(format!("{sign}{kept}e{power}").into())),
    }
}
