//! Python sources as statements, without their strings and comments.
//!
//! Reads any version of the language, and never fails: what it makes of an invalid file is no worse
//! than a wrong guess.

/// A logical line.
pub(super) struct Statement {
    pub(super) indent: usize,
    /// Words (dotted names) and single other characters; a string is `"`.
    pub(super) tokens: Vec<String>,
}

impl Statement {
    pub(super) fn word(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", String::as_str)
    }
}

pub(super) fn statements(text: &str) -> Vec<Statement> {
    let mut reader = Reader { rest: text, found: Vec::new(), open: 0, indent: 0, tokens: Vec::new() };
    reader.indent();
    while reader.step() {}
    reader.end();
    reader.found
}

struct Reader<'t> {
    rest: &'t str,
    found: Vec<Statement>,
    /// Open brackets, within which a line end means nothing.
    open: usize,
    indent: usize,
    tokens: Vec<String>,
}

impl Reader<'_> {
    /// Takes one token; false at the end.
    fn step(&mut self) -> bool {
        let Some(first) = self.rest.chars().next() else { return false };
        match first {
            '\n' if self.open == 0 => {
                self.skip(1);
                self.end();
                self.indent();
            }
            ';' if self.open == 0 => {
                self.skip(1);
                self.end();
            }
            '#' => self.skip(self.rest.find('\n').unwrap_or(self.rest.len())),
            '\\' if self.rest.starts_with("\\\r\n") => self.skip(3),
            '\\' => self.character(),
            '"' | '\'' => self.string(first),
            _ if first.is_whitespace() => self.skip(first.len_utf8()),
            _ if is_name(first) => {
                let end = self.rest.find(|one| !is_name(one) && one != '.').unwrap_or(self.rest.len());
                let word = self.rest[..end].to_owned();
                self.skip(end);
                // Not the prefix of a string, as in rb"".
                if word.len() > 2 || !self.rest.starts_with(['"', '\'']) {
                    self.tokens.push(word);
                }
            }
            _ => {
                match first {
                    '(' | '[' | '{' => self.open += 1,
                    ')' | ']' | '}' => self.open = self.open.saturating_sub(1),
                    _ => {}
                }
                self.tokens.push(first.into());
                self.skip(first.len_utf8());
            }
        }
        true
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or_default();
    }

    /// In a raw string too, a backslash keeps a quote from ending it.
    fn string(&mut self, quote: char) {
        let triple: String = [quote; 3].iter().collect();
        let end = if self.rest.starts_with(&triple) { triple } else { quote.into() };
        self.skip(end.len());
        while !self.rest.is_empty() && !self.rest.starts_with(&end) {
            if end.len() == 1 && self.rest.starts_with('\n') {
                break;
            }
            self.character();
        }
        self.rest = self.rest.strip_prefix(&end).unwrap_or(self.rest);
        self.tokens.push("\"".to_owned());
    }

    /// Skips one character, and the next with a backslash.
    fn character(&mut self) {
        let escaped = usize::from(self.rest.starts_with('\\'));
        self.skip(self.rest.chars().take(1 + escaped).map(char::len_utf8).sum());
    }

    /// Measures the start of a line.
    fn indent(&mut self) {
        let spaces = self.rest.len() - self.rest.trim_start_matches([' ', '\t', '\u{c}']).len();
        self.indent = spaces;
    }

    fn end(&mut self) {
        let tokens = std::mem::take(&mut self.tokens);
        if !tokens.is_empty() {
            self.found.push(Statement { indent: self.indent, tokens });
        }
    }
}

fn is_name(one: char) -> bool {
    one.is_alphanumeric() || one == '_'
}

#[cfg(test)]
mod tests {
    use super::statements;

    #[test]
    fn statements_have_no_strings_and_comments() {
        let text = "import a.b, c # import no\nfrom x import (\n    y as z,  # why\n)\n\
            def f(s: str = r'\\'', t=rb\"import q\"):\n    '''import no\n    import no'''\n    x = f\"{s!r}\"; import d\n\
            a = 'it\\'s'\\\n  + b\nunfinished = 'import\nfrom . import e\n";
        let found: Vec<(usize, String)> =
            statements(text).into_iter().map(|one| (one.indent, one.tokens.join(" "))).collect();
        let found: Vec<(usize, &str)> = found.iter().map(|(indent, text)| (*indent, text.as_str())).collect();
        assert_eq!(
            found,
            [
                (0, "import a.b , c"),
                (0, "from x import ( y as z , )"),
                (0, "def f ( s : str = \" , t = \" ) :"),
                (4, "\""),
                (4, "x = \""),
                (4, "import d"),
                (0, "a = \" + b"),
                (0, "unfinished = \""),
                (0, "from . import e"),
            ]
        );
        for odd in ["", "'''", "\\", "(", "\"", "r'", "é = 'ü'\\", "\u{feff}import a"] {
            statements(odd);
        }
    }
}
