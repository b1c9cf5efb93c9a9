//! Which characters of a text nobody sees, or steer what shows it, and which of those are needed
//! where they stand.
//!
//! What a model reads and a person does not is a way to speak to it past the person. Unicode says
//! what is ignored when it is shown; scripts and emoji need a few of those, in certain places.
//! There one of them passes, and nowhere else.
//!
//! Sources: Unicode 17, Default_Ignorable_Code_Point; UTS #51 (emoji); RFC 5892, appendix A
//! (joiners); StandardizedVariants.txt.

use icu_properties::props::{
    BidiClass, CanonicalCombiningClass, DefaultIgnorableCodePoint, Emoji, EmojiModifier, ExtendedPictographic,
    GeneralCategory as Category, Ideographic, IndicSyllabicCategory, JoiningType, LineBreak, Script,
};
use icu_properties::{CodePointMapData, CodePointSetData};

/// Hidden characters in a row that are needed: a heart is one and a joiner behind it another.
const IN_A_ROW: usize = 2;
const ZWNJ: char = '\u{200c}';
const ZWJ: char = '\u{200d}';
/// The flags of England, Scotland and Wales, which are the ones that there are: a black flag, the
/// name of the region in tags, and the tag that ends it.
const FLAGS: [&str; 3] = ["gbeng", "gbsct", "gbwls"];
const BLACK_FLAG: char = '\u{1f3f4}';

/// Whether every byte is of a text that hides nothing.
pub(super) fn is_plain(text: &str) -> bool {
    // Without a way out in the middle it is done for many bytes at once.
    text.bytes().fold(true, |plain, byte| plain & (matches!(byte, 0x20..0x7f | b'\n' | b'\t')))
}

/// Whether a character is hidden unless it is needed where it stands. A carriage return is not
/// among them: it depends on what follows.
pub(super) fn is_suspect(c: char) -> bool {
    match c {
        '\n' | '\t' | '\r' | ' '..='~' | '\u{a0}'..='\u{ac}' | '\u{ae}'..='\u{2ff}' => false,
        // Controls of both sets.
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' => true,
        // Blank though they are no spaces: a braille cell without dots, a note without a head.
        '\u{2800}' | '\u{1d159}' => true,
        // Interlinear annotation, which nothing shows.
        '\u{fff9}'..='\u{fffb}' => true,
        // Noncharacters.
        '\u{fdd0}'..='\u{fdef}' => true,
        c if u32::from(c) & 0xfffe == 0xfffe => true,
        c => {
            CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(c)
                || CodePointMapData::<Category>::new().get(c) == Category::PrivateUse
        }
    }
}

/// The hidden characters of a text, and where they are.
pub(super) struct Hidden<'a> {
    text: &'a str,
    at: usize,
    /// The last one that is seen and is no mark on another.
    base: char,
    /// The last one that is not hidden, or is needed.
    before: char,
    /// Needed ones in a row up to here.
    in_a_row: usize,
    /// The last letter is of a script that is written from right to left.
    right_to_left: bool,
}

impl<'a> Hidden<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        Self { text, at: 0, base: ' ', before: ' ', in_a_row: 0, right_to_left: false }
    }

    fn pass(&mut self, c: char) {
        if !c.is_ascii() && is_mark(c) {
            self.before = c;
        } else {
            (self.base, self.before) = (c, c);
        }
        self.in_a_row = 0;
        self.right_to_left = match c {
            c if c.is_ascii() => self.right_to_left && !c.is_ascii_alphabetic() && c != '\n',
            c => is_right_to_left(c) || self.right_to_left && !c.is_alphabetic(),
        };
    }

    /// Whether `c` is needed between what was before it and `rest`.
    fn is_needed(&self, c: char, rest: &str) -> bool {
        if self.in_a_row >= IN_A_ROW {
            return false;
        }
        // What is hidden itself gives no reason.
        let next = rest.chars().next().filter(|c| !is_suspect(*c)).unwrap_or(' ');
        let (base, before) = (self.base, self.before);
        match c {
            ZWJ if is_pictograph(base) => (before == base || before == '\u{fe0f}') && is_pictograph(next),
            ZWJ => is_joined(base) && !is_joiner(before) && (is_joined(next) || is_virama(before)),
            ZWNJ => is_joined(base) && !is_joiner(before) && is_joined(next),
            // Emoji as pictures or as text. Digits are emoji only with a key around them.
            '\u{fe0e}' | '\u{fe0f}' if before.is_ascii() => is_emoji(before) && next == '\u{20e3}',
            '\u{fe0f}' | '\u{fe0e}' => before == base && is_emoji(before),
            '\u{fe00}' if before == base && CodePointMapData::<Category>::new().get(base) == Category::MathSymbol => {
                !base.is_ascii()
            }
            '\u{fe00}'..='\u{fe02}' | '\u{e0100}'..='\u{e01ef}' => before == base && is_ideograph(base),
            '\u{180b}'..='\u{180d}' | '\u{180f}' => before == base && is_mongolian(base),
            '\u{180e}' => is_mongolian(base) && before != c && is_mongolian(next),
            // Where words are not parted by spaces, a line may end there.
            '\u{200b}' => self.in_a_row == 0 && is_of_complex_context(base) && is_of_complex_context(next),
            // Which way punctuation beside a word reads.
            '\u{200e}' | '\u{200f}' | '\u{61c}' => self.in_a_row == 0 && (self.right_to_left || is_right_to_left(next)),
            // The space of braille.
            '\u{2800}' => self.in_a_row == 0 && (is_braille(before) || is_braille(next)),
            _ => false,
        }
    }
}

