//! Patterns of names and URIs: `*` stands for any characters, also for none.

use std::fmt;

use fluent_uri::Uri;

/// Maximum bytes of one pattern, and wildcards in it.
const MAX_PATTERN: usize = 1024;
const MAX_WILDCARDS: usize = 8;

/// A pattern, split at its wildcards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern(Vec<Box<str>>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatternError {
    Empty,
    TooLong,
    TooManyWildcards,
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("must not be empty"),
            Self::TooLong => write!(f, "must not be longer than {MAX_PATTERN} bytes"),
            Self::TooManyWildcards => write!(f, "must not have more than {MAX_WILDCARDS} of *"),
        }
    }
}

impl Pattern {
    /// # Errors
    /// If it is empty, too long, or has too many wildcards.
    pub fn new(text: &str) -> Result<Self, PatternError> {
        let parts: Vec<Box<str>> = text.split('*').map(Into::into).collect();
        match (text.len(), parts.len()) {
            (0, _) => Err(PatternError::Empty),
            (length, _) if length > MAX_PATTERN => Err(PatternError::TooLong),
            (_, parts) if parts > MAX_WILDCARDS + 1 => Err(PatternError::TooManyWildcards),
            _ => Ok(Self(parts)),
        }
    }

    /// Takes time in proportion to both lengths. Case matters.
    pub fn matches(&self, text: &str) -> bool {
        let [first, middle @ .., last] = &self.0[..] else { return self.0.first().is_some_and(|only| **only == *text) };
        // Both ends are fixed; each part between them is looked for as early as possible.
        let Some(mut rest) = text.strip_prefix(&**first).and_then(|rest| rest.strip_suffix(&**last)) else {
            return false;
        };
        middle.iter().all(|part| match rest.find(&**part) {
            Some(at) => {
                rest = &rest[at + part.len()..];
                true
            }
            None => false,
        })
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("*"))
    }
}

/// The forms of a URI that a plugin may take for the same: as it is; normalized (RFC 3986, section 6.2.2), so that
/// `x:/public/../private` and `x:/%70rivate` are also `x:/private`; and so with encoded slashes. None: it is not a URI.
pub(super) fn uri_forms(uri: &str) -> Vec<String> {
    let normalized = |uri: &str| Uri::parse(uri).ok().map(|parsed| parsed.normalize().into_string());
    let Some(plain) = normalized(uri) else { return Vec::new() };
    let slashes = ["%2F", "%2f", "%5C", "%5c"].iter().fold(plain.clone(), |uri, slash| uri.replace(slash, "/"));
    let decoded = normalized(&slashes);
    let mut forms = vec![uri.to_owned(), plain];
    forms.extend(decoded);
    forms.dedup();
    forms
}
