//! Finds hidden characters of a text: invisible ones and controls, except those that are
//! needed where they are.
//!
//! Text that a model reads and a person does not see is a channel for prompt injection. Unicode defines
//! what is ignored in display; scripts and emoji need a few of those characters, in certain positions.
//! There they pass: without limit where the text would look different without them, otherwise within
//! a leeway that all texts of one message share, so that they cannot encode a message.
//!
//! Source: Unicode 17, Default_Ignorable_Code_Point and General_Category.

mod leeway;
mod needed;
mod spaces;
mod unseen;

pub use leeway::Leeway;
use needed::{Around, Need, hieroglyphs, is_mark, is_modifier, is_right_to_left, presentation, units};
pub(super) use unseen::is_suspect;
pub use unseen::is_unusual_space;

/// Maximum combining marks on one letter. No script needs more than about five.
const MARKS: usize = 8;
/// The flags of England, Scotland and Wales, the only ones of this form: a black flag, the
/// name of the region in tags, and the tag that ends it.
const FLAGS: [&str; 3] = ["gbeng", "gbsct", "gbwls"];
const BLACK_FLAG: char = '\u{1f3f4}';

/// Whether no byte can be part of a hidden character.
pub(super) fn is_plain(text: &str) -> bool {
    // Without an early exit, so that it is vectorized.
    text.bytes().fold(true, |plain, byte| plain & (matches!(byte, 0x20..0x7f | b'\n' | b'\t')))
}

/// The replacement of a hidden character.
pub fn replacement(c: char) -> &'static str {
    match c {
        '\u{2028}' | '\u{2029}' => "\n",
        // Keeps the columns of braille art.
        '\u{2800}' => " ",
        c if is_unusual_space(c) => " ",
        _ => "",
    }
}

/// Iterates over the hidden characters of a text with their positions.
pub(super) struct Hidden<'a> {
    text: &'a str,
    at: usize,
    around: Around,
    /// Consecutive marks so far.
    marks: usize,
    leeway: &'a mut Leeway,
    /// The position up to which letters were counted for the leeway.
    counted: usize,
}

impl<'a> Hidden<'a> {
    pub(super) fn of(text: &'a str, leeway: &'a mut Leeway) -> Self {
        let around =
            Around { base: ' ', before: '\n', earlier: '\n', next: ' ', in_a_row: 0, indent: 0, right_to_left: false };
        Self { text, at: 0, around, marks: 0, leeway, counted: 0 }
    }

    fn pass(&mut self, c: char) {
        let around = &mut self.around;
        around.earlier = around.before;
        around.before = c;
        around.in_a_row = 0;
        around.indent = match c {
            '\n' => 0,
            '\u{3000}' => around.indent.saturating_add(1),
            _ => usize::MAX,
        };
        if !c.is_ascii() && is_mark(c) {
            self.marks += 1;
        } else {
            around.base = c;
            self.marks = 0;
        }
        around.right_to_left = c != '\n' && (around.right_to_left || !c.is_ascii() && is_right_to_left(c));
    }

    /// Whether a visible character passes: not a mark beyond the maximum.
    fn passes(&mut self, c: char) -> bool {
        c.is_ascii() || !is_mark(c) || self.marks < MARKS && (c != self.around.before || self.leeway.pay(1))
    }

    fn is_needed(&mut self, need: Need) -> bool {
        match need {
            Need::Nothing => false,
            Need::Visible => true,
            Need::Choice => self.leeway.pay(1),
            Need::Variant(what, first) => {
                let c = self.text[self.at..].chars().next().unwrap_or(' ');
                self.leeway.use_variant(what, c, &first)
            }
            Need::Spelling => {
                let letters = self.text[self.counted..self.at].chars();
                self.leeway.credit(letters.map(units).sum());
                self.counted = self.at;
                self.leeway.pay_for_spelling()
            }
        }
    }

    fn set_next(&mut self, next: Option<char>) {
        self.around.next = next.map_or(' ', |next| if is_suspect(next) { '\0' } else { next });
    }

    /// Whether the character `c` is hidden, and how many further bytes to skip.
    fn step(&mut self, c: char, rest: &str) -> (bool, usize) {
        let next = rest.chars().next();
        if c == '\r' {
            // CRLF is a line break. A lone carriage return overwrites the line.
            return (!rest.starts_with('\n'), 0);
        }
        if c == ' ' || is_unusual_space(c) {
            self.set_next(next);
            return (self.space(c, rest), 0);
        }
        if !is_suspect(c) {
            if !self.passes(c) {
                return (true, 0);
            }
            if self.leeway.has_variants() && self.around.before == self.around.base {
                // Two emoji without a joiner.
                self.leeway.use_plain((self.around.base, c));
            }
            self.pass(c);
            let selected = |next| matches!(next, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}');
            if self.leeway.has_variants() && !next.is_some_and(|next| selected(next) || is_modifier(next)) {
                self.leeway.use_plain(presentation(c));
            }
            return (false, if c == BLACK_FLAG { flag(rest) } else { 0 });
        }
        if matches!(c, '\u{13430}'..='\u{1343f}') {
            let run = hieroglyphs(self.around.base, &self.text[self.at..]);
            return (run == 0, run.saturating_sub(c.len_utf8()));
        }
        self.set_next(next);
        let need = needed::need(c, &self.around);
        if self.is_needed(need) {
            self.around.earlier = self.around.before;
            self.around.before = c;
            self.around.in_a_row += 1;
            return (false, 0);
        }
        if self.around.before == self.around.base {
            self.leeway.use_plain(presentation(self.around.base));
        }
        if let Some(replacement) = replacement(c).chars().next() {
            self.pass(replacement);
        }
        (true, 0)
    }

    /// Whether a space is hidden: an unusual one that is not needed.
    fn space(&mut self, c: char, rest: &str) -> bool {
        let usual = c == ' ';
        if usual && !self.leeway.has_variants() {
            self.pass(c);
            return false;
        }
        let need = spaces::need(c, &self.around, rest);
        let way = if let Need::Variant(what, _) = &need { Some(*what) } else { None };
        let passes = usual || self.is_needed(need);
        if let Some(what) = way.filter(|_| usual || !passes) {
            self.leeway.use_plain(what);
        }
        self.pass(if passes { c } else { ' ' });
        !passes
    }
}

impl Iterator for Hidden<'_> {
    type Item = (usize, char);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let text = self.text;
            let c = text[self.at..].chars().next()?;
            let (hidden, more) = self.step(c, &text[self.at + c.len_utf8()..]);
            let at = self.at;
            self.at += c.len_utf8() + more;
            if hidden {
                return Some((at, c));
            }
        }
    }
}

/// Bytes of the tag sequence after a black flag.
fn flag(rest: &str) -> usize {
    let tag = |c: u32| char::from_u32(0xe0000 + c);
    let tags = |name: &str| -> Option<String> { name.chars().map(|c| tag(u32::from(c))).chain([tag(0x7f)]).collect() };
    let tags = FLAGS.into_iter().filter_map(tags).find(|tags| rest.starts_with(tags));
    tags.map_or(0, |tags| tags.len())
}

#[cfg(test)]
mod tests;
