//! Checks in one pass whether a text is exactly one JSON value (RFC 8259) that all parsers interpret
//! equally. It does not recurse or allocate values.

use super::names::{MAX_TEXT, Names};
use super::plain::plain;
use super::{JsonError, NESTING, NUMBER};

/// The deepest nesting that [`check`] can be asked to allow.
pub const DEPTH_CAP: usize = 256;

/// Maximum characters of a number, with a sign of its exponent. Parsers take quadratic time for it; Python's gives up at 4300
/// digits.
pub const MAX_NUMBER: usize = 1000;
/// Maximum absolute exponent. Parsers with exact arithmetic expand it; a double ends at 308.
pub const MAX_EXPONENT: u32 = 999;

/// Statistics of a text from [`check`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Seen {
    /// How deep it nests; a number alone has depth 0.
    pub depth: usize,
    /// Values of all kinds, nested ones included.
    pub values: usize,
    /// Members of all objects.
    pub members: usize,
}

/// Accepts one JSON value with whitespace around it, nested at most `max_depth` levels (never more
/// than [`DEPTH_CAP`]). Also refuses what the grammar allows and parsers interpret differently: an
/// unpaired escaped surrogate, a repeated member name, names that the JSON library reserves, and
/// numbers beyond [`MAX_NUMBER`] and [`MAX_EXPONENT`].
pub fn check(text: &str, max_depth: usize) -> Result<Seen, JsonError> {
    if text.len() > MAX_TEXT {
        return Err(JsonError { offset: MAX_TEXT, reason: "the text is longer than 2 GiB" });
    }
    let mut scan = Scan { bytes: text.as_bytes(), at: 0, names: Names::new(text), seen: Seen::default() };
    let mut open = Open { objects: [0; DEPTH_CAP / 64], depth: 0, limit: max_depth.min(DEPTH_CAP) };
    loop {
        scan.space();
        scan.seen.values += 1;
        let closed = match scan.peek() {
            Some(bracket @ (b'{' | b'[')) => {
                let object = bracket == b'{';
                open.push(object).ok_or(scan.error(NESTING))?;
                scan.seen.depth = scan.seen.depth.max(open.depth);
                scan.at += 1;
                scan.space();
                let empty = scan.take(if object { b'}' } else { b']' });
                if empty {
                    open.depth -= 1;
                } else if object {
                    scan.names.begin();
                    scan.key()?;
                }
                empty
            }
            Some(b'"') => scan.string().map(|_| true)?,
            Some(b'-' | b'0'..=b'9') => scan.number().map(|()| true)?,
            Some(b't') => scan.word(b"true").map(|()| true)?,
            Some(b'f') => scan.word(b"false").map(|()| true)?,
            Some(b'n') => scan.word(b"null").map(|()| true)?,
            Some(_) => return Err(scan.error("expected a value")),
            None => return Err(scan.error("the text ends where a value was expected")),
        };
        if closed && after_value(&mut scan, &mut open)? {
            return Ok(scan.seen);
        }
    }
}

/// Closes the objects and arrays that end here. Returns true at the end of the text, false if another
/// value must follow.
fn after_value(scan: &mut Scan<'_>, open: &mut Open) -> Result<bool, JsonError> {
    loop {
        scan.space();
        if open.depth == 0 {
            return match scan.peek() {
                None => Ok(true),
                Some(_) => Err(scan.error("more text after the value")),
            };
        }
        let object = open.in_object();
        match scan.peek() {
            Some(b',') => {
                scan.at += 1;
                if object {
                    scan.space();
                    scan.key()?;
                }
                return Ok(false);
            }
            Some(b'}') if object => scan.names.end(scan.at)?,
            Some(b']') if !object => {}
            Some(_) if object => return Err(scan.error("expected a comma or a closing brace")),
            Some(_) => return Err(scan.error("expected a comma or a closing bracket")),
            None => return Err(scan.error("the text ends inside an object or array")),
        }
        scan.at += 1;
        open.depth -= 1;
    }
}

/// The open brackets, one bit each: set for an object.
struct Open {
    objects: [u64; DEPTH_CAP / 64],
    depth: usize,
    limit: usize,
}

