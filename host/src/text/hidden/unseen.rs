//! Which characters are invisible, or control the display.

use icu_properties::props::{
    DefaultIgnorableCodePoint, GeneralCategory as Category, IndicSyllabicCategory as Syllabic, Script,
};
use icu_properties::{CodePointMapData, CodePointSetData};

/// Whether a character is hidden unless it is needed in its position. Not for carriage returns,
/// which depend on what follows, nor for spaces: see [`is_unusual_space`].
pub(in crate::text) fn is_suspect(c: char) -> bool {
    match c {
        '\n' | '\t' | '\r' | ' '..='~' | '\u{a0}'..='\u{ac}' | '\u{ae}'..='\u{2ff}' => false,
        // Greek, Cyrillic, kana, ideographs, Hangul syllables: a fast path for most other texts.
        '\u{370}'..='\u{482}' | '\u{3041}'..='\u{30fe}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' => false,
        // C0 and C1 controls.
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' => true,
        // Blank, but not spaces: the blank braille cell, the null note head, the object replacement
        // character, blank hieroglyphs.
        '\u{2800}' | '\u{1d159}' | '\u{fffc}' | '\u{13441}' | '\u{13442}' => true,
        // Noncharacters.
        '\u{fdd0}'..='\u{fdef}' => true,
        c if u32::from(c) & 0xfffe == 0xfffe => true,
        c => {
            let category = CodePointMapData::<Category>::new().get(c);
            // Of the unassigned, only planes without planned assignments.
            matches!(category, Category::Format | Category::PrivateUse)
                || matches!(category, Category::LineSeparator | Category::ParagraphSeparator)
                || category == Category::Unassigned && matches!(c, '\u{40000}'..='\u{effff}')
                || CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(c)
                || is_joiner_of_a_script(c)
                || is_modifier_of_a_script(c)
        }
    }
}

/// Marks of one script that only combine the letters around them.
pub(super) fn is_joiner_of_a_script(c: char) -> bool {
    let stacks = |c| {
        let category = CodePointMapData::<Syllabic>::new().get(c);
        category == Syllabic::InvisibleStacker || category == Syllabic::NumberJoiner
    };
    // Tifinagh, Kharoshthi, Khitan.
    matches!(c, '\u{2d7f}' | '\u{10a3f}' | '\u{16fe4}') || c > '\u{1000}' && stacks(c)
}

/// Marks of one script that only modify a letter's form: hieroglyphs, Duployan,
/// SignWriting.
pub(super) fn is_modifier_of_a_script(c: char) -> bool {
    matches!(c, '\u{13440}' | '\u{1bc9d}' | '\u{1da9b}'..='\u{1da9f}' | '\u{1daa1}'..='\u{1daaf}')
}

/// Spaces other than U+0020, which are hard to distinguish from it.
pub fn is_unusual_space(c: char) -> bool {
    matches!(c, '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}')
}

pub(super) fn script(c: char) -> Script {
    CodePointMapData::<Script>::new().get(c)
}

pub(super) fn category(c: char) -> Category {
    CodePointMapData::<Category>::new().get(c)
}
