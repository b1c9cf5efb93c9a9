//! Takes a plugin's secrets out of all that it says, as they are and in their usual encodings.
//!
//! It keeps accidents in. A plugin that reads a secret and means to give it away can write it
//! in other ways.

mod said;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use regex::bytes::{Captures, Regex, RegexBuilder};

use super::secret::Secret;
pub(super) use said::Said;

/// Bytes of the shortest secret that is looked for: a shorter one is found where it is none.
const SHORTEST: usize = 8;
/// Bytes of the pattern that looks for all secrets of a plugin.
const PATTERN: usize = 16 << 20;

/// Knows what to look for.
pub(super) struct Redactor {
    pattern: Regex,
    /// What is found, and the secret's name.
    names: HashMap<Vec<u8>, String>,
}

impl Redactor {
    /// `None` if there is nothing to look for.
    pub(super) fn of(secrets: &[Secret]) -> Option<Self> {
        let mut names = HashMap::new();
        for secret in secrets {
            let Some(value) = secret.expose().filter(|value| value.len() >= SHORTEST) else { continue };
            names.extend(forms(value).into_iter().map(|form| (form.into_bytes(), secret.name.clone())));
        }
        if names.is_empty() {
            return None;
        }
        // The longest first: a form may begin with another.
        let mut forms: Vec<&Vec<u8>> = names.keys().collect();
        forms.sort_by_key(|form| std::cmp::Reverse(form.len()));
        // Every form is ASCII, since a secret is.
        let alternatives: Vec<String> =
            forms.iter().map(|form| regex::escape(&String::from_utf8_lossy(form))).collect();
        let pattern = RegexBuilder::new(&alternatives.join("|")).unicode(false).size_limit(PATTERN).build();
        match pattern {
            Ok(pattern) => Some(Self { pattern, names }),
            Err(error) => {
                tracing::error!("failed to look for a plugin's secrets in what it says: {error}");
                None
            }
        }
    }

    pub(super) fn bytes<'a>(&self, said: &'a [u8]) -> Cow<'a, [u8]> {
        self.pattern.replace_all(said, |found: &Captures<'_>| {
            let name = self.names.get(&found[0]).map_or("", String::as_str);
            format!("[redacted {name}]").into_bytes()
        })
    }

    pub(super) fn text(&self, said: &str) -> String {
        match self.bytes(said.as_bytes()) {
            Cow::Borrowed(_) => said.to_owned(),
            Cow::Owned(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        }
    }
}

/// A secret as it is, and as it looks in JSON, in URLs and in base64.
fn forms(value: &str) -> BTreeSet<String> {
    let mut forms = BTreeSet::from([value.to_owned(), value.replace('\\', r"\\").replace('"', "\\\"")]);
    for hex in [percent_upper, percent_lower] {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        forms.insert(value.bytes().map(|byte| if plain(byte) { char::from(byte).into() } else { hex(byte) }).collect());
    }
    for engine in [STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
        forms.insert(engine.encode(value));
        // In the middle of something else, such as `user:secret`: the digits that are of the
        // secret alone.
        for before in 0..3 {
            let whole = engine.encode([&vec![0; before], value.as_bytes()].concat());
            let (first, last) = ((before * 8).div_ceil(6), (before + value.len()) * 8 / 6);
            forms.insert(whole[first..last].to_owned());
        }
    }
    forms
}

fn percent_upper(byte: u8) -> String {
    format!("%{byte:02X}")
}

fn percent_lower(byte: u8) -> String {
    format!("%{byte:02x}")
}