impl Iterator for Hidden<'_> {
    type Item = (usize, char);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let rest = &self.text[self.at..];
            let c = rest.chars().next()?;
            let at = self.at;
            self.at += c.len_utf8();
            let rest = &rest[c.len_utf8()..];
            if c == '\r' {
                // A line's end as some systems write it. Alone it goes back over the line.
                if !rest.starts_with('\n') {
                    return Some((at, c));
                }
            } else if !is_suspect(c) {
                self.pass(c);
                if c == BLACK_FLAG {
                    self.at += flag(rest);
                }
            } else if self.is_needed(c, rest) {
                self.before = c;
                self.in_a_row += 1;
            } else {
                return Some((at, c));
            }
        }
    }
}

/// Bytes of the tags that make a black flag that of a region.
fn flag(rest: &str) -> usize {
    let tag = |c: u32| char::from_u32(0xe0000 + c);
    let tags = |name: &str| -> Option<String> { name.chars().map(|c| tag(u32::from(c))).chain([tag(0x7f)]).collect() };
    let tags = FLAGS.into_iter().filter_map(tags).find(|tags| rest.starts_with(tags));
    tags.map_or(0, |tags| tags.len())
}

fn is_joiner(c: char) -> bool {
    matches!(c, ZWJ | ZWNJ)
}

fn is_mark(c: char) -> bool {
    matches!(CodePointMapData::<Category>::new().get(c), Category::NonspacingMark | Category::EnclosingMark)
}

fn is_pictograph(c: char) -> bool {
    !c.is_ascii()
        && (CodePointSetData::new::<ExtendedPictographic>().contains(c)
            || CodePointSetData::new::<EmojiModifier>().contains(c))
}

fn is_emoji(c: char) -> bool {
    CodePointSetData::new::<Emoji>().contains(c)
}

/// Whether a character is written joined to its neighbours, so that a joiner can change that.
fn is_joined(c: char) -> bool {
    if c.is_ascii() {
        return false;
    }
    let joins = |kind| {
        matches!(
            kind,
            JoiningType::DualJoining | JoiningType::LeftJoining | JoiningType::RightJoining | JoiningType::JoinCausing
        )
    };
    joins(CodePointMapData::<JoiningType>::new().get(c))
        || CodePointMapData::<IndicSyllabicCategory>::new().get(c) != IndicSyllabicCategory::Other && is_of_a_word(c)
        || CodePointMapData::<Script>::new().get(c) == Script::Arabic && is_of_a_word(c)
}

fn is_of_a_word(c: char) -> bool {
    c.is_alphanumeric() || is_mark(c) || CodePointMapData::<Category>::new().get(c) == Category::SpacingMark
}

/// The mark of scripts of India that takes a consonant's vowel.
fn is_virama(c: char) -> bool {
    CodePointMapData::<CanonicalCombiningClass>::new().get(c) == CanonicalCombiningClass::Virama
}

fn is_ideograph(c: char) -> bool {
    !c.is_ascii() && CodePointSetData::new::<Ideographic>().contains(c)
}

fn is_mongolian(c: char) -> bool {
    CodePointMapData::<Script>::new().get(c) == Script::Mongolian && c.is_alphanumeric()
}

fn is_of_complex_context(c: char) -> bool {
    CodePointMapData::<LineBreak>::new().get(c) == LineBreak::ComplexContext
}

fn is_right_to_left(c: char) -> bool {
    matches!(CodePointMapData::<BidiClass>::new().get(c), BidiClass::RightToLeft | BidiClass::ArabicLetter)
}

fn is_braille(c: char) -> bool {
    matches!(c, '\u{2801}'..='\u{28ff}')
}
