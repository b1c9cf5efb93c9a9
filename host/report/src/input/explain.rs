//! Says in TOML's words what serde and the parser say in Rust's.

use std::ops::Range;

use super::locate::{ITEM, Located};
use super::{Format, Key, Wrong, duplicate, locate};

/// How the messages begin that say only that a value is of another type. The others are sentences for people.
const MISMATCH: [&str; 8] = [
    "invalid type: ",
    "invalid value: ",
    "invalid length ",
    "wanted ",
    "expected ",
    "data did not match",
    "integer number overflowed",
    "floating-point number overflowed",
];
/// Characters of a value that a message repeats.
const MAX_SHOWN: usize = 60;

/// What is wrong at a place, without the line and column, and a hint.
pub(super) fn explain(text: &str, message: &str, span: Range<usize>, format: &Format) -> Wrong {
    if message == "duplicate key" {
        return duplicate::explain(text, &span, |path| is_shown(format, path));
    }
    let located = locate::at(text, &span);
    // What is missing from the file itself is in no key of it.
    let located = located.filter(|found| !message.starts_with("missing field ") || found.value == span);
    let Some(located) = located else {
        let missing = names(message, "missing field ").map(|names| format!("the key `{}` is missing", names.join("")));
        return (missing.unwrap_or_else(|| message.to_owned()), None);
    };
    if let Some(names) = names(message, "unknown field ") {
        return unknown_key(&located.path, &names, format);
    }
    let value = Value::of(text, located, format);
    if let Some(names) = names(message, "unknown variant ") {
        return value.unknown(&names, format);
    }
    if let Some(names) = names(message, "missing field ") {
        let mut path = value.path.clone();
        path.extend(names.first().map(|name| (*name).to_owned()));
        let hint = key(format, &path).map(|key| like_this(key, &path));
        return (format!("{}the key `{}` is missing", prefix(&value.path), names.join("")), hint);
    }
    if MISMATCH.iter().any(|start| message.starts_with(start)) {
        return value.mismatch(message);
    }
    let hint = value.key.map(|key| like_this(key, &value.path));
    (format!("{}{}", prefix(&value.path), words(message)), hint)
}

/// A value that does not fit, and what its key takes.
struct Value {
    path: Vec<String>,
    key: Option<&'static Key>,
    found: String,
}

impl Value {
    fn of(text: &str, located: Located, format: &Format) -> Self {
        let Located { mut path, value, kind } = located;
        let mut found = shown(&text[value], kind, is_shown(format, &path));
        // An array or a table in place of something else has entries of which nothing is known.
        while key(format, &path).is_none() && path.len() > 1 && !format.keys.is_empty() {
            found = if path.pop().as_deref() == Some(ITEM) { "an array" } else { "a table" }.to_owned();
        }
        Self { key: key(format, &path), path, found }
    }

    fn mismatch(&self, message: &str) -> Wrong {
        let takes = self.key.map_or_else(|| general(message), |key| key.takes);
        let hint = self.key.map(|key| like_this(key, &self.path));
        (format!("{}expected {takes}, found {}", prefix(&self.path), self.found), hint)
    }

    /// A text that is none of those which are known: the first of `names`.
    fn unknown(&self, names: &[&str], format: &Format) -> Wrong {
        let (wrong, known) = names.split_first().map_or(("", names), |(wrong, known)| (*wrong, known));
        let meant = format.other_values.iter().find_map(|(path, meant, words)| {
            (fits(path, &self.path) && words.contains(&wrong.to_lowercase().as_str())).then_some(*meant)
        });
        let hint = meant.or_else(|| did_you_mean(wrong, known.iter().copied()));
        let hint = match (hint, self.key) {
            (Some(meant), Some(_)) => Some(format!("did you mean {} = \"{meant}\"?", last(&self.path))),
            (Some(meant), None) => Some(format!("did you mean `{meant}`?")),
            (None, key) => key.map(|key| like_this(key, &self.path)),
        };
        let known: Vec<String> = known.iter().map(|name| format!("\"{name}\"")).collect();
        (format!("{}expected {}, found {}", prefix(&self.path), known.join(" or "), self.found), hint)
    }
}

/// The names in the backticks of a message that begins like that.
fn names<'m>(message: &'m str, start: &str) -> Option<Vec<&'m str>> {
    Some(message.strip_prefix(start)?.split('`').skip(1).step_by(2).collect())
}

/// `names`: the unknown one, and those that its table knows.
fn unknown_key(path: &[String], names: &[&str], format: &Format) -> Wrong {
    let (wrong, siblings) = names.split_first().map_or(("", names), |(wrong, known)| (*wrong, known));
    let parent = path.split_last().map_or(path, |(_, parent)| parent);
    let place = match parent.iter().rev().find(|part| *part != ITEM) {
        None => String::new(),
        Some(name) if parent.last().is_some_and(|last| last == ITEM) => format!(" in an entry of {name}"),
        Some(_) => format!(" in [{}]", shown_path(parent)),
    };
    let lower = wrong.to_lowercase();
    let advised = format.advice.iter().find(|(table, names, _)| fits(table, parent) && names.contains(&lower.as_str()));
    let hint = match advised {
        Some((_, _, hint)) => (*hint).to_owned(),
        None => match meant_here(&lower, siblings, parent, format) {
            Some(near) => format!("did you mean `{near}`?"),
            None => match meant_elsewhere(&lower, parent, format) {
                Some(key) => elsewhere(key, parent),
                None => format!("known here: {}", siblings.join(", ")),
            },
        },
    };
    (format!("unknown key `{wrong}`{place}"), Some(hint).filter(|_| !siblings.is_empty()))
}

