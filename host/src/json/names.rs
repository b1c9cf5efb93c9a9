//! The member names of all objects that are open at a position: none may be repeated, however it is
//! escaped, and none may be one that the JSON library reserves.
//!
//! Few names are compared one by one. Many are sorted when their object ends, so that an object of
//! half a million members does not take quadratic time; a name takes eight bytes.

use smallvec::SmallVec;

use super::{JsonError, REPEATED, RESERVED};

/// `serde_json` takes an object whose first member is `$serde_json::private::RawValue` or
/// `…::Number` for the JSON or the number that its value spells (its features `raw_value` and
/// `arbitrary_precision`). What begins like these is refused, so that no version adds another.
const PRIVATE: &[u8] = b"$serde_json::";
/// The first of these two.
pub(super) const RAW: &str = "$serde_json::private::RawValue";
/// Names of one object that are compared one by one.
const FEW: usize = 16;
/// Maximum bytes of a text: offsets have 32 bits, of which one is a flag.
pub(super) const MAX_TEXT: usize = i32::MAX as usize;
/// Flag in a length: the name had escapes, and is stored in [`Names::decoded`].
const DECODED: u32 = 1 << 31;

/// Offset and length of a name. As a mark between two objects, `start` is the index of the outer
/// object's first name.
#[derive(Clone, Copy)]
struct Name {
    start: u32,
    len: u32,
}

pub(super) struct Names<'a> {
    text: &'a [u8],
    decoded: String,
    /// The names of the outermost object first.
    open: SmallVec<[Name; 24]>,
    /// The index of the innermost object's first name.
    own: usize,
}

impl<'a> Names<'a> {
    /// `text` is at most [`MAX_TEXT`] long.
    pub(super) fn new(text: &'a str) -> Self {
        Self { text: text.as_bytes(), decoded: String::new(), open: SmallVec::new(), own: 0 }
    }

    /// An object begins.
    pub(super) fn begin(&mut self) {
        self.open.push(Name { start: self.own as u32, len: 0 });
        self.own = self.open.len();
    }

    /// The innermost object ends, before the byte `at`.
    pub(super) fn end(&mut self, at: usize) -> Result<(), JsonError> {
        let Self { text, decoded, open, own } = self;
        let names = &mut open[*own..];
        if names.len() > FEW {
            let bytes = |name: &Name| resolve(text, decoded, *name);
            // By length first: only names of equal length are compared.
            names.sort_unstable_by(|a, b| {
                let (a, b) = (bytes(a), bytes(b));
                a.len().cmp(&b.len()).then_with(|| a.cmp(b))
            });
            if names.windows(2).any(|pair| bytes(&pair[0]) == bytes(&pair[1])) {
                return Err(JsonError { offset: at, reason: REPEATED });
            }
        }
        let mark = *own - 1;
        *own = open[mark].start as usize;
        open.truncate(mark);
        Ok(())
    }

    /// A member of the innermost object, whose name is between its quotes from `start` to
    /// `end`.
    pub(super) fn add(&mut self, start: usize, end: usize, escaped: bool) -> Result<(), JsonError> {
        let wrong = |reason| JsonError { offset: start, reason };
        let name = if escaped {
            let before = self.decoded.len();
            let quoted = str::from_utf8(&self.text[start - 1..=end]).ok();
            let decoded: Option<String> = quoted.and_then(|quoted| serde_json::from_str(quoted).ok());
            self.decoded.push_str(&decoded.ok_or(wrong("a member's name is invalid"))?);
            Name { start: before as u32, len: (self.decoded.len() - before) as u32 | DECODED }
        } else {
            Name { start: start as u32, len: (end - start) as u32 }
        };
        let bytes = resolve(self.text, &self.decoded, name);
        if is_private(bytes) {
            return Err(wrong(RESERVED));
        }
        let names = &self.open[self.own..];
        if names.len() < FEW && names.iter().any(|other| resolve(self.text, &self.decoded, *other) == bytes) {
            return Err(wrong(REPEATED));
        }
        self.open.push(name);
        Ok(())
    }
}

pub(super) fn is_private(name: &[u8]) -> bool {
    name.starts_with(PRIVATE)
}

/// The decoded bytes of a name.
fn resolve<'n>(text: &'n [u8], decoded: &'n str, name: Name) -> &'n [u8] {
    let source = if name.len & DECODED == 0 { text } else { decoded.as_bytes() };
    let start = name.start as usize;
    &source[start..start + (name.len & !DECODED) as usize]
}
