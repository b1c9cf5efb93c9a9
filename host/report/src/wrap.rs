//! Breaks long lines where a terminal would, but at blanks and with the indentation of their text.

use unicode_width::UnicodeWidthChar as _;

/// Columns in which the label before a text ends, if it has one: a column of names, with blanks on both sides.
const LABEL: usize = LONGEST + 6;
/// Characters of a name that texts beside it make room for.
const LONGEST: usize = 40;
/// Columns that a text needs beside its indentation.
const LEAST: usize = 12;
/// Columns by which the rest of an indented line without a sign or a label is below its start. Such lines are in lists,
/// which are indented by twos: no rest of a text from outside looks like an entry.
const REST: usize = 5;

/// Characters of a column with these names, behind which their texts begin. A very long name does not move all texts.
pub fn column<'n>(names: impl IntoIterator<Item = &'n str>) -> usize {
    names.into_iter().map(|name| name.chars().count()).filter(|length| *length <= LONGEST).max().unwrap_or(0)
}

/// Breaks the lines that are longer than `width` columns at blanks, and a word that is longer than a line where it ends: a
/// terminal would go on at its left edge, where a text from outside would look like a line of its own. What follows begins
/// below the text: behind the sign or the label at the line's start, or behind the blanks and some more.
pub fn wrap(text: &str, width: usize) -> String {
    let mut wrapped = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        wrap_line(line, width, &mut wrapped);
        wrapped += end;
    }
    wrapped
}

fn wrap_line(line: &str, width: usize, wrapped: &mut String) {
    if columns(line) <= width || width <= LEAST {
        *wrapped += line;
        return;
    }
    let indent = indentation(line).min(width - LEAST);
    let (mut column, mut at_start) = (0, true);
    for word in line.split_inclusive(' ') {
        let length = columns(word.trim_end_matches(' '));
        if !at_start && column + length > width && length > 0 {
            wrapped.truncate(wrapped.trim_end_matches(' ').len());
            new_line(indent, wrapped);
            (column, at_start) = (indent, true);
        }
        let mut shown = visible(word).peekable();
        for (at, c) in word.char_indices() {
            let columns = shown.next_if(|(next, _)| *next == at).map_or(0, |_| c.width().unwrap_or(0));
            if c != ' ' && column > indent && column + columns > width {
                new_line(indent, wrapped);
                column = indent;
            }
            wrapped.push(c);
            column += columns;
        }
        at_start = at_start && column <= indent;
    }
}

fn new_line(indent: usize, wrapped: &mut String) {
    wrapped.push('\n');
    wrapped.extend(std::iter::repeat_n(' ', indent));
}

/// The column at which the text of a line begins.
fn indentation(line: &str) -> usize {
    let blanks = line.len() - line.trim_start_matches(' ').len();
    let text = &line[blanks..];
    if text.starts_with(['+', '-']) && text[1..].starts_with(' ') {
        return blanks + 2;
    }
    let mut column = blanks;
    let mut label = None;
    let mut before = 0;
    for (_, c) in visible(text) {
        if c == ' ' {
            before += 1;
        } else {
            if before > 1 && column <= LABEL {
                label = Some(column);
            }
            before = 0;
        }
        column += c.width().unwrap_or(0);
    }
    label.unwrap_or(if blanks == 0 { 0 } else { blanks + REST })
}

/// The beginning of a text without styles in at most so many columns, with an ellipsis if it is longer.
pub fn cut(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.to_owned();
    }
    let mut shown = String::new();
    let mut left = width.saturating_sub(1);
    for c in text.chars() {
        let Some(rest) = left.checked_sub(c.width().unwrap_or(0)) else { break };
        left = rest;
        shown.push(c);
    }
    if width > 0 {
        shown.push('…');
    }
    shown
}

/// The columns that a text takes on a terminal.
pub fn columns(text: &str) -> usize {
    visible(text).map(|(_, c)| c.width().unwrap_or(0)).sum()
}

/// The characters that take columns: those of no style.
fn visible(text: &str) -> impl Iterator<Item = (usize, char)> {
    let mut in_style = false;
    text.char_indices().filter(move |(_, c)| match (in_style, c) {
        (false, '\u{1b}') => {
            in_style = true;
            false
        }
        (true, 'm') => {
            in_style = false;
            false
        }
        (in_style, _) => !in_style,
    })
}

#[cfg(test)]
mod tests {
    use super::{column, columns, cut, wrap};
    use crate::NAME;

    #[test]
    fn a_text_is_cut_to_its_columns() {
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcd", 3), "ab…");
        // Half a character is none.
        assert_eq!(cut("日本語", 4), "日…");
        assert_eq!((cut("日本語", 1), cut("abc", 0)), ("…".to_owned(), String::new()));
        let accents = "e\u{301}".repeat(9);
        assert_eq!(columns(&cut(&accents, 5)), 5);
    }

    #[test]
    fn long_lines_break_at_blanks_and_keep_their_indentation() {
        for (text, wrapped) in [
            ("short\n  lines\n", "short\n  lines\n"),
            ("  one two three four five six", "  one two three four five\n       six"),
            ("      + one two three four five", "      + one two three\n        four five"),
            ("  tools    add, subtract, multiply", "  tools    add, subtract,\n           multiply"),
            (
                "  file     /a/very/long/path/without/blanks",
                "  file     /a/very/long/p\n           ath/without/bl\n           anks",
            ),
            ("      + 日本語の日本語の日本語の日本語の", "      + 日本語の日本語の\n        日本語の日本語の"),
            ("    日本語の 日本語の 日本語の", "    日本語の 日本語の\n         日本語の"),
            ("one two three four five six\nx y", "one two three four five\nsix\nx y"),
        ] {
            assert_eq!(wrap(text, 25), wrapped, "{text}");
        }
        // Styles take no columns.
        let styled = format!("{NAME}add{NAME:#}   one two three four five");
        assert_eq!(wrap(&styled, 26), format!("{NAME}add{NAME:#}   one two three four\n      five"));
        // On a narrow terminal little is left to indent, or nothing.
        assert_eq!(wrap("        one two three four five", 18), "        one two\n      three four\n      five");
        assert_eq!(wrap("        one two three four five", 12), "        one two three four five");
    }

    #[test]
    fn a_column_is_as_wide_as_the_longest_name_but_one_that_is_very_long() {
        let very_long = "x".repeat(41);
        assert_eq!(column(["add", "subtract", &very_long]), 8);
        assert_eq!((column([&very_long[1..]]), column([])), (40, 0));
        let line = format!("    {}  one two three", "x".repeat(40));
        assert_eq!(wrap(&line, 58), format!("    {}  one two\n{}three", "x".repeat(40), " ".repeat(46)));
    }

    /// Otherwise a text chooses what a terminal shows at its left edge.
    #[test]
    fn no_word_reaches_the_left_edge() {
        let word = format!("      + Gets. {}no-changes{}", "x".repeat(72), "\u{2500}".repeat(60));
        for width in [13, 40, 80] {
            for line in wrap(&word, width).lines().skip(1) {
                assert!(line.starts_with(' ') && line.chars().count() <= width, "{width}: {line}");
            }
        }
        let styled = format!("  {NAME}{}{NAME:#}", "y".repeat(30));
        assert_eq!(wrap(&styled, 22), format!("  {NAME}{}\n       {}{NAME:#}", "y".repeat(20), "y".repeat(10)));
    }
}
