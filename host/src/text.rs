//! Text from a guest that people or models read.
//!
//! Decides which characters pass and how others are shown. Which are hidden, and where a hidden
//! one is needed, is in `hidden`.

mod hidden;
mod in_json;
mod layout;

use std::borrow::Cow;
use std::fmt::Write as _;

pub use hidden::Leeway;
pub use hidden::is_unusual_space;
pub use hidden::replacement;
use hidden::{Hidden, is_plain, is_suspect};
pub use in_json::escape_hidden_in_json;
pub use in_json::{drop_hidden_in_json, hidden_in_json};

/// Whether a character is invisible, or can change how the text around it looks or reads.
/// Some are needed in certain positions, where [`drop_hidden`] keeps them.
pub fn is_deceptive(c: char) -> bool {
    is_suspect(c) || c == '\r'
}

/// The first hidden or deceptive character of a tool description or similar text, which may have
/// several lines.
pub fn deceptive_in(text: &str, leeway: &mut Leeway) -> Option<char> {
    let hidden = if needs_no_scan(text, leeway) { None } else { Hidden::of(text, leeway).next().map(|(_, c)| c) };
    hidden.or_else(|| layout::invisible_blank(text))
}

/// The same for a text of one line: no line break or tab either.
pub fn deceptive_in_line(text: &str, leeway: &mut Leeway) -> Option<char> {
    text.chars().find(|c| matches!(c, '\n' | '\r' | '\t')).or_else(|| deceptive_in(text, leeway))
}

/// The first hidden character of a name or an id, without any leeway.
pub fn hidden_in_name(name: &str) -> Option<char> {
    let hidden = |c| matches!(c, '\n' | '\t') || is_deceptive(c) || is_unusual_space(c);
    let marks = || Hidden::of(name, &mut Leeway::none()).next().map(|(_, c)| c);
    name.chars().find(|c| hidden(*c)).or_else(marks)
}

/// The first hidden character of a file's text, and its line, from 1. A byte order mark at the start is none.
pub fn hidden_in_file(text: &str) -> Option<(usize, char)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    // Line breaks of any system.
    let text = if text.contains('\r') { Cow::Owned(text.replace("\r\n", "\n")) } else { Cow::Borrowed(text) };
    if is_plain(&text) {
        return None;
    }
    let (at, hidden) = Hidden::of(&text, &mut Leeway::default()).next()?;
    Some((text[..at].matches('\n').count() + 1, hidden))
}

/// Whether the bytes alone show that nothing is hidden, and no variant is in use that the text could
/// change.
fn needs_no_scan(text: &str, leeway: &Leeway) -> bool {
    is_plain(text) && !leeway.has_variants()
}

/// Drops hidden characters: controls except tabs and line breaks, and invisible ones except
/// where scripts and emoji need them. Unusual spaces become plain ones.
///
/// Returns whether there were any.
pub fn drop_hidden(text: &mut String, leeway: &mut Leeway) -> bool {
    if needs_no_scan(text, leeway) {
        return false;
    }
    let mut hidden = Hidden::of(text, leeway).peekable();
    if hidden.peek().is_none() {
        return false;
    }
    let mut kept = String::with_capacity(text.len());
    let mut from = 0;
    for (at, c) in hidden {
        kept.push_str(&text[from..at]);
        kept.push_str(replacement(c));
        from = at + c.len_utf8();
    }
    kept.push_str(&text[from..]);
    *text = kept;
    true
}

/// A text of several lines, safe to print on a terminal: hidden characters become `\u{…}`.
pub fn printable(text: &str) -> String {
    // Line breaks of any system.
    let text = text.replace("\r\n", "\n");
    let mut shown = String::with_capacity(text.len());
    let mut from = 0;
    for (at, c) in Hidden::of(&text, &mut Leeway::default()) {
        shown.push_str(&text[from..at]);
        escape(c, &mut shown);
        from = at + c.len_utf8();
    }
    shown.push_str(&text[from..]);
    shown
}

/// One line, safe to print: deceptive characters, unusual spaces and line breaks become `\u{…}`, and
/// it is truncated to `max` bytes, with an ellipsis.
pub fn quote(text: &str, max: usize) -> String {
    let mut line = String::with_capacity(text.len().min(max));
    for c in text.chars() {
        if line.len() >= max {
            line.push('…');
            break;
        }
        match c {
            '\n' => line.push_str("\\n"),
            '\r' => line.push_str("\\r"),
            '\t' => line.push_str("\\t"),
            c if is_deceptive(c) || is_unusual_space(c) => escape(c, &mut line),
            c => line.push(c),
        }
    }
    line
}

fn escape(c: char, into: &mut String) {
    let _ = write!(into, "\\u{{{:x}}}", u32::from(c));
}

/// The longest prefix of at most `max` bytes that ends at a character boundary.
pub fn prefix(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}

#[cfg(test)]
mod tests;
