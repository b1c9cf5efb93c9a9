//! The check that JSON text from a guest passes before it may go anywhere.
//!
//! Keeps numbers, member order and spelling as they were written: it reads the text and
//! builds nothing. Which schema it must satisfy is `schema`'s affair.

use std::borrow::Cow;

/// How deep guests' JSON may nest (SECURITY: unchecked text could nest 100,000 deep).
pub const MAX_DEPTH: usize = 64;

/// Checks RFC 8259 syntax, nesting, and that no string holds a lone surrogate escape,
/// which no UTF-8 text can carry.
pub fn check_json(text: &str, max_depth: usize) -> Result<(), &'static str> {
    let mut scan = Scan { bytes: text.as_bytes(), at: 0 };
    scan.document(max_depth)
}

/// Checks a text and makes it one line: a line break between two tokens would end a
/// message on a transport that divides by lines.
pub fn one_line(text: &str) -> Result<Cow<'_, str>, &'static str> {
    check_json(text, MAX_DEPTH)?;
    if text.bytes().any(|b| b == b'\n' || b == b'\r') { Ok(Cow::Owned(squeeze(text))) } else { Ok(Cow::Borrowed(text)) }
}

/// Whether a text that passed the check is an object.
pub fn is_object(checked: &str) -> bool {
    checked.trim_ascii_start().starts_with('{')
}

/// Drops the white space between the tokens of a valid text.
fn squeeze(valid: &str) -> String {
    let mut out = String::with_capacity(valid.len());
    let (mut in_string, mut escaped) = (false, false);
    for c in valid.chars() {
        if in_string {
            if escaped {
                escaped = false;
            } else if c == '\\' {
                escaped = true;
            } else if c == '"' {
                in_string = false;
            }
        } else if matches!(c, ' ' | '\t' | '\n' | '\r') {
            continue;
        } else if c == '"' {
            in_string = true;
        }
        out.push(c);
    }
    out
}

const SYNTAX: &str = "not valid JSON";

struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Scan<'_> {
    fn document(&mut self, max_depth: usize) -> Result<(), &'static str> {
        // One entry per open container: whether it is an object.
        let mut open: Vec<bool> = Vec::new();
        'value: loop {
            self.space();
            match self.peek() {
                Some(b'{') => {
                    self.at += 1;
                    self.space();
                    if open.len() == max_depth {
                        return Err("nested too deep");
                    }
                    if self.peek() == Some(b'}') {
                        self.at += 1;
                    } else {
                        open.push(true);
                        self.key()?;
                        continue 'value;
                    }
                }
                Some(b'[') => {
                    self.at += 1;
                    self.space();
                    if open.len() == max_depth {
                        return Err("nested too deep");
                    }
                    if self.peek() == Some(b']') {
                        self.at += 1;
                    } else {
                        open.push(false);
                        continue 'value;
                    }
                }
                Some(b'"') => self.string()?,
                Some(b't') => self.word(b"true")?,
                Some(b'f') => self.word(b"false")?,
                Some(b'n') => self.word(b"null")?,
                Some(b'-' | b'0'..=b'9') => self.number()?,
                _ => return Err(SYNTAX),
            }
            // A value has ended: go on in its container, or close it.
            loop {
                self.space();
                let Some(object) = open.last().copied() else {
                    return if self.at == self.bytes.len() { Ok(()) } else { Err(SYNTAX) };
                };
                match (self.peek(), object) {
                    (Some(b','), true) => {
                        self.at += 1;
                        self.space();
                        self.key()?;
                        continue 'value;
                    }
                    (Some(b','), false) => {
                        self.at += 1;
                        continue 'value;
                    }
                    (Some(b'}'), true) | (Some(b']'), false) => {
                        self.at += 1;
                        open.pop();
                    }
                    _ => return Err(SYNTAX),
                }
            }
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    fn key(&mut self) -> Result<(), &'static str> {
        if self.peek() != Some(b'"') {
            return Err(SYNTAX);
        }
        self.string()?;
        self.space();
        if self.peek() != Some(b':') {
            return Err(SYNTAX);
        }
        self.at += 1;
        Ok(())
    }

    fn word(&mut self, word: &[u8]) -> Result<(), &'static str> {
        if self.bytes[self.at..].starts_with(word) {
            self.at += word.len();
            Ok(())
        } else {
            Err(SYNTAX)
        }
    }

    fn digits(&mut self) -> Result<(), &'static str> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        if self.at == start { Err(SYNTAX) } else { Ok(()) }
    }

    fn number(&mut self) -> Result<(), &'static str> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    fn string(&mut self) -> Result<(), &'static str> {
        self.at += 1;
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => {
                    self.at += 1;
                    self.escape()?;
                }
                Some(0x20..) => self.at += 1,
                _ => return Err(SYNTAX),
            }
        }
    }

    fn escape(&mut self) -> Result<(), &'static str> {
        let kind = self.peek().ok_or(SYNTAX)?;
        self.at += 1;
        match kind {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Ok(()),
            b'u' => match self.hex4()? {
                0xd800..=0xdbff => {
                    if !self.bytes[self.at..].starts_with(b"\\u") {
                        return Err("a lone surrogate escape");
                    }
                    self.at += 2;
                    match self.hex4()? {
                        0xdc00..=0xdfff => Ok(()),
                        _ => Err("a lone surrogate escape"),
                    }
                }
                0xdc00..=0xdfff => Err("a lone surrogate escape"),
                _ => Ok(()),
            },
            _ => Err(SYNTAX),
        }
    }

    fn hex4(&mut self) -> Result<u32, &'static str> {
        let digits = self.bytes.get(self.at..self.at + 4).ok_or(SYNTAX)?;
        self.at += 4;
        digits.iter().try_fold(0, |code, digit| Ok(code * 16 + char::from(*digit).to_digit(16).ok_or(SYNTAX)?))
    }
}

#[cfg(test)]
mod tests;
