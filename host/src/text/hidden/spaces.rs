//! Where typography and scripts use unusual spaces.

use icu_properties::props::Script;

use super::leeway::First;
use super::needed::{Around, Need};
use super::unseen::{is_unusual_space, script};

/// Signs next to which typography uses a narrow or no-break space.
const SIGNS: &str = ";:!?«»‹›“”„%‰°€$£§¶№–—−×÷=·…/+±";
/// Wide spaces at the start of a line.
const INDENT: usize = 4;

/// Why a space, plain or unusual, may be at a position.
pub(super) fn need(c: char, around: &Around, rest: &str) -> Need {
    let (before, next) = (around.before, around.next);
    match c {
        '\u{3000}' if around.indent < INDENT && begins_a_line(rest) => return Need::Visible,
        '\u{1680}' if script(before) == Script::Ogham && script(next) == Script::Ogham => return Need::Visible,
        // Before suffixes of Mongolian words.
        '\u{202f}' if script(before) == Script::Mongolian && script(next) == Script::Mongolian => {
            return Need::Spelling;
        }
        _ => {}
    }
    let is_space = |c| c == ' ' || is_unusual_space(c);
    if is_space(before) && is_space(around.earlier) {
        return Need::Nothing;
    }
    // Next to other spaces, and at the end of a line.
    if before.is_whitespace() || next.is_whitespace() || next == '\0' {
        return Need::Choice;
    }
    let numeric = |c: char| if c.is_numeric() { '0' } else { c };
    if is_wide(before) && is_wide(next) {
        Need::Variant(('\u{3000}', ' '), First::Free)
    } else if SIGNS.contains(next) {
        Need::Variant((' ', next), First::Typography)
    } else if SIGNS.contains(before) {
        Need::Variant((before, ' '), First::Typography)
    } else if before.is_numeric() && next.is_numeric() {
        Need::Variant(('0', '0'), First::Typography)
    } else if before.is_numeric() || next.is_numeric() {
        Need::Variant((numeric(before), numeric(next)), First::Costs(1))
    } else if before == '.' {
        // Abbreviations.
        Need::Variant((around.earlier, next), First::Costs(1))
    } else if !around.earlier.is_alphanumeric() {
        // One-letter words.
        Need::Variant((before, '1'), First::Costs(1))
    } else {
        Need::Choice
    }
}

fn begins_a_line(rest: &str) -> bool {
    rest.trim_start_matches('\u{3000}').chars().next().is_some_and(|c| !c.is_whitespace() && !is_unusual_space(c))
}

/// Whether it belongs to a full-width script.
fn is_wide(c: char) -> bool {
    matches!(c, '\u{3001}'..='\u{303f}' | '\u{ff01}'..='\u{ff9f}')
        || c > '\u{1100}'
            && matches!(
                script(c),
                Script::Han | Script::Hiragana | Script::Katakana | Script::Hangul | Script::Bopomofo
            )
}
