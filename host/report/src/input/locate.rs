//! Finds the keys that lead to a place in a TOML text, and the place that keys lead to.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The entries of an array, in the path to one of them.
pub(super) const ITEM: &str = "[]";

/// A key or a value of a text.
pub(super) struct Located {
    /// Names of keys, and [`ITEM`] for an array's entry.
    pub(super) path: Vec<String>,
    /// Of the value; of a table with a header it is the header's.
    pub(super) value: Range<usize>,
    pub(super) kind: &'static str,
}

/// The innermost key or value at a place. Invalid TOML is read as far as possible.
pub(super) fn at(text: &str, span: &Range<usize>) -> Option<Located> {
    let (table, _) = DeTable::parse_recoverable(text);
    let mut found = None;
    search(table.get_ref(), &mut Vec::new(), &mut |path, key, value| {
        // The smallest one; of equal ones the innermost, which comes later.
        let spans = [key, Some(value.span())].into_iter().flatten();
        let covers = |own: &Range<usize>| own.start <= span.start && span.end <= own.end;
        if let Some(size) = spans.filter(covers).map(|own| own.len()).min()
            && found.as_ref().is_none_or(|(smallest, _)| size <= *smallest)
        {
            let located = Located { path: path.to_vec(), value: value.span(), kind: kind(value.get_ref()) };
            found = Some((size, located));
        }
    });
    found.map(|(_, located)| located)
}

/// The last key of that name that begins before a place, and its value.
pub(super) fn key_before(text: &str, name: &str, before: usize) -> Option<(usize, Located)> {
    let (table, _) = DeTable::parse_recoverable(text);
    let mut found: Option<(usize, Located)> = None;
    search(table.get_ref(), &mut Vec::new(), &mut |path, key, value| {
        let Some(start) = key.map(|key| key.start).filter(|start| *start < before) else { return };
        let is_later = found.as_ref().is_none_or(|(last, _)| start > *last);
        if is_later && path.last().is_some_and(|last| last == name) {
            let located = Located { path: path.to_vec(), value: value.span(), kind: kind(value.get_ref()) };
            found = Some((start, located));
        }
    });
    found
}

/// Where the value to which keys lead begins.
pub(super) fn offset_of(text: &str, keys: &[&str]) -> Option<usize> {
    let table = DeTable::parse(text).ok()?;
    let mut value: Option<&Spanned<DeValue<'_>>> = None;
    for key in keys {
        let next = match value.map(Spanned::get_ref) {
            None => table.get_ref().get(*key),
            Some(DeValue::Table(table)) => table.get(*key),
            Some(DeValue::Array(array)) => key.parse::<usize>().ok().and_then(|at| array.get(at)),
            Some(_) => None,
        };
        let Some(next) = next else { break };
        value = Some(next);
    }
    value.map(|value| value.span().start)
}

/// Visits all values with their paths, and the places of their keys. The parser bounds the depth.
fn search(
    table: &DeTable<'_>,
    path: &mut Vec<String>,
    visit: &mut impl FnMut(&[String], Option<Range<usize>>, &Spanned<DeValue<'_>>),
) {
    for (key, value) in table {
        path.push(key.get_ref().to_string());
        visit(path, Some(key.span()), value);
        inside(value, path, visit);
        path.pop();
    }
}

fn inside(
    value: &Spanned<DeValue<'_>>,
    path: &mut Vec<String>,
    visit: &mut impl FnMut(&[String], Option<Range<usize>>, &Spanned<DeValue<'_>>),
) {
    match value.get_ref() {
        DeValue::Table(table) => search(table, path, visit),
        DeValue::Array(items) => {
            path.push(ITEM.to_owned());
            for item in items {
                visit(path, None, item);
                inside(item, path, visit);
            }
            path.pop();
        }
        _ => {}
    }
}

fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date or time",
        DeValue::Array(_) => "an array",
        DeValue::Table(_) => "a table",
    }
}