impl Open {
    fn push(&mut self, object: bool) -> Option<()> {
        if self.depth >= self.limit {
            return None;
        }
        let bit = 1 << (self.depth % 64);
        let word = &mut self.objects[self.depth / 64];
        *word = if object { *word | bit } else { *word & !bit };
        self.depth += 1;
        Some(())
    }

    fn in_object(&self) -> bool {
        let top = self.depth - 1;
        self.objects[top / 64] & (1 << (top % 64)) != 0
    }
}

struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
    names: Names<'a>,
    seen: Seen,
}

impl Scan<'_> {
    fn error(&self, reason: &'static str) -> JsonError {
        JsonError { offset: self.at, reason }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    fn word(&mut self, word: &[u8]) -> Result<(), JsonError> {
        if !self.bytes[self.at..].starts_with(word) {
            return Err(self.error("expected a value"));
        }
        self.at += word.len();
        Ok(())
    }

    fn key(&mut self) -> Result<(), JsonError> {
        if self.peek() != Some(b'"') {
            return Err(self.error("expected a member's name in double quotes"));
        }
        let start = self.at + 1;
        let escaped = self.string()?;
        self.names.add(start, self.at - 1, escaped)?;
        self.seen.members += 1;
        self.space();
        if !self.take(b':') {
            return Err(self.error("expected a colon"));
        }
        Ok(())
    }

    /// Whether the string has escapes.
    fn string(&mut self) -> Result<bool, JsonError> {
        self.at += 1;
        let mut escaped = false;
        loop {
            self.at += plain(&self.bytes[self.at..]);
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => {
                    escaped = true;
                    self.escape()?;
                }
                Some(_) => return Err(self.error("a raw control character in a string")),
                None => return Err(self.error("the text ends inside a string")),
            }
        }
        self.at += 1;
        Ok(escaped)
    }

    fn escape(&mut self) -> Result<(), JsonError> {
        const LONE: &str = "an escaped surrogate without its partner";
        let start = self.at;
        self.at += 1;
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
            Some(b'u') => match self.hex4()? {
                0xd800..=0xdbff => {
                    let lone = JsonError { offset: start, reason: LONE };
                    if !self.take(b'\\') || self.peek() != Some(b'u') {
                        return Err(lone);
                    }
                    if !matches!(self.hex4()?, 0xdc00..=0xdfff) {
                        return Err(lone);
                    }
                }
                0xdc00..=0xdfff => {
                    return Err(JsonError { offset: start, reason: LONE });
                }
                _ => {}
            },
            _ => return Err(self.error("an unknown escape in a string")),
        }
        Ok(())
    }

    /// The code unit of `uXXXX`.
    fn hex4(&mut self) -> Result<u32, JsonError> {
        self.at += 1;
        let mut unit = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            unit = unit << 4 | digit.ok_or(self.error("expected four hexadecimal digits"))?;
            self.at += 1;
        }
        Ok(unit)
    }

    fn number(&mut self) -> Result<(), JsonError> {
        let start = self.at;
        self.take(b'-');
        if !self.take(b'0') {
            self.digits()?;
        }
        if self.take(b'.') {
            self.digits()?;
        }
        let (digits, mut exponent, mut unsigned) = (start..self.at, 0, false);
        if self.take(b'e') || self.take(b'E') {
            unsigned = !(self.take(b'+') || self.take(b'-'));
            let digits = self.digits()?.iter().map(|digit| u32::from(digit - b'0'));
            exponent = digits.fold(0u32, |number, digit| number.saturating_mul(10).saturating_add(digit));
        }
        // Zero is small with any exponent.
        let large = exponent > MAX_EXPONENT && self.bytes[digits].iter().any(|byte| matches!(byte, b'1'..=b'9'));
        // The canonical text has the sign of each exponent, and must be readable too.
        if large || self.at - start + usize::from(unsigned) > MAX_NUMBER {
            return Err(JsonError { offset: start, reason: NUMBER });
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<&[u8], JsonError> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        if self.at == start { Err(self.error("expected a digit")) } else { Ok(&self.bytes[start..self.at]) }
    }
}
