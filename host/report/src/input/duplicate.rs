//! What to do about a key or a table that is written twice.

use std::ops::Range;

use toml::de::DeTable;

use super::{Wrong, locate};

/// A merged line that is longer is not shown.
const MAX_MERGED: usize = 400;

/// `second`: the key that is repeated. `is_shown`: whether the value of a key may be repeated.
pub(super) fn explain(text: &str, second: &Range<usize>, is_shown: impl Fn(&[String]) -> bool) -> Wrong {
    let line_start = text[..second.start].rfind('\n').map_or(0, |end| end + 1);
    let line = text[line_start..].lines().next().unwrap_or_default();
    if let Some(header) = header(line) {
        let reason = match text[..line_start].lines().position(|line| self::header(line) == Some(header)) {
            Some(first) => format!("{header} is written twice, first in line {}", first + 1),
            None => format!("{header} is written twice, or its keys are also written with dots"),
        };
        return (reason, Some("move its keys under the first, and remove this line".into()));
    }
    let name = &text[second.clone()];
    let Some((at, first)) = locate::key_before(text, name.trim_matches(['"', '\'']), second.start) else {
        return (format!("the key `{name}` is written twice"), Some("remove one of them".into()));
    };
    let line = text[..at].matches('\n').count() + 1;
    let reason = format!("{} is written twice, first in line {line}", super::explain::shown_path(&first.path));
    let merged = Some(second.start)
        .filter(|_| is_shown(&first.path))
        .and_then(|second| value_after(text, second))
        .and_then(|value| merge(&text[first.value.clone()], value))
        .map(|merged| format!("{name} = {merged}"))
        // Two tables may have the same key.
        .filter(|merged| merged.len() <= MAX_MERGED && DeTable::parse(merged).is_ok());
    let hint = merged.map_or_else(
        || "remove one of them, or merge what they have into one".to_owned(),
        |merged| format!("replace both by one: {merged}"),
    );
    (reason, Some(hint.into()))
}

/// `[a.b]` of a line that begins a table.
fn header(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let end = line.find(']').filter(|_| line.starts_with('['))?;
    Some(&line[..line[end..].find(|c| c != ']').map_or(line.len(), |more| end + more)])
}

/// The value of the key that begins there.
fn value_after(text: &str, key: usize) -> Option<&str> {
    let rest = &text[key..];
    let (table, _) = DeTable::parse_recoverable(rest);
    let first = table.get_ref().iter().find(|(key, _)| key.span().start == 0)?;
    rest.get(first.1.span())
}

/// Two arrays or inline tables of one line as one.
fn merge(first: &str, second: &str) -> Option<String> {
    let inner = |text: &'_ str, open, close| {
        let inner = text.strip_prefix(open)?.strip_suffix(close)?;
        // The text of a comment could end the line.
        (!inner.contains(['\n', '#'])).then(|| inner.trim().trim_end_matches(',').trim_end().to_owned())
    };
    [('[', ']', ""), ('{', '}', " ")].into_iter().find_map(|(open, close, blank)| {
        let parts = [inner(first, open, close)?, inner(second, open, close)?];
        let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        Some(format!("{open}{blank}{}{blank}{close}", parts.join(", ")))
    })
}
