//! The line ends of an edited file: those of its lines that stay are kept, as `\r\n` of Windows.

/// The new text with the line ends of the old one. New lines have those that most of the old lines have.
pub fn with_line_ends(old: &str, new: &str) -> String {
    if !old.contains('\r') {
        return new.to_owned();
    }
    let (before, after): (Vec<&str>, Vec<&str>) =
        (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
    let is_same =
        |before: &str, after: &str| line(before) == line(after) && before.ends_with('\n') == after.ends_with('\n');
    let (start, end) = unchanged(&before, &after, is_same);
    let windows = before.iter().filter(|line| line.ends_with("\r\n")).count();
    let line_end = if windows * 2 > before.len() { "\r\n" } else { "\n" };
    let added = after[start..after.len() - end].iter();
    let added =
        added.map(|text| if text.ends_with('\n') { line(text).to_owned() + line_end } else { line(text).to_owned() });
    before[..start].concat() + &added.collect::<String>() + &before[before.len() - end..].concat()
}

/// How many lines are the same at the beginning, and how many of the others at the end.
fn unchanged(before: &[&str], after: &[&str], is_same: impl Fn(&str, &str) -> bool) -> (usize, usize) {
    let start = before.iter().zip(after).take_while(|(before, after)| is_same(before, after)).count();
    let rest = before[start..].iter().rev().zip(after[start..].iter().rev());
    (start, rest.take_while(|(before, after)| is_same(before, after)).count())
}

/// Without its end.
fn line(text: &str) -> &str {
    let text = text.strip_suffix('\n').unwrap_or(text);
    text.strip_suffix('\r').unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::with_line_ends;

    #[test]
    fn lines_that_stay_keep_their_ends() {
        for (old, new, expected) in [
            ("a\nb\n", "a\nc\nb\n", "a\nc\nb\n"),
            ("a\r\nb\r\n", "a\nc\nb\n", "a\r\nc\r\nb\r\n"),
            ("a\r\nb\r\n", "a\r\nc\nb\r\n", "a\r\nc\r\nb\r\n"),
            ("a\nb\r\nd\r\n", "a\nb\nc\nd\n", "a\nb\r\nc\r\nd\r\n"),
            ("a\nb\nd\r\n", "a\nb\nc\nd\n", "a\nb\nc\nd\r\n"),
            ("a\r\nb", "a\nb\nc\n", "a\r\nb\nc\n"),
            ("", "a\n", "a\n"),
        ] {
            assert_eq!(with_line_ends(old, new), expected, "{old:?} {new:?}");
        }
    }
}
