//! Redacts a plugin's secrets in all its output, verbatim and in their usual encodings.
//!
//! It prevents accidents. A plugin that reads a secret and means to leak it can encode it
//! in other ways.

pub(in crate::plugin) mod call;
mod redactable;
mod spelling;
#[cfg(test)]
mod tests;
mod visible;

use std::borrow::Cow;
use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};
use regex_automata::meta::Regex;
use regex_automata::util::syntax;

use super::secret::Secret;
pub(in crate::plugin) use redactable::Redactable;
use visible::Visible;

/// Minimum length, in bytes, of a secret that is redacted: shorter ones match by chance.
const MIN_LENGTH: usize = 8;
/// Characters of a plugin's secrets that are searched in all encodings; each costs some 2 KiB.
const MAX_PATTERN_CHARS: usize = 16 << 10;
/// Bytes of the compiled regex, and of its lazy DFA's cache per thread.
const MAX_PATTERN_BYTES: usize = 64 << 20;
const MAX_CACHE_BYTES: usize = 8 << 20;
/// Maximum number of overlapping matches in a row.
const MAX_OVERLAPPING: usize = 256;

/// How begins what stands where a secret was.
pub(in crate::plugin) const REDACTED: &str = "[redacted ";

/// What stands where a secret was.
pub(in crate::plugin) fn placeholder(secret: &str) -> String {
    format!("{REDACTED}{secret}]")
}

/// Finds and replaces the secrets of one plugin.
pub(in crate::plugin) struct Redactor {
    finder: Finder,
    /// The name of each secret, in the order of the patterns.
    names: Vec<String>,
    /// Bytes of the longest encoding of one of them.
    longest: usize,
}

enum Finder {
    Spellings(Regex),
    /// For more or longer secrets than a regex can hold: verbatim only.
    Plain(AhoCorasick),
}

/// A match.
struct Hit {
    /// Index in `names`.
    secret: usize,
    at: Range<usize>,
}

impl Redactor {
    /// `None` if there is nothing to redact.
    pub(in crate::plugin) fn of(secrets: &[Secret]) -> Option<Self> {
        let (values, names) = split(secrets);
        let longest = values.first()?.len() * spelling::MAX_GROWTH;
        let finder = spellings(&values).or_else(|why| {
            let names = names.join(", ");
            tracing::warn!("the secrets {names} are redacted verbatim only, not in other encodings: {why}");
            plain(&values)
        });
        Self::with(finder, names, longest)
    }

    /// The same for secrets that are found only as they are.
    fn verbatim(secrets: &[Secret]) -> Option<Self> {
        let (values, names) = split(secrets);
        let longest = values.first()?.len();
        Self::with(plain(&values), names, longest)
    }

    fn with(finder: Result<Finder, String>, names: Vec<String>, longest: usize) -> Option<Self> {
        match finder {
            Ok(finder) => Some(Self { finder, names, longest }),
            Err(error) => {
                tracing::error!("failed to set up the redaction of a plugin's secrets: {error}");
                None
            }
        }
    }

    /// The first match from an offset on.
    fn find(&self, text: &[u8], from: usize) -> Option<Hit> {
        let (secret, at) = match &self.finder {
            Finder::Spellings(regex) => {
                let found = regex.find(regex_automata::Input::new(text).range(from..))?;
                (found.pattern().as_usize(), found.range())
            }
            Finder::Plain(finder) => {
                let found = finder.find(aho_corasick::Input::new(text).range(from..))?;
                (found.pattern().as_usize(), found.range())
            }
        };
        Some(Hit { secret, at })
    }

    /// All matches, overlapping ones included.
    fn find_all<'a>(&'a self, text: &'a [u8]) -> impl Iterator<Item = Hit> + 'a {
        let mut from = 0;
        // The end of the current run of overlapping matches, and their number.
        let mut within = (0, 0);
        std::iter::from_fn(move || {
            let hit = self.find(text, from)?;
            let (start, end) = (hit.at.start, hit.at.end);
            // A run of backslashes starts one match, not one per backslash.
            from = start + text[start..].iter().take_while(|byte| **byte == b'\\').count().max(1);
            within = if start < within.0 { (within.0.max(end), within.1 + 1) } else { (end, 0) };
            // A repetitive secret may match at each of its characters.
            if within.1 > MAX_OVERLAPPING {
                from = from.max(within.0);
            }
            Some(hit)
        })
    }

