//! JSON as text: checks, members of one object, strings. Values that only pass through stay text;
//! trees are parsed only here.

mod check;
mod foreign;
mod members;
mod names;
mod plain;
#[cfg(test)]
mod tests;
mod tree;
mod write;

use std::borrow::Cow;
use std::fmt;

use serde_json::value::RawValue;

pub use check::{DEPTH_CAP, MAX_EXPONENT, MAX_NUMBER, Seen, check};
pub use foreign::Foreign;
pub use members::{Items, MembersError, Object, entries, items, members};
pub use tree::{canonical, read, tree};
pub use write::{Raw, Text, number, to_text};

/// How deep a message may nest: what `serde_json::Value` accepts, so that text which
/// passed [`check`] can also be parsed to a tree.
pub const MAX_DEPTH: usize = 127;

/// The reason in a [`JsonError`] when the depth limit was passed.
pub const NESTING: &str = "nesting is deeper than the limit";
/// The reason for a repeated name in an object: parsers take the first or the last, or keep both.
pub const REPEATED: &str = "a member's name is repeated";
/// The reason for a name that the JSON library reserves.
pub const RESERVED: &str = "a member's name is reserved for the JSON library";
/// The reason where a number is too long, or its exponent too large.
pub const NUMBER: &str = "a number is longer or larger than the limit";

/// Where and why a text is not acceptable JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonError {
    /// Bytes before the fault.
    pub offset: usize,
    /// A lowercase fragment.
    pub reason: &'static str,
}

impl JsonError {
    /// A code for programs.
    pub fn code(&self) -> &'static str {
        match self.reason {
            NESTING => "nesting_limit",
            REPEATED => "repeated_member",
            RESERVED => "reserved_name",
            NUMBER => "number_limit",
            _ => "invalid_json",
        }
    }

    /// Whether the text may be JSON as far as it was read, but parsers may disagree on its value, or
    /// take unbounded time.
    pub fn is_ambiguous(&self) -> bool {
        matches!(self.reason, REPEATED | RESERVED | NUMBER)
    }
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.reason, self.offset)
    }
}

impl std::error::Error for JsonError {}

/// The six kinds of JSON value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Object,
    Array,
    String,
    Number,
    Bool,
    Null,
}

impl Kind {
    /// The kind of a value, by its first byte.
    pub fn of(raw: &RawValue) -> Kind {
        Self::of_text(raw.get())
    }

    /// The kind of a text that is known to be JSON.
    pub fn of_text(json: &str) -> Kind {
        match json.trim_start().as_bytes().first() {
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::Array,
            Some(b'"') => Kind::String,
            Some(b't' | b'f') => Kind::Bool,
            Some(b'n') => Kind::Null,
            _ => Kind::Number,
        }
    }

    /// The kind with its article, for error messages.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Object => "an object",
            Kind::Array => "an array",
            Kind::String => "a string",
            Kind::Number => "a number",
            Kind::Bool => "a boolean",
            Kind::Null => "null",
        }
    }
}

/// The decoded string; `None` if it is not a string or has a lone surrogate.
pub fn string(raw: &RawValue) -> Option<Cow<'_, str>> {
    let text = raw.get().trim();
    let plain = text.strip_prefix('"')?.strip_suffix('"')?;
    if plain.contains('\\') {
        serde_json::from_str::<String>(text).ok().map(Cow::Owned)
    } else {
        Some(Cow::Borrowed(plain))
    }
}

/// The same JSON on one line. A text without CR and LF is returned unchanged; otherwise
/// all insignificant whitespace is removed. `text` must be valid JSON, which has raw line
/// breaks only outside of strings.
pub fn single_line(text: &str) -> Cow<'_, str> {
    if memchr::memchr2(b'\n', b'\r', text.as_bytes()).is_none() {
        return Cow::Borrowed(text);
    }
    let (mut in_string, mut escaped) = (false, false);
    let line = text
        .chars()
        .filter(|&c| {
            if in_string {
                in_string = escaped || c != '"';
                escaped = !escaped && c == '\\';
                // Not valid JSON, but line breaks must be removed in any case.
                return !matches!(c, '\n' | '\r');
            }
            in_string = c == '"';
            !matches!(c, ' ' | '\t' | '\n' | '\r')
        })
        .collect();
    Cow::Owned(line)
}

/// Appends `text` as a JSON string, quotes included.
pub fn write_str(out: &mut String, text: &str) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    out.reserve(text.len() + 2);
    out.push('"');
    let mut rest = text;
    loop {
        let (plain, special) = rest.split_at(plain::plain(rest.as_bytes()));
        out.push_str(plain);
        // A byte that needs escaping is ASCII.
        let Some(byte) = special.bytes().next() else { break };
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            0x08 => out.push_str("\\b"),
            0x0c => out.push_str("\\f"),
            _ => {
                out.push_str("\\u00");
                out.push(char::from(HEX[usize::from(byte >> 4)]));
                out.push(char::from(HEX[usize::from(byte & 15)]));
            }
        }
        rest = &special[1..];
    }
    out.push('"');
}

/// `text` as a JSON string, quotes included.
pub fn quote(text: &str) -> String {
    let mut out = String::new();
    write_str(&mut out, text);
    out
}
