//! A text without its hidden characters, with the original position of each byte.
//!
//! The host drops hidden characters from texts and JSON after it has redacted the secrets; one
//! that a plugin inserts into a secret must not keep it from being found.

use std::iter::successors;
use std::ops::Range;

use crate::text::{is_deceptive, replacement};

pub(super) struct Visible {
    pub(super) bytes: Vec<u8>,
    /// Offsets, each with the number of bytes dropped before it.
    dropped: Vec<(usize, usize)>,
}

/// A hidden character or its escape.
#[derive(Clone)]
struct Hidden {
    at: Range<usize>,
    /// Whether the host replaces it; otherwise it drops it.
    replaced: bool,
}

impl Hidden {
    fn of(c: char, at: Range<usize>) -> Self {
        Self { at, replaced: !replacement(c).is_empty() }
    }
}

impl Visible {
    /// The text without hidden characters; without these and their JSON escapes, since an escape
    /// may also be a backslash and a letter; and without those of both that are not replaced.
    /// Variants equal to the text are left out.
    pub(super) fn of(text: &[u8]) -> impl Iterator<Item = Self> {
        let plain = text.iter().fold(true, |plain, byte| plain & matches!(byte, 0x20..0x7f | b'\n' | b'\t'));
        let characters = if plain { Vec::new() } else { hidden_characters(text) };
        let escapes = hidden_escapes(text);
        let mut both = [&characters[..], &escapes].concat();
        both.sort_unstable_by_key(|hidden| hidden.at.start);
        let gone: Vec<Hidden> = both.iter().filter(|hidden| !hidden.replaced).cloned().collect();
        let mut ways = Vec::new();
        if !characters.is_empty() {
            ways.push(Self::without(text, &characters));
        }
        if !escapes.is_empty() {
            ways.push(Self::without(text, &both));
        }
        if !gone.is_empty() && gone.len() < both.len() {
            ways.push(Self::without(text, &gone));
        }
        ways.into_iter()
    }

    fn without(text: &[u8], hidden: &[Hidden]) -> Self {
        let (mut bytes, mut dropped) = (Vec::with_capacity(text.len()), Vec::new());
        let (mut from, mut sum) = (0, 0);
        for Hidden { at, .. } in hidden {
            bytes.extend_from_slice(&text[from..at.start]);
            sum += at.len();
            dropped.push((bytes.len(), sum));
            from = at.end;
        }
        bytes.extend_from_slice(&text[from..]);
        Self { bytes, dropped }
    }

    /// The original range of a non-empty part, with all that was dropped within.
    pub(super) fn origin(&self, part: &Range<usize>) -> Range<usize> {
        let origin = |at: usize| {
            let before = self.dropped.partition_point(|(from, _)| *from <= at);
            at + before.checked_sub(1).map_or(0, |last| self.dropped[last].1)
        };
        origin(part.start)..origin(part.end - 1) + 1
    }
}

fn hidden_characters(text: &[u8]) -> Vec<Hidden> {
    let (mut hidden, mut at) = (Vec::new(), 0);
    for chunk in text.utf8_chunks() {
        for c in chunk.valid().chars() {
            if is_deceptive(c) {
                hidden.push(Hidden::of(c, at..at + c.len_utf8()));
            }
            at += c.len_utf8();
        }
        at += chunk.invalid().len();
    }
    hidden
}

/// The escapes of hidden characters in JSON strings.
fn hidden_escapes(text: &[u8]) -> Vec<Hidden> {
    let next = |from: usize| Some(from + memchr::memchr(b'\\', text.get(from..)?)?);
    let mut hidden = Vec::new();
    // Two bytes on: an escaped backslash does not start an escape.
    for at in successors(next(0), |at| next(at + 2)) {
        if let Some((c, length)) = hidden_escape(&text[at..]) {
            hidden.push(Hidden::of(c, at..at + length));
        }
    }
    hidden
}

/// The hidden character whose escape a text starts with, and the escape's length in bytes.
fn hidden_escape(text: &[u8]) -> Option<(char, usize)> {
    let unit = |from: usize| {
        let digits = text.get(from..from + 6)?.strip_prefix(b"\\u")?;
        digits.iter().try_fold(0, |unit, digit| Some(unit << 4 | char::from(*digit).to_digit(16)?))
    };
    match text.get(1)? {
        b'b' => return Some(('\u{8}', 2)),
        b'f' => return Some(('\u{c}', 2)),
        b'r' => return Some(('\r', 2)),
        _ => {}
    }
    let first = unit(0)?;
    let (c, length) = match first {
        0xd800..0xdc00 => (0x10000 + ((first - 0xd800) << 10) + unit(6)?.checked_sub(0xdc00)?, 12),
        _ => (first, 6),
    };
    char::from_u32(c).filter(|c| is_deceptive(*c)).map(|c| (c, length))
}
