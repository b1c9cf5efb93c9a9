//! Rewrites the messages of serde and of the parser in terms of TOML.

use std::borrow::Cow;
use std::ops::Range;

use super::locate::{ITEM, Located};
use super::repair::Written;
use super::{Format, HINT, Hint, Key, Wrong, duplicate, locate};

/// How the messages of serde begin that only report another type. The others are written for people.
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
/// The longest name, in bytes, that is compared with the known ones: the comparison takes memory for each byte.
const MAX_COMPARED: usize = 100;
/// How the parser's messages begin about a text without quotes, which it takes for what it begins with.
const BARE: [&str; 5] =
    ["string values must be quoted", "invalid float", "invalid boolean", "invalid integer", "invalid date-time"];

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
    let mut value = Value::of(text, located, format);
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
    if BARE.iter().any(|start| message.starts_with(start)) {
        value.raw = if is_shown(format, &value.path) { bare_word(text, span.start) } else { None };
        let hint = value.meant(Written::quoted);
        return (format!("{}a text must be in quotes", prefix(&value.path)), hint);
    }
    let (message, own_hint) = message.split_once(HINT).map_or((message, None), |(message, hint)| (message, Some(hint)));
    let hint = own_hint.map(Hint::from).or_else(|| value.key.map(|key| like_this(key, &value.path)));
    (format!("{}{}", prefix(&value.path), words(message)), hint)
}

/// The words that are written there.
fn bare_word(text: &str, at: usize) -> Option<String> {
    let start = text[..at].rfind(|c: char| c.is_whitespace() || "=[{,".contains(c)).map_or(0, |end| end + 1);
    let word = text[start..].split(['\n', ']', '}', ',', '#']).next()?.trim();
    (!word.is_empty() && word.len() <= MAX_SHOWN && !word.contains(['"', '\\'])).then(|| word.to_owned())
}

/// A value that does not fit, and what its key takes.
struct Value {
    path: Vec<String>,
    key: Option<&'static Key>,
    /// What the entries of its array take.
    entry: Option<&'static Key>,
    found: String,
    kind: &'static str,
    /// As it is written, if it may be repeated.
    raw: Option<String>,
    /// Whether it is a table with a header of its own.
    has_header: bool,
}

impl Value {
    fn of(text: &str, located: Located, format: &Format) -> Self {
        let Located { mut path, value, kind } = located;
        let has_header = kind == "a table" && !text[value.clone()].starts_with('{');
        let mut raw = repeated(&text[value], kind, is_shown(format, &path)).map(str::to_owned);
        let mut kind = kind;
        let mut found = raw.clone();
        // An array or a table in place of something else has entries of which nothing is known.
        while key(format, &path).is_none() && path.len() > 1 && !format.keys.is_empty() {
            kind = if path.pop().as_deref() == Some(ITEM) { "an array" } else { "a table" };
            (raw, found) = (None, None);
        }
        let entry = [path.as_slice(), &[ITEM.to_owned()]].concat();
        let found = found.unwrap_or_else(|| kind.to_owned());
        Self { key: key(format, &path), entry: key(format, &entry), path, found, kind, raw, has_header }
    }

    /// What to write in place of it: made of the value itself, or the example.
    fn meant(&self, repaired: fn(&Written) -> Option<String>) -> Option<Hint> {
        let key = self.key?;
        // `org.id = …` is a table with the name `org`.
        if key.path.ends_with(".*") && self.has_header {
            let (name, example) = (last(&self.path), key.example);
            return Some(Hint::form(format!("write a name with dots in quotes: \"{name}.NAME\" = {example}")));
        }
        if key.takes == "an array of tables" && self.has_header {
            return Some(Hint::form(format!("write its header in two brackets: [[{}]]", shown_path(&self.path))));
        }
        let written = Written { key, entry: self.entry, text: self.raw.clone(), kind: self.kind };
        let repaired = repaired(&written).map(|repaired| match repaired.split_once(": ") {
            Some((how, value)) if self.path.last().is_some_and(|last| last != ITEM) => {
                Hint::form(format!("write it {how}: {} = {value}", written_key(last(&self.path))))
            }
            _ => Hint::form(format!("write it {repaired}")),
        });
        Some(repaired.unwrap_or_else(|| like_this(key, &self.path)))
    }

    fn mismatch(&self, message: &str) -> Wrong {
        let takes = self.key.map_or_else(|| general(message), |key| key.takes);
        let hint = self.meant(Written::repaired);
        (format!("{}expected {takes}, found {}", prefix(&self.path), self.found), hint)
    }

