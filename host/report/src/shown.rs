//! Text from outside, such as the name of a file, as terminals and logs show it.

use std::fmt::{self, Write as _};
use std::path::Path;

/// One line: characters that start another one, control a terminal or are invisible are spelt out, as
/// in `\n` and `\u{202e}`.
pub fn line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    // `escape_debug` has the rule, but also escapes these three.
    for part in text.split_inclusive(['\\', '\'', '"']) {
        let plain = part.trim_end_matches(['\\', '\'', '"']);
        line.extend(plain.escape_debug());
        line.push_str(&part[plain.len()..]);
    }
    line
}

/// Several lines with styles: what a terminal would do besides is spelt out.
pub(crate) fn styled(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        match c {
            '\n' | '\t' => shown.push(c),
            '\u{1b}' if is_style(&text[at..]) => shown.push(c),
            c if c.is_control() || is_bidi_control(c) => shown.extend(c.escape_debug()),
            c => shown.push(c),
        }
    }
    shown
}

/// Whether an escape sequence only sets colour or weight.
fn is_style(sequence: &str) -> bool {
    let is_parameter = |c: char| c.is_ascii_digit() || c == ';';
    sequence.strip_prefix("\u{1b}[").is_some_and(|rest| rest.trim_start_matches(is_parameter).starts_with('m'))
}

/// Whether it changes the order in which the characters around it are shown.
fn is_bidi_control(c: char) -> bool {
    matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A path as [`line`] spells it.
pub struct ShownPath<'a>(&'a Path);

impl fmt::Display for ShownPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&line(&self.0.to_string_lossy()))
    }
}

/// In place of [`Path::display`], which writes the characters of a name as they are.
pub trait ShowPath {
    fn shown(&self) -> ShownPath<'_>;
}

impl ShowPath for Path {
    fn shown(&self) -> ShownPath<'_> {
        ShownPath(self)
    }
}

/// A path as one word for a POSIX shell, which is not parsed as an option.
pub fn shell_word(path: &Path) -> String {
    let path = path.to_string_lossy();
    if path.starts_with('-') { shell_text(&format!("./{path}")) } else { shell_text(&path) }
}

/// A text as one word for a POSIX shell. `$'…'` has no character that [`line`] would spell out.
pub fn shell_text(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-+@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    if line(text) == text {
        return format!("'{}'", text.replace('\'', "'\\''"));
    }
    let mut word = "$'".to_owned();
    for byte in text.bytes() {
        match byte {
            b'\\' | b'\'' => word.extend(['\\', char::from(byte)]),
            b' '..=b'~' => word.push(char::from(byte)),
            byte => {
                // In octal, which has at most three digits: what follows is not taken for one.
                let _ = write!(word, "\\{byte:03o}");
            }
        }
    }
    word + "'"
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{ShowPath as _, line, shell_word, styled};

    #[test]
    fn a_name_cannot_start_a_line_or_control_a_terminal() {
        let cases = [
            ("it's \"a\\b\"", "it's \"a\\b\""),
            ("grüße, 日本, e\u{301}", "grüße, 日本, e\u{301}"),
            ("a\nb\rc\td", "a\\nb\\rc\\td"),
            ("\u{1b}[31m\u{9b}31m\u{7f}", "\\u{1b}[31m\\u{9b}31m\\u{7f}"),
            ("\u{202e}a\u{200b}b\u{2028}\u{feff}", "\\u{202e}a\\u{200b}b\\u{2028}\\u{feff}"),
        ];
        for (text, shown) in cases {
            assert_eq!(line(text), shown);
            assert_eq!(Path::new(text).shown().to_string(), shown);
        }
    }

    #[test]
    fn only_styles_and_lines_pass_to_a_terminal() {
        assert_eq!(styled("\u{1b}[1;31mred\u{1b}[0m\n\tx"), "\u{1b}[1;31mred\u{1b}[0m\n\tx");
        assert_eq!(styled("\u{1b}[2J\u{1b}]0;t\u{7}\r\u{202e}"), "\\u{1b}[2J\\u{1b}]0;t\\u{7}\\r\\u{202e}");
    }

    #[test]
    fn a_shell_reads_a_word_as_the_path() {
        for path in ["plain", "-a", "it's", "a b", "a\nb", "\u{1b}[31m'\\x1", "\u{202e}1"] {
            let word = shell_word(Path::new(path));
            assert_eq!(line(&word), word);
            let read = std::process::Command::new("bash").args(["-c", &format!("printf %s {word}")]).output();
            let Ok(read) = read else { return };
            assert_eq!(String::from_utf8_lossy(&read.stdout).trim_start_matches("./"), path, "{word}");
        }
    }
}
