//! The lines in which two texts differ, for people.

use std::ops::Range;
use std::time::{Duration, Instant};

use similar::{Algorithm, DiffOp, DiffTag, capture_diff_slices_deadline};

use crate::text::quote;

/// After this time, what is left is compared less exactly: two texts of many lines that have nothing in common may take
/// minutes.
const MAX_TIME: Duration = Duration::from_millis(500);

/// Lines that were replaced by others; either may be none.
pub(super) struct Hunk {
    pub(super) removed: Range<usize>,
    pub(super) added: Range<usize>,
}

/// Where two lists of lines differ.
pub(super) fn hunks(old: &[&str], new: &[&str]) -> Vec<Hunk> {
    let operations = capture_diff_slices_deadline(Algorithm::Myers, old, new, Some(Instant::now() + MAX_TIME));
    let differing = operations.iter().map(DiffOp::as_tag_tuple).filter(|(tag, ..)| *tag != DiffTag::Equal);
    differing.map(|(_, removed, added)| Hunk { removed, added }).collect()
}

/// The change of a configuration file, for the person who is asked about it: the lines that differ.
pub(super) fn diff(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let parts = hunks(&old, &new).into_iter().flat_map(|Hunk { removed, added }| {
        let (removed, added) = (&old[removed], &new[added]);
        // What separates a new table from the one before it changes nothing.
        let added = added.iter().copied().skip_while(|line| line.is_empty() && removed.is_empty());
        [lines('-', removed.iter().copied()), lines('+', added)]
    });
    parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
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
    use std::time::Instant;

    use super::{MAX_TIME, diff};

    #[test]
    fn an_empty_line_before_what_is_new_is_not_shown() {
        assert_eq!(diff("[a]", "[a]\n\n[b]"), "  + [b]");
        assert_eq!(diff("[a]\nx", "[a]\n\n[b]"), "  - x\n  + \n  + [b]");
    }

    #[test]
    fn what_is_between_two_changes_is_left_out() {
        assert_eq!(diff("a\nb\nc\nd", "A\nb\nc\nD\ne"), "  - a\n  + A\n  - d\n  + D\n  + e");
    }

    #[test]
    fn texts_without_a_common_line_take_a_bounded_time() {
        let text = |sign: char| (0..200_000).map(|n| format!("{sign}{}\n", n % 977)).collect::<String>();
        let started = Instant::now();
        assert!(diff(&text('a'), &text('b')).starts_with("  - a0\n"));
        assert!(started.elapsed() < 20 * MAX_TIME, "{:?}", started.elapsed());
    }

    #[test]
    fn invisible_characters_are_spelt_out() {
        let shown = diff("", "\ta = \"x\u{200b}y\u{202e}\u{feff}\u{e0041}\"");
        assert_eq!(shown, "  + \ta = \"x\\u{200b}y\\u{202e}\\u{feff}\\u{e0041}\"");
    }
}
