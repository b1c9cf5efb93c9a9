//! Blanks and line breaks of plain text that nobody sees: behind what a line says, or so many that
//! the rest is out of sight.
//!
//! For what a plugin says of itself. Results are not judged by it: they may be a file's text.

/// Blanks in a row. More move what follows out of a window.
const BLANKS: usize = 64;
/// Lines in a row with nothing in them.
const EMPTY_LINES: usize = 8;
/// Line ends that are not as the last one, and changes between spaces and tabs.
const CHANGES: usize = 8;

/// The first blank or line break of a text that is one too many.
pub(super) fn unseen_blank(text: &str) -> Option<char> {
    let (mut changes, mut empty) = (0, 0);
    // What lines with words, and lines without, ended in the last time.
    let mut ends = ["", ""];
    let mut lines = text.split('\n').peekable();
    while let Some(line) = lines.next() {
        let said = line.trim_end_matches(is_blank);
        let end = &line[said.len()..];
        empty = if said.is_empty() { empty + 1 } else { 0 };
        if empty > EMPTY_LINES && lines.peek().is_some() {
            return Some('\n');
        }
        let last = &mut ends[usize::from(said.is_empty())];
        // Two spaces end a line of Markdown.
        if !line.is_empty() && end != "  " {
            changes += usize::from(end != *last);
            *last = end;
        }
        for run in line.split(|c| !is_blank(c)) {
            if run.len() > BLANKS {
                return run.chars().next();
            }
            // An indentation may end in spaces behind tabs.
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
