//! Where scripts and emoji need an invisible character.
//!
//! Sources: UTS #51 (emoji) and emoji-zwj-sequences.txt; RFC 5892, appendix A (joiners);
//! StandardizedVariants.txt; the Ideographic Variation Database.

use icu_properties::props::{
    BidiClass, CanonicalCombiningClass, Emoji, EmojiModifier, EmojiModifierBase, EmojiPresentation,
    ExtendedPictographic, GeneralCategory as Category, IndicSyllabicCategory as Syllabic, JoiningType, LineBreak,
    Script,
};
use icu_properties::{CodePointMapData, CodePointSetData};

use super::leeway::First;
use super::unseen::{category, is_joiner_of_a_script, is_modifier_of_a_script, script};

/// Consecutive needed characters: for example a heart's selector and a joiner.
const IN_A_ROW: usize = 2;
const ZWNJ: char = '\u{200c}';
const ZWJ: char = '\u{200d}';
/// Emoji that a person is joined with: work, hair, a partner, a child.
const WITH_PEOPLE: &str = "⚕⚖✈❤💋🌾🍳🍼🎓🎤🎨🏫🏭💻💼🔧🔬🚀🚒🦯🦰🦱🦲🦳🦼🦽🤝🎄🐰🩰🫯👦👧👨👩🧑🧒";
/// Other emoji that are joined, in pairs.
const PAIRS: &str = "❤🔥❤🩹❤💋❤👨❤👩❤🧑💋👨💋👩💋🧑🤝👨🤝👩🤝🧑🐰👨🐰👩🐰🧑🫯👨🫯👩🫯🧑🏳🌈🏳⚧🏴☠🐕🦺🐈⬛🐦⬛🐦🔥🐻❄👁🗨\
                     😮💨😵💫😶🌫🙂↔🙂↕⛓💥🍄🟫🍋🟩🫱🫲👧👦👧👧👦👦👦👧🧒🧒👯♂👯♀🤼♂🤼♀🧞♂🧞♀🧟♂🧟♀♂➡♀➡🦯➡🦼➡🦽➡";
/// Letters that look different with a virama and a joiner after them, in scripts where most do
/// not: RA of Devanagari, the chillus of Malayalam, TA of Bengali.
const HALF_LETTERS: &str = "\u{930}\u{931}\u{d15}\u{d23}\u{d28}\u{d30}\u{d32}\u{d33}\u{9a4}";
/// RA of Bengali and Kannada, whose form a joiner before the virama preserves.
const KEPT_LETTERS: &str = "\u{9b0}\u{cb0}";

/// The mark of Duployan that doubles a letter.
const DOUBLE_MARK: char = '\u{1bc9d}';

/// The context of a position.
pub(super) struct Around {
    /// The last visible character that is not a combining mark.
    pub(super) base: char,
    /// The last character that is not hidden, or is needed, and the one before it.
    pub(super) before: char,
    pub(super) earlier: char,
    /// The next character: a space at the end; NUL if it is suspect itself, and so justifies nothing.
    pub(super) next: char,
    /// Consecutive needed characters so far.
    pub(super) in_a_row: usize,
    /// Wide spaces at the start of the line, if nothing else was in it.
    pub(super) indent: usize,
    /// The line has a letter of a right-to-left script.
    pub(super) right_to_left: bool,
}

/// Why a character may be at a position.
pub(super) enum Need {
    Nothing,
    /// The text looks different without it.
    Visible,
    /// The script's spelling needs it, whether or not it is visible there.
    Spelling,
    /// It makes a variant of a text: the key of what is written, and its first cost.
    Variant((char, char), First),
    /// It could as well be absent.
    Choice,
}

/// The key for the presentations of a character that selectors select.
pub(super) fn presentation(c: char) -> (char, char) {
    (c, '\u{fe0f}')
}

