//! Text that comes from a guest and goes where people or models read it.
//!
//! Decides which characters may pass and how others are shown; knows no JSON.

use std::fmt::Write as _;

/// Whether a character can change how the text around it looks or reads: controls,
/// direction overrides, zero-width characters, tags and other invisible ones.
pub fn is_deceptive(c: char) -> bool {
    matches!(c,
        '\u{0}'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{7f}'..='\u{9f}'
        | '\u{ad}' | '\u{61c}' | '\u{180e}'
        | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}' | '\u{2029}'
        | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}' | '\u{e0100}'..='\u{e01ef}')
}

/// The first deceptive character of a text that may have several lines.
pub fn deceptive_in(text: &str) -> Option<char> {
    text.chars().find(|c| is_deceptive(*c))
}

/// The same for a text of one line: no line break or tab either.
pub fn deceptive_in_line(text: &str) -> Option<char> {
    text.chars().find(|c| is_deceptive(*c) || matches!(c, '\n' | '\r' | '\t'))
}

/// Whether a character is seen by nobody, is read by models, and has no use in plain text: tags,
/// which spell whole sentences, what turns the direction of the text around it, and other
/// control by characters that nothing writes any more. Joiners, spaces without width and
/// marks of direction are not among them: scripts and emoji need those.
fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{202a}'..='\u{202e}' | '\u{2061}'..='\u{206f}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

fn is_variation_selector(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

/// Drops hidden characters, and all but the first of several variation selectors in a row,
/// which spell bytes.
pub fn drop_hidden(text: &mut String) {
    // The first bytes of all of these in UTF-8; most texts have none of them.
    if memchr::memchr3(0xe2, 0xef, 0xf3, text.as_bytes()).is_none() {
        return;
    }
    let mut selected = false;
    text.retain(|c| {
        let again = std::mem::replace(&mut selected, is_variation_selector(c)) && selected;
        !again && !is_hidden(c)
    });
}

/// One line, safe to print: deceptive characters and line breaks become `\u{…}`, and
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
            c if is_deceptive(c) => {
                let _ = write!(line, "\\u{{{:x}}}", u32::from(c));
            }
            c => line.push(c),
        }
    }
    line
}

/// The longest prefix of at most `max` bytes that ends at a character's end.
pub fn prefix(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}

#[cfg(test)]
mod tests;
