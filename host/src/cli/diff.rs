//! The change of a configuration file, for the person who is asked about it.

use crate::config::unchanged;
use crate::text::quote;

/// The lines that differ. What is between two changes is shown too.
pub(super) fn diff(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let (start, end) = unchanged(&old, &new, |old, new| old == new);
    let (removed, added) = (&old[start..old.len() - end], &new[start..new.len() - end]);
    // What separates a new table from the one before it changes nothing.
    let added = added.iter().copied().skip_while(|line| line.is_empty() && removed.is_empty());
    let parts = [lines('-', removed.iter().copied()), lines('+', added)];
    parts.iter().filter(|part| !part.is_empty()).map(String::as_str).collect::<Vec<_>>().join("\n")
}

/// Lines behind a sign.
pub(super) fn lines<'l>(sign: char, lines: impl Iterator<Item = &'l str>) -> String {
    lines.map(|line| format!("  {sign} {}", shown(line))).collect::<Vec<_>>().join("\n")
}

/// With invisible characters spelt out, so that what is agreed to is what is seen.
fn shown(line: &str) -> String {
    line.split('\t').map(|part| quote(part, usize::MAX)).collect::<Vec<_>>().join("\t")
}

#[cfg(test)]
mod tests {
    use super::diff;

    #[test]
    fn an_empty_line_before_what_is_new_is_not_shown() {
        assert_eq!(diff("[a]", "[a]\n\n[b]"), "  + [b]");
        assert_eq!(diff("[a]\nx", "[a]\n\n[b]"), "  - x\n  + \n  + [b]");
    }

    #[test]
    fn invisible_characters_are_spelt_out() {
        let shown = diff("", "\ta = \"x\u{200b}y\u{202e}\u{feff}\u{e0041}\"");
        assert_eq!(shown, "  + \ta = \"x\\u{200b}y\\u{202e}\\u{feff}\\u{e0041}\"");
    }
}