pub(super) fn need(c: char, around: &Around) -> Need {
    let &Around { base, before, next, in_a_row, right_to_left, .. } = around;
    if in_a_row >= IN_A_ROW {
        return Need::Nothing;
    }
    let when = |needed: bool, need: Need| if needed { need } else { Need::Nothing };
    match c {
        ZWJ if is_pictograph(base) => emoji(around),
        ZWJ | ZWNJ if is_joiner(before) => Need::Nothing,
        ZWJ => joiner(around),
        ZWNJ => non_joiner(around),
        // Emoji or text presentation. Digits are emoji only as keycaps.
        '\u{fe0e}' | '\u{fe0f}' if before.is_ascii() => {
            when(is_emoji(before) && next == '\u{20e3}', Need::Variant(presentation(before), First::Free))
        }
        '\u{fe0e}' | '\u{fe0f}' if before == base && is_emoji(base) => {
            // Those with emoji presentation by default rarely need a selector.
            let idle = CodePointSetData::new::<EmojiPresentation>().contains(base);
            Need::Variant(presentation(base), if idle { First::Costs(1) } else { First::Presentation })
        }
        '\u{fe00}'..='\u{fe06}' if before == base && is_hieroglyph(base) => Need::Spelling,
        '\u{fe00}' if before == base && !base.is_ascii() && category(base) == Category::MathSymbol => {
            Need::Variant(presentation(base), First::Costs(1))
        }
        // Five bits. No ideograph has more variants than that.
        '\u{fe00}'..='\u{fe02}' | '\u{e0100}'..='\u{e011f}' => {
            when(before == base && is_han(base), Need::Variant(presentation(base), First::Costs(2)))
        }
        '\u{180b}'..='\u{180d}' | '\u{180f}' => when(before == base && is_mongolian(base), Need::Spelling),
        '\u{180e}' => when(is_mongolian(base) && before != c && is_mongolian(next), Need::Visible),
        // A line break opportunity, in scripts without spaces between words.
        '\u{200b}' => when(in_a_row == 0 && is_complex(base) && is_complex(next), Need::Spelling),
        // The direction of punctuation next to a word.
        '\u{200e}' | '\u{200f}' | '\u{61c}' => {
            let between_letters = before.is_alphabetic() && next.is_alphabetic();
            let changes = !between_letters || is_right_to_left(before) != is_right_to_left(next);
            let changes = changes && next != '\0';
            when(in_a_row == 0 && changes && (right_to_left || is_right_to_left(next)), Need::Spelling)
        }
        // The space of braille.
        '\u{2800}' => when(in_a_row == 0 && is_braille(before) && is_braille(next), Need::Spelling),
        '\u{13441}' | '\u{13442}' => {
            when(in_a_row == 0 && (is_hieroglyph(base) || is_hieroglyph(next)), Need::Spelling)
        }
        // Prefixed signs of numbers and verses, which enclose the digits that follow.
        '\u{600}'..='\u{605}'
        | '\u{6dd}'
        | '\u{70f}'
        | '\u{890}'..='\u{891}'
        | '\u{8e2}'
        | '\u{110bd}'
        | '\u{110cd}' => {
            let takes = if is_digit_of_a_script(next) { Need::Visible } else { Need::Spelling };
            when(in_a_row == 0 && (right_to_left || is_right_to_left(next) || matches!(takes, Need::Visible)), takes)
        }
        DOUBLE_MARK => when(in_a_row == 0 && is_duployan(base), Need::Spelling),
        c if is_modifier_of_a_script(c) => when(script(base) == script(c), Need::Visible),
        c if is_joiner_of_a_script(c) => {
            let joins = in_a_row == 0 && [base, next].map(script) == [script(c); 2] && !is_mark(next);
            // Fonts without support for them show no difference.
            let rare = matches!(c, '\u{2d7f}' | '\u{16fe4}' | '\u{1107f}');
            let need = if rare { Need::Spelling } else { Need::Visible };
            when(joins && category(next) != Category::SpacingMark, need)
        }
        _ => Need::Nothing,
    }
}

/// Emoji that a joiner combines. Joining others is invisible.
fn emoji(around: &Around) -> Need {
    let &Around { base, before, earlier, next, .. } = around;
    if !is_pictograph(next) || before != base && before != '\u{fe0f}' {
        return Need::Nothing;
    }
    let first = if CodePointSetData::new::<EmojiModifier>().contains(base) { earlier } else { base };
    let is_person = |c| matches!(c, '👨' | '👩' | '🧑');
    let acts = |c| is_person(c) || CodePointSetData::new::<EmojiModifierBase>().contains(c);
    let mut pairs = PAIRS.chars();
    if is_person(first) && WITH_PEOPLE.contains(next)
        || acts(first) && matches!(next, '♂' | '♀' | '➡')
        || std::iter::from_fn(|| pairs.next().zip(pairs.next())).any(|pair| pair == (first, next))
    {
        Need::Visible
    } else {
        Need::Variant((base, next), First::Costs(1))
    }
}

fn non_joiner(around: &Around) -> Need {
    let &Around { base, before, next, .. } = around;
    if joins_on(base) && joins_back(next) || is_virama(before) && is_joined(next) {
        Need::Visible
    } else if is_joined(base) && (is_joined(next) || is_virama(before)) {
        Need::Spelling
    } else {
        Need::Nothing
    }
}

fn joiner(around: &Around) -> Need {
    let &Around { base, before, next, .. } = around;
    // Letters that are joined anyway, or cannot be, do not change. After a mark they may.
    let joins = joins_on(base) != joins_back(next) && next != '\0' && !is_mark(next);
    let half = is_virama(before) && (script(base) == Script::Sinhala || HALF_LETTERS.contains(base));
    if joins || half || is_virama(next) && KEPT_LETTERS.contains(base) {
        Need::Visible
    } else if is_joined(base) && (is_joined(next) || is_virama(before)) {
        Need::Spelling
    } else {
        Need::Nothing
    }
}

