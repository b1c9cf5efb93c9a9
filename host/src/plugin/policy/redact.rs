//! Takes a plugin's secrets out of all that it says, as they are and in their usual spellings.
//!
//! It keeps accidents in. A plugin that reads a secret and means to give it away can write it
//! in other ways.

mod said;
mod seen;
mod spelling;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};
use regex_automata::meta::Regex;
use regex_automata::util::syntax;

use super::secret::Secret;
pub(in crate::plugin) use said::Said;
use seen::Seen;

/// Bytes of the shortest secret that is looked for: a shorter one is found where it is none.
const SHORTEST: usize = 8;
/// Characters of a plugin's secrets that are looked for in all spellings; each costs some 2 KiB.
const SPELT: usize = 16 << 10;
/// Bytes of what looks for them, and of what it notes on the way, for each thread.
const PATTERN: usize = 64 << 20;
const NOTES: usize = 8 << 20;
/// Secrets that are looked for within each other, one behind the other.
const OVERLAPPING: usize = 256;

/// Knows what to look for.
pub(in crate::plugin) struct Redactor {
    finder: Finder,
    /// The name of each secret, in the order of the patterns.
    names: Vec<String>,
    /// Bytes of the longest spelling of one of them.
    longest: usize,
}

enum Finder {
    Spellings(Regex),
    /// Of more or longer secrets than patterns can be made of: as they are.
    Plain(AhoCorasick),
}

/// A secret that was found.
struct Hit {
    /// Its place among the names.
    secret: usize,
    at: Range<usize>,
}

impl Redactor {
    /// `None` if there is nothing to look for.
    pub(in crate::plugin) fn of(secrets: &[Secret]) -> Option<Self> {
        let value = |secret: &Secret| Some((secret.expose()?.to_owned(), secret.name.clone()));
        let mut secrets: Vec<_> =
            secrets.iter().filter_map(value).filter(|(value, _)| value.len() >= SHORTEST).collect();
        // The longest first: one may begin with another.
        secrets.sort_by_key(|(value, _)| std::cmp::Reverse(value.len()));
        let longest = secrets.first()?.0.len() * spelling::LONGER;
        let (values, names): (Vec<String>, Vec<String>) = secrets.into_iter().unzip();
        let finder = spellings(&values).or_else(|why| {
            let names = names.join(", ");
            tracing::warn!("the secrets {names} are looked for as they are, and not in other spellings: {why}");
            plain(&values).map_err(|error| error.to_string())
        });
        match finder {
            Ok(finder) => Some(Self { finder, names, longest }),
            Err(error) => {
                tracing::error!("failed to look for a plugin's secrets in what it says: {error}");
                None
            }
        }
    }

    /// The first secret from a place on: whose it is, and where.
    fn find(&self, said: &[u8], from: usize) -> Option<Hit> {
        let (secret, at) = match &self.finder {
            Finder::Spellings(regex) => {
                let found = regex.find(regex_automata::Input::new(said).range(from..))?;
                (found.pattern().as_usize(), found.range())
            }
            Finder::Plain(finder) => {
                let found = finder.find(aho_corasick::Input::new(said).range(from..))?;
                (found.pattern().as_usize(), found.range())
            }
        };
        Some(Hit { secret, at })
    }

    /// Every secret in it, also those that begin within another.
    fn find_all<'a>(&'a self, said: &'a [u8]) -> impl Iterator<Item = Hit> + 'a {
        let mut from = 0;
        // Those of one after the other, of which the outermost ends last.
        let mut within = (0, 0);
        std::iter::from_fn(move || {
            let hit = self.find(said, from)?;
            let (start, end) = (hit.at.start, hit.at.end);
            // A run of backslashes begins one spelling, not as many as it has.
            from = start + said[start..].iter().take_while(|byte| **byte == b'\\').count().max(1);
            within = if start < within.0 { (within.0.max(end), within.1 + 1) } else { (end, 0) };
            // Of a secret that repeats itself there may be as many as it has characters.
            if within.1 > OVERLAPPING {
                from = from.max(within.0);
            }
            Some(hit)
        })
    }

    /// What has to go: the secrets of a text as it is and as it is seen, in order and apart.
    fn hits(&self, said: &[u8]) -> Vec<Hit> {
        let mut hits: Vec<Hit> = self.find_all(said).collect();
        for seen in Seen::of(said) {
            hits.extend(self.find_all(&seen.bytes).map(|hit| Hit { at: seen.origin(&hit.at), ..hit }));
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

    pub(in crate::plugin) fn bytes<'a>(&self, said: &'a [u8]) -> Cow<'a, [u8]> {
        let mut told = Vec::new();
        let mut from = 0;
        for Hit { secret, at } in self.hits(said) {
            told.extend_from_slice(&said[from..at.start]);
            // The character after a backslash is part of an escape; what takes its place is not.
            let escapes = told.iter().rev().take_while(|byte| **byte == b'\\').count();
            if escapes % 2 == 1 {
                told.push(b'\\');
            }
            told.extend_from_slice(format!("[redacted {}]", self.names[secret]).as_bytes());
            from = at.end;
        }
        if from == 0 {
            return Cow::Borrowed(said);
        }
        told.extend_from_slice(&said[from..]);
        Cow::Owned(told)
    }

    pub(in crate::plugin) fn text(&self, said: &str) -> String {
        match self.bytes(said.as_bytes()) {
            Cow::Borrowed(_) => said.to_owned(),
            Cow::Owned(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        }
    }

    /// Where bytes that come in pieces may be cut, so that no secret is divided: what is from
    /// there on is looked at again with what follows it. A secret whose spelling is longer than
    /// half a piece may be.
    pub(in crate::plugin) fn cut(&self, piece: &[u8]) -> usize {
        let half = piece.len() / 2;
        // What nobody sees makes a spelling as long as it likes.
        let longest = if Seen::of(piece).next().is_some() { half } else { self.longest.min(half) };
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

/// One pattern for each secret.
fn spellings(values: &[String]) -> Result<Finder, String> {
    let length: usize = values.iter().map(String::len).sum();
    if length > SPELT {
        return Err(format!("together they have more than {SPELT} characters: {length}"));
    }
    let patterns: Vec<String> = values.iter().map(|value| spelling::pattern(value)).collect();
    let limits = Regex::config().nfa_size_limit(Some(PATTERN)).hybrid_cache_capacity(NOTES).utf8_empty(false);
    let bytes = syntax::Config::new().unicode(false).utf8(false);
    let built = Regex::builder().configure(limits).syntax(bytes).build_many(&patterns);
    built.map(Finder::Spellings).map_err(|error| error.to_string())
}

/// The secrets as they are.
fn plain(values: &[String]) -> Result<Finder, aho_corasick::BuildError> {
    AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(values).map(Finder::Plain)
}