    /// A text that is none of those which are known: the first of `names`.
    fn unknown(&self, names: &[&str], format: &Format) -> Wrong {
        let (wrong, known) = names.split_first().map_or(("", names), |(wrong, known)| (*wrong, known));
        let described = described(format, &self.path);
        let meant = format.other_values.iter().find_map(|(path, meant, words)| {
            (fits(path, &described) && words.contains(&wrong.to_lowercase().as_str())).then_some(*meant)
        });
        let hint = meant.or_else(|| did_you_mean(wrong, known.iter().copied()));
        let hint = match (hint, self.key) {
            (Some(meant), Some(_)) => Some(format!("did you mean {} = \"{meant}\"?", last(&self.path)).into()),
            (Some(meant), None) => Some(format!("did you mean `{meant}`?").into()),
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
    // What is said of the table itself goes before what is said of one that is like it.
    let described = described(format, parent);
    let is_advised = |table: &str| fits(table, parent) || fits(table, &described);
    let advised = format.advice.iter().find(|(table, names, _)| is_advised(table) && names.contains(&lower.as_str()));
    let hint = match advised {
        Some((_, _, hint)) => (*hint).into(),
        None => match meant_here(&lower, siblings, parent, format) {
            Some(near) => format!("did you mean `{near}`?").into(),
            None => match meant_elsewhere(&lower, parent, format) {
                Some(key) => elsewhere(key, parent),
                None => format!("known here: {}", siblings.join(", ")).into(),
            },
        },
    };
    (format!("unknown key `{wrong}`{place}"), Some(hint).filter(|_| !siblings.is_empty()))
}

/// The key of the same table that is meant.
fn meant_here<'n>(wrong: &str, siblings: &[&'n str], parent: &[String], format: &Format) -> Option<&'n str> {
    let other = |name: &&&str| {
        let mut path = described(format, parent).into_owned();
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

fn elsewhere(key: &Key, parent: &[String]) -> Hint {
    let parts = segments(key.path);
    let (name, table) = parts.split_last().unwrap_or((&"", &[]));
    let filled = table.iter().enumerate().map(|(at, part)| match (*part, parent.get(at)) {
        ("*", Some(own)) => own.as_str(),
        ("*", None) => "NAME",
        (part, _) => part,
    });
    let table = filled.collect::<Vec<_>>().join(".");
    let name = if *name == "*" { "NAME" } else { *name };
    // The example would be all of it.
    match key.takes {
        "a table" if table.is_empty() => return Hint::form(format!("write it as a table of its own: [{name}]")),
        "an array of tables" if table.is_empty() => {
            return Hint::form(format!("write each as a table of its own: [[{name}]]"));
        }
        _ => {}
    }
    let table = if table.is_empty() { "at the beginning of the file".to_owned() } else { format!("under [{table}]") };
    Hint::form(format!("write it {table}: {name} = {}", key.example))
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
        "key with no value, expected `=`" => "a key without `=` and a value",
        other => other,
    }
}

/// A value as messages repeat it.
fn repeated<'t>(text: &'t str, kind: &str, is_shown: bool) -> Option<&'t str> {
    let is_value = !(kind == "a table" && !text.starts_with('{') || kind == "an array" && text.starts_with("[["));
    let is_short = !text.is_empty() && text.chars().count() <= MAX_SHOWN && !text.contains('\n');
    (is_shown && is_value && is_short || kind == "true or false").then_some(text)
}

fn is_shown(format: &Format, path: &[String]) -> bool {
    let path = described(format, path);
    !format.unshown.iter().any(|hidden| (0..=path.len()).any(|end| fits(hidden, &path[..end])))
}

fn like_this(key: &Key, path: &[String]) -> Hint {
    let (name, example) = (written_key(last(path)), key.example);
    if path.last().is_some_and(|last| last == ITEM) {
        return Hint::form(format!("write it like this: {name} = [{example}]"));
    }
    Hint::form(format!("write it like this: {name} = {example}"))
}

/// A key as TOML has it: in quotes, unless it is bare.
fn written_key(name: &str) -> Cow<'_, str> {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if !name.is_empty() && name.chars().all(is_bare) {
        return name.into();
    }
    toml::Value::from(name).to_string().into()
}

/// The name of a key, or of the array of an entry.
fn last(path: &[String]) -> &str {
    path.iter().rev().find(|part| *part != ITEM).map_or("", String::as_str)
}

fn prefix(path: &[String]) -> String {
    if path.is_empty() { String::new() } else { format!("{}: ", shown_path(path)) }
}

pub(super) fn shown_path(path: &[String]) -> String {
    let parts: Vec<&str> = path.iter().map(String::as_str).filter(|part| *part != ITEM).collect();
    parts.join(".")
}

fn key(format: &Format, path: &[String]) -> Option<&'static Key> {
    let path = described(format, path);
    format.keys.iter().find(|key| fits(key.path, &path))
}

/// The path that the descriptions have, of a table that is like another one.
fn described<'p>(format: &Format, path: &'p [String]) -> Cow<'p, [String]> {
    let other = format.alike.iter().find_map(|(table, like)| {
        let length = segments(table).len();
        let (own, below) = path.split_at_checked(length)?;
        fits(table, own).then(|| {
            let names = |(at, part): (usize, &str)| if part == "*" { own[at].clone() } else { part.to_owned() };
            segments(like).into_iter().enumerate().map(names).chain(below.iter().cloned()).collect()
        })
    });
    other.map_or(Cow::Borrowed(path), Cow::Owned)
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
    if wrong.len() > MAX_COMPARED {
        return None;
    }
    let near = names.map(|name| (strsim::damerau_levenshtein(wrong, name), name)).min()?;
    let letters = wrong.chars().count().max(near.1.chars().count());
    (near.0 * 3 <= letters).then_some(near.1)
}
