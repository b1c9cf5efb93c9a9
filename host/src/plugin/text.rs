//! Text that comes from a guest and goes where people or models read it.
//!
//! Decides which characters may pass and how others are shown. Which are hidden, and where one of
//! them is needed, is in `hidden`.

mod hidden;
mod in_json;
mod layout;

use std::fmt::Write as _;

pub use hidden::is_unusual_space;
use hidden::{Allowance, Hidden, instead, is_plain, is_suspect};
pub use in_json::{drop_hidden_in_json, escape_hidden_in_json, hidden_in_json};

/// Whether a character can change how the text around it looks or reads, or is seen by nobody.
/// Some of these are needed in some places, which [`drop_hidden`] knows.
pub fn is_deceptive(c: char) -> bool {
    is_suspect(c) || c == '\r'
}

/// The first hidden or deceptive character of a text that may have several lines, and that a plugin
/// says of itself.
pub fn deceptive_in(text: &str) -> Option<char> {
    deceptive(text, &mut Allowance::default())
}

fn deceptive(text: &str, allowance: &mut Allowance) -> Option<char> {
    let hidden = if is_plain(text) { None } else { Hidden::of(text, allowance).next().map(|(_, c)| c) };
    hidden.or_else(|| layout::unseen_blank(text))
}

/// The same for a text of one line: no line break or tab either.
pub fn deceptive_in_line(text: &str) -> Option<char> {
    text.chars().find(|c| matches!(c, '\n' | '\r' | '\t')).or_else(|| deceptive_in(text))
}

/// Drops what is hidden: controls but for tabs and line breaks, and what nobody sees, but for
/// what scripts and emoji need in its place. Of unusual spaces usual ones are left.
pub fn drop_hidden(text: &mut String) {
    drop_more(text, &mut Allowance::default());
}

/// Whether it dropped something.
fn drop_more(text: &mut String, allowance: &mut Allowance) -> bool {
    // Most texts, by their bytes alone.
    if is_plain(text) {
        return false;
    }
    let mut hidden = Hidden::of(text, allowance).peekable();
    if hidden.peek().is_none() {
        return false;
    }
    let mut kept = String::with_capacity(text.len());
    let mut from = 0;
    for (at, c) in hidden {
        kept.push_str(&text[from..at]);
        kept.push_str(instead(c));
        from = at + c.len_utf8();
    }
    kept.push_str(&text[from..]);
    *text = kept;
    true
}

/// A text of several lines as a terminal may be given it: what is hidden becomes `\u{…}`.
pub fn printable(text: &str) -> String {
    // A line ends there, whatever system wrote it.
    let text = text.replace("\r\n", "\n");
    let mut shown = String::with_capacity(text.len());
    let mut from = 0;
    for (at, c) in Hidden::of(&text, &mut Allowance::default()) {
        shown.push_str(&text[from..at]);
        spell(c, &mut shown);
        from = at + c.len_utf8();
    }
    shown.push_str(&text[from..]);
    shown
}

/// One line, safe to print: deceptive characters, unusual spaces and line breaks become `\u{…}`, and
/// what is longer than `max` bytes is cut, with an ellipsis.
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
            c if is_deceptive(c) || is_unusual_space(c) => spell(c, &mut line),
            c => line.push(c),
        }
    }
    line
}

fn spell(c: char, into: &mut String) {
    let _ = write!(into, "\\u{{{:x}}}", u32::from(c));
}

/// The longest prefix of at most `max` bytes that ends at a character's end.
pub fn prefix(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}

#[cfg(test)]
mod tests;