/// Units that a letter adds for invisible characters of its script, each of which costs 32: Khmer,
/// Thai, Mongolian, hieroglyphs, braille and scripts that few fonts support get one character for
/// about three letters, others one for 32.
pub(super) fn units(c: char) -> u32 {
    match c {
        '\0'..'\u{590}' | '\u{3000}'..'\u{a000}' | '\u{ac00}'..'\u{d7b0}' => 0,
        c if is_complex(c) || is_mongolian(c) || is_braille(c) || is_hieroglyph(c) || is_rarely_joined(c) => 10,
        c if c.is_alphabetic() && (is_right_to_left(c) || is_joined(c) && !is_mark(c)) => 1,
        _ => 0,
    }
}

/// Bytes of format controls that arrange hieroglyphs: ends of segments, joiners, starts of
/// segments.
pub(super) fn hieroglyphs(base: char, rest: &str) -> usize {
    const MAX: usize = 5;
    let ends = |c| matches!(c, '\u{13438}' | '\u{1343d}' | '\u{1343f}');
    let begins = |c| matches!(c, '\u{13437}' | '\u{1343c}' | '\u{1343e}');
    let is_control = |c: &char| matches!(c, '\u{13430}'..='\u{1343f}');
    let run: Vec<char> = rest.chars().take_while(is_control).take(MAX).collect();
    let next = rest.chars().nth(run.len());
    let after_ends = run.iter().skip_while(|c| ends(**c)).count();
    let before_begins = run.iter().rev().skip_while(|c| begins(**c)).count();
    // At most one joiner.
    let joins = (before_begins + after_ends).saturating_sub(run.len());
    let (first, last) = (is_hieroglyph(base), next.is_some_and(is_hieroglyph));
    let has = (after_ends < run.len() || joins > 0, before_begins < run.len() || joins > 0);
    let good = run.len() < MAX && joins < 2 && (first || !has.0) && (last || !has.1);
    if good { run.iter().map(|c| c.len_utf8()).sum() } else { 0 }
}

pub(super) fn is_mark(c: char) -> bool {
    matches!(category(c), Category::NonspacingMark | Category::EnclosingMark)
}

pub(super) fn is_modifier(c: char) -> bool {
    CodePointSetData::new::<EmojiModifier>().contains(c)
}

pub(super) fn is_right_to_left(c: char) -> bool {
    matches!(CodePointMapData::<BidiClass>::new().get(c), BidiClass::RightToLeft | BidiClass::ArabicLetter)
}

fn is_joiner(c: char) -> bool {
    matches!(c, ZWJ | ZWNJ)
}

fn is_pictograph(c: char) -> bool {
    !c.is_ascii() && (CodePointSetData::new::<ExtendedPictographic>().contains(c) || is_modifier(c))
}

fn is_emoji(c: char) -> bool {
    CodePointSetData::new::<Emoji>().contains(c)
}

fn joining(c: char) -> JoiningType {
    CodePointMapData::<JoiningType>::new().get(c)
}

/// Whether a letter joins to the next one.
fn joins_on(c: char) -> bool {
    matches!(joining(c), JoiningType::DualJoining | JoiningType::LeftJoining | JoiningType::JoinCausing)
}

/// Whether a letter joins to the previous one.
fn joins_back(c: char) -> bool {
    matches!(joining(c), JoiningType::DualJoining | JoiningType::RightJoining | JoiningType::JoinCausing)
}

/// Whether a character belongs to a script with joined letters, which joiners affect.
fn is_joined(c: char) -> bool {
    if c.is_ascii() {
        return false;
    }
    let syllabic = CodePointMapData::<Syllabic>::new().get(c) != Syllabic::Other;
    joins_on(c) || joins_back(c) || (syllabic || script(c) == Script::Arabic) && is_of_a_word(c)
}

fn is_of_a_word(c: char) -> bool {
    c.is_alphanumeric() || is_mark(c) || category(c) == Category::SpacingMark
}

/// The mark of Indic scripts that removes a consonant's inherent vowel.
fn is_virama(c: char) -> bool {
    CodePointMapData::<CanonicalCombiningClass>::new().get(c) == CanonicalCombiningClass::Virama
}

fn is_han(c: char) -> bool {
    c > '\u{2e80}' && script(c) == Script::Han && category(c) == Category::OtherLetter
}

fn is_mongolian(c: char) -> bool {
    script(c) == Script::Mongolian && c.is_alphanumeric()
}

fn is_hieroglyph(c: char) -> bool {
    matches!(c, '\u{13000}'..='\u{1342f}' | '\u{13443}'..='\u{13446}' | '\u{13460}'..='\u{143fa}')
}

fn is_duployan(c: char) -> bool {
    script(c) == Script::Duployan && c.is_alphabetic()
}

fn is_rarely_joined(c: char) -> bool {
    matches!(script(c), Script::Tifinagh | Script::KhitanSmallScript | Script::Brahmi) && c.is_alphanumeric()
        || is_duployan(c)
}

fn is_complex(c: char) -> bool {
    CodePointMapData::<LineBreak>::new().get(c) == LineBreak::ComplexContext
}

fn is_digit_of_a_script(c: char) -> bool {
    !c.is_ascii() && category(c) == Category::DecimalNumber
}

fn is_braille(c: char) -> bool {
    matches!(c, '\u{2801}'..='\u{28ff}')
}