/// The key of the same table that is meant.
fn meant_here<'n>(wrong: &str, siblings: &[&'n str], parent: &[String], format: &Format) -> Option<&'n str> {
    let other = |name: &&&str| {
        let mut path = parent.to_vec();
        path.push((**name).to_owned());
        format.other_names.iter().any(|(key, words)| fits(key, &path) && words.contains(&wrong))
    };
    siblings.iter().find(other).copied().or_else(|| did_you_mean(wrong, siblings.iter().copied()))
}

/// The key of another table that is meant: that with most of the same keys before it.
fn meant_elsewhere(wrong: &str, parent: &[String], format: &Format) -> Option<&'static Key> {
    let is_meant = |key: &&Key| {
        let parts = segments(key.path);
        let is_other = || format.other_names.iter().any(|(path, words)| *path == key.path && words.contains(&wrong));
        !parts.contains(&ITEM) && (parts.last() == Some(&wrong) || is_other())
    };
    let common = |key: &&Key| {
        segments(key.path).iter().zip(parent).take_while(|(part, own)| **part == "*" || *part == own).count()
    };
    // Of equals the first.
    format.keys.iter().filter(is_meant).rev().max_by_key(common)
}

fn elsewhere(key: &Key, parent: &[String]) -> String {
    let parts = segments(key.path);
    let Some((name, table)) = parts.split_last() else { return String::new() };
    let filled = table.iter().enumerate().map(|(at, part)| match (*part, parent.get(at)) {
        ("*", Some(own)) => own.as_str(),
        ("*", None) => "NAME",
        (part, _) => part,
    });
    let table = filled.collect::<Vec<_>>().join(".");
    let table = if table.is_empty() { "at the beginning of the file".to_owned() } else { format!("under [{table}]") };
    let name = if *name == "*" { "NAME" } else { *name };
    format!("write it {table}: {name} = {}", key.example)
}

/// What a value was expected to be, of a key that the format does not name.
fn general(message: &str) -> &'static str {
    match message.rsplit_once("expected ").map_or("", |(_, expected)| expected) {
        "a boolean" => "true or false",
        "a sequence" => "an array",
        "a map" => "a table",
        expected if expected.starts_with("struct ") => "a table",
        expected if expected.contains("string") || message.contains("string or table") => "a string",
        expected if expected.starts_with(['u', 'i']) => "a whole number",
        expected if expected.starts_with('f') => "a number",
        _ => "something else",
    }
}

/// The parser's words for what people write most.
fn words(message: &str) -> &str {
    match message {
        "string values must be quoted, expected literal string" => "a text must be in quotes",
        "key with no value, expected `=`" => "a key without `=` and a value",
        other => other,
    }
}

fn shown(text: &str, kind: &str, is_shown: bool) -> String {
    let is_value = !(kind == "a table" && !text.starts_with('{') || kind == "an array" && text.starts_with("[["));
    if is_shown && is_value && !text.is_empty() && text.chars().count() <= MAX_SHOWN && !text.contains('\n') {
        return text.to_owned();
    }
    if kind == "true or false" { text.to_owned() } else { kind.to_owned() }
}

fn is_shown(format: &Format, path: &[String]) -> bool {
    !format.unshown.iter().any(|hidden| (0..=path.len()).any(|end| fits(hidden, &path[..end])))
}

fn like_this(key: &Key, path: &[String]) -> String {
    let (name, example) = (last(path), key.example);
    if path.last().is_some_and(|last| last == ITEM) {
        return format!("write it like this: {name} = [{example}]");
    }
    format!("write it like this: {name} = {example}")
}

/// The name of a key, or of the array of an entry.
fn last(path: &[String]) -> &str {
    path.iter().rev().find(|part| *part != ITEM).map_or("", String::as_str)
}

fn prefix(path: &[String]) -> String {
    if path.is_empty() { String::new() } else { format!("{}: ", shown_path(path)) }
}

fn shown_path(path: &[String]) -> String {
    let parts: Vec<&str> = path.iter().map(String::as_str).filter(|part| *part != ITEM).collect();
    parts.join(".")
}

fn key(format: &Format, path: &[String]) -> Option<&'static Key> {
    format.keys.iter().find(|key| fits(key.path, path))
}

fn fits(pattern: &str, path: &[String]) -> bool {
    let parts = segments(pattern);
    parts.len() == path.len() && parts.iter().zip(path).all(|(part, own)| *part == own || *part == "*" && own != ITEM)
}

fn segments(pattern: &str) -> Vec<&str> {
    let both = |part| match str::strip_suffix(part, ITEM) {
        Some(name) => vec![name, ITEM],
        None => vec![part],
    };
    pattern.split('.').flat_map(both).filter(|part| !part.is_empty()).collect()
}

/// The known name closest to an unknown one: a third of the letters may differ.
pub fn did_you_mean<'n>(wrong: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let near = names.map(|name| (strsim::damerau_levenshtein(wrong, name), name)).min()?;
    let letters = wrong.chars().count().max(near.1.chars().count());
    (near.0 * 3 <= letters).then_some(near.1)
}