    /// The ranges to redact: matches in the text as it is and in its visible forms, sorted and merged.
    fn hits(&self, text: &[u8]) -> Vec<Hit> {
        let mut hits: Vec<Hit> = self.find_all(text).collect();
        for visible in Visible::of(text) {
            hits.extend(self.find_all(&visible.bytes).map(|hit| Hit { at: visible.origin(&hit.at), ..hit }));
        }
        hits.sort_by_key(|hit| (hit.at.start, std::cmp::Reverse(hit.at.end)));
        hits.dedup_by(|next, last| {
            let overlaps = next.at.start < last.at.end;
            if overlaps {
                last.at.end = last.at.end.max(next.at.end);
            }
            overlaps
        });
        hits
    }

    pub(in crate::plugin) fn bytes<'a>(&self, text: &'a [u8]) -> Cow<'a, [u8]> {
        let mut redacted = Vec::new();
        let mut from = 0;
        for Hit { secret, at } in self.hits(text) {
            redacted.extend_from_slice(&text[from..at.start]);
            // The character after a backslash is part of an escape; its replacement is not.
            let escapes = redacted.iter().rev().take_while(|byte| **byte == b'\\').count();
            if escapes % 2 == 1 {
                redacted.push(b'\\');
            }
            redacted.extend_from_slice(placeholder(&self.names[secret]).as_bytes());
            from = at.end;
        }
        if from == 0 {
            return Cow::Borrowed(text);
        }
        redacted.extend_from_slice(&text[from..]);
        Cow::Owned(redacted)
    }

    pub(in crate::plugin) fn text(&self, text: &str) -> String {
        match self.bytes(text.as_bytes()) {
            Cow::Borrowed(_) => text.to_owned(),
            Cow::Owned(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        }
    }

    /// Where a chunk of a stream may be cut so that no secret is split: the rest is searched again
    /// with the next chunk. A secret whose encoding is longer than half a chunk may be split.
    pub(in crate::plugin) fn cut(&self, piece: &[u8]) -> usize {
        let half = piece.len() / 2;
        // Hidden characters can make an encoding arbitrarily long.
        let longest = if Visible::of(piece).next().is_some() { half } else { self.longest.min(half) };
        let mut cut = piece.len() - longest;
        for hit in self.hits(piece) {
            if hit.at.start >= cut {
                break;
            }
            cut = cut.max(hit.at.end);
        }
        cut
    }
}

/// The values that are long enough, and their names; the longest first: one may be a prefix of another.
fn split(secrets: &[Secret]) -> (Vec<String>, Vec<String>) {
    let value = |secret: &Secret| Some((secret.expose()?.to_owned(), secret.name.clone()));
    let mut secrets: Vec<_> = secrets.iter().filter_map(value).filter(|(value, _)| value.len() >= MIN_LENGTH).collect();
    secrets.sort_by_key(|(value, _)| std::cmp::Reverse(value.len()));
    secrets.into_iter().unzip()
}

/// One regex pattern per secret.
fn spellings(values: &[String]) -> Result<Finder, String> {
    let length: usize = values.iter().map(String::len).sum();
    if length > MAX_PATTERN_CHARS {
        return Err(format!("together they have more than {MAX_PATTERN_CHARS} characters: {length}"));
    }
    let patterns: Vec<String> = values.iter().map(|value| spelling::pattern(value)).collect();
    let limits = Regex::config()
        .nfa_size_limit(Some(MAX_PATTERN_BYTES))
        .hybrid_cache_capacity(MAX_CACHE_BYTES)
        .utf8_empty(false);
    let bytes = syntax::Config::new().unicode(false).utf8(false);
    let built = Regex::builder().configure(limits).syntax(bytes).build_many(&patterns);
    built.map(Finder::Spellings).map_err(|error| error.to_string())
}

/// The secrets verbatim.
fn plain(values: &[String]) -> Result<Finder, String> {
    let built = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(values);
    built.map(Finder::Plain).map_err(|error| error.to_string())
}
