//! A text as it is once what nobody sees is dropped, and where each byte of it was.
//!
//! The host drops hidden characters from texts and JSON after it has taken out the secrets; one
//! that a plugin puts between the characters of a secret must not keep it from being found.

use std::iter::successors;
use std::ops::Range;

use crate::plugin::text::is_deceptive;

pub(super) struct Seen {
    pub(super) bytes: Vec<u8>,
    /// From which place on how many bytes have been dropped.
    dropped: Vec<(usize, usize)>,
}

impl Seen {
    /// Without hidden characters, and without these and their JSON escapes. An escape may also be
    /// a backslash and a letter, so that one does not stand for the other; and with those that become a space
    /// or the end of a line. None that change nothing.
    pub(super) fn of(said: &[u8]) -> impl Iterator<Item = Self> {
        let plain = said.iter().fold(true, |plain, byte| plain & matches!(byte, 0x20..0x7f | b'\n' | b'\t'));
        let characters = if plain { Vec::new() } else { hidden_characters(said) };
        let mut escapes = hidden_escapes(said);
        // Some become a space or the end of a line.
        let gone: Vec<_> = characters.iter().chain(&escapes).filter(|h| !is_replaced(&said[(*h).clone()])).collect();
        let replaced = !gone.is_empty() && gone.len() < characters.len() + escapes.len();
        let kept = replaced.then(|| {
            let mut gone: Vec<_> = gone.into_iter().cloned().collect();
            gone.sort_unstable_by_key(|hidden| hidden.start);
            Self::without(said, &gone)
        });
        let both = (!escapes.is_empty()).then(|| {
            escapes.extend(characters.iter().cloned());
            escapes.sort_unstable_by_key(|hidden| hidden.start);
            Self::without(said, &escapes)
        });
        let first = (!characters.is_empty()).then(|| Self::without(said, &characters));
        first.into_iter().chain(both).chain(kept)
    }

    fn without(said: &[u8], hidden: &[Range<usize>]) -> Self {
        let (mut bytes, mut dropped) = (Vec::with_capacity(said.len()), Vec::new());
        let (mut from, mut sum) = (0, 0);
        for hidden in hidden {
            bytes.extend_from_slice(&said[from..hidden.start]);
            sum += hidden.len();
            dropped.push((bytes.len(), sum));
            from = hidden.end;
        }
        bytes.extend_from_slice(&said[from..]);
        Self { bytes, dropped }
    }

    /// Where a part that is not empty was, with all that was dropped within.
    pub(super) fn origin(&self, part: &Range<usize>) -> Range<usize> {
        let origin = |at: usize| {
            let before = self.dropped.partition_point(|(from, _)| *from <= at);
            at + before.checked_sub(1).map_or(0, |last| self.dropped[last].1)
        };
        origin(part.start)..origin(part.end - 1) + 1
    }
}

/// Whether the host puts something in the place of a hidden character, see `text::drop_hidden`.
fn is_replaced(hidden: &[u8]) -> bool {
    matches!(hidden, b"\xe2\x80\xa8" | b"\xe2\x80\xa9" | b"\xe2\xa0\x80" | b"\\u2028" | b"\\u2029" | b"\\u2800")
}

fn hidden_characters(said: &[u8]) -> Vec<Range<usize>> {
    let (mut hidden, mut at) = (Vec::new(), 0);
    for chunk in said.utf8_chunks() {
        for c in chunk.valid().chars() {
            if is_deceptive(c) {
                hidden.push(at..at + c.len_utf8());
            }
            at += c.len_utf8();
        }
        at += chunk.invalid().len();
    }
    hidden
}

/// The escapes of JSON strings that stand for hidden characters.
fn hidden_escapes(said: &[u8]) -> Vec<Range<usize>> {
    let next = |from: usize| Some(from + memchr::memchr(b'\\', said.get(from..)?)?);
    let mut hidden = Vec::new();
    // Two bytes on: a backslash that is escaped begins no escape.
    for at in successors(next(0), |at| next(at + 2)) {
        if let Some(length) = hidden_escape(&said[at..]) {
            hidden.push(at..at + length);
        }
    }
    hidden
}

/// Bytes of the escape that a text begins with, if it is that of a hidden character.
fn hidden_escape(said: &[u8]) -> Option<usize> {
    let unit = |from: usize| {
        let digits = said.get(from..from + 6)?.strip_prefix(b"\\u")?;
        digits.iter().try_fold(0, |unit, digit| Some(unit << 4 | char::from(*digit).to_digit(16)?))
    };
    if let Some(b'b' | b'f' | b'r') = said.get(1) {
        return Some(2);
    }
    let first = unit(0)?;
    let (c, length) = match first {
        0xd800..0xdc00 => (0x10000 + ((first - 0xd800) << 10) + unit(6)?.checked_sub(0xdc00)?, 12),
        _ => (first, 6),
    };
    char::from_u32(c).filter(|c| is_deceptive(*c)).map(|_| length)
}
