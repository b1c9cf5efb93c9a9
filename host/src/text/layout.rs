//! Invisible whitespace of plain text: trailing blanks, or so much whitespace that what follows is
//! out of view.
//!
//! For tool descriptions and similar text. Not applied to results, which may be a file's text.

/// Maximum consecutive blanks. More move what follows out of a window.
const BLANKS: usize = 64;
/// Maximum consecutive empty lines.
const EMPTY_LINES: usize = 8;
/// Maximum changes of the line ending, and between spaces and tabs: each can carry a bit.
const CHANGES: usize = 8;

/// The first blank or line break beyond a maximum.
pub(super) fn invisible_blank(text: &str) -> Option<char> {
    let (mut changes, mut empty) = (0, 0);
    // The trailing blanks of the last line with text, and of the last blank line.
    let mut ends = ["", ""];
    let mut lines = text.split('\n').peekable();
    while let Some(line) = lines.next() {
        let visible = line.trim_end_matches(is_blank);
        let end = &line[visible.len()..];
        empty = if visible.is_empty() { empty + 1 } else { 0 };
        if empty > EMPTY_LINES && lines.peek().is_some() {
            return Some('\n');
        }
        let last = &mut ends[usize::from(visible.is_empty())];
        // Two trailing spaces are a line break in Markdown.
        if !line.is_empty() && end != "  " {
            changes += usize::from(end != *last);
            *last = end;
        }
        for run in line.split(|c| !is_blank(c)) {
            if run.len() > BLANKS {
                return run.chars().next();
            }
            // An indentation may have spaces after tabs.
            changes += run.as_bytes().windows(2).filter(|pair| pair[0] != pair[1]).count().saturating_sub(1);
        }
        if changes > CHANGES {
            return line.chars().rev().find(|c| is_blank(*c));
        }
    }
    None
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r')
}
