//! Hidden characters in the strings of JSON text, verbatim and as escapes.
//!
//! Scans string literals and builds no tree.

use std::fmt::Write as _;
use std::ops::Range;

use super::hidden::{is_suspect, is_unusual_space};
use super::{Leeway, deceptive_in, drop_hidden, needs_no_scan};
use crate::json;

/// The first hidden or deceptive character of its strings and names, which share one leeway.
pub fn hidden_in_json(text: &str, leeway: &mut Leeway) -> Option<char> {
    literals(text).find_map(|literal| deceptive_in(&decoded(&text[literal])?, leeway))
}

/// Drops hidden characters from its strings and names, as [`super::drop_hidden`] does.
pub fn drop_hidden_in_json(text: &mut String, leeway: &mut Leeway) {
    if is_harmless(text, leeway) {
        return;
    }
    let mut kept = String::with_capacity(text.len());
    let mut from = 0;
    for literal in literals(text) {
        let Some(mut content) = decoded(&text[literal.clone()]) else { continue };
        if drop_hidden(&mut content, leeway) {
            kept.push_str(&text[from..literal.start]);
            kept.push_str(&json::quote(&content));
            from = literal.end;
        }
    }
    if from > 0 {
        kept.push_str(&text[from..]);
        *text = kept;
    }
}

/// The same JSON with all invisible characters, needed ones included, as escapes.
pub fn escape_hidden_in_json(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        // Valid JSON has none of them outside of strings.
        if is_suspect(c) || is_unusual_space(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(shown, "\\u{unit:04x}");
            }
        } else {
            shown.push(c);
        }
    }
    shown
}

/// Whether the bytes alone show that nothing is hidden.
fn is_harmless(text: &str, leeway: &Leeway) -> bool {
    let bytes = text.as_bytes();
    let mut escapes = memchr::memchr_iter(b'\\', bytes).map(|at| bytes.get(at + 1));
    needs_no_scan(text, leeway) && !escapes.any(|escape| matches!(escape, Some(b'u' | b'r' | b'b' | b'f')))
}

/// The string literals with their quotes.
fn literals(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let bytes = text.as_bytes();
        let start = at + memchr::memchr(b'"', &bytes[at..])?;
        let mut end = start + 1;
        loop {
            end += memchr::memchr2(b'"', b'\\', bytes.get(end..)?)?;
            if bytes[end] == b'"' {
                break;
            }
            end += 2;
        }
        at = end + 1;
        Some(start..at)
    })
}

fn decoded(literal: &str) -> Option<String> {
    json::read(literal).ok()
}
