//! The differences between the surfaces of two versions of a plugin, for people to read.
//!
//! It compares texts of `Surface::canonical`, whose members are lists of entries with a name.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::described::{NAMES, described};
use super::diff::{Hunk, hunks};
use crate::json;
use crate::text::quote;

/// What the change of a skill's file begins with.
const FILE: &str = "file ";

/// One thing that changed.
pub(super) struct Change {
    /// `tool add`, or a member of it: `tool add: inputSchema.properties.text.description`.
    what: String,
    /// `None` if it was added.
    old: Option<Value>,
    new: Option<Value>,
    extent: Extent,
}

/// How much a change is about.
enum Extent {
    /// A member of a tool, prompt and so on, or a flag.
    Member,
    /// A whole one that is new, as text.
    Addition(String),
    /// A whole one that is gone: nobody calls what it was.
    Removal,
}

/// How many tools, prompts and so on are new, gone or changed, in one line; empty if there are no changes.
pub(super) fn summary(old: Option<&str>, new: &str) -> String {
    let read = |text: &str| match json::tree(text, json::MAX_DEPTH) {
        Ok(Value::Object(lists)) => lists,
        _ => Map::new(),
    };
    let (old, new) = (old.map(read).unwrap_or_default(), read(new));
    let mut counts = Vec::new();
    for list in keys(&old, &new) {
        let (Some(before), Some(after)) = (entries(&old, list), entries(&new, list)) else { continue };
        let (before, after): (BTreeMap<_, _>, BTreeMap<_, _>) =
            (before.into_iter().collect(), after.into_iter().collect());
        let added = after.keys().filter(|name| !before.contains_key(*name)).count();
        let gone = before.keys().filter(|name| !after.contains_key(*name)).count();
        let changed =
            after.iter().filter(|(name, entry)| before.get(*name).is_some_and(|old| differ(old, entry))).count();
        let counted = [("new", added), ("removed", gone), ("changed", changed)];
        counts.extend(counted.into_iter().filter(|(_, count)| *count > 0).map(|(what, count)| {
            let kind = if count == 1 { list.strip_suffix('s').unwrap_or(list) } else { list };
            format!("{count} {kind} {what}")
        }));
    }
    counts.join(", ")
}

/// All changes from one surface to another, by list: what is new, what is changed and what was removed, each sorted by
/// name.
pub(super) fn changes(old: Option<&str>, new: &str) -> Vec<Change> {
    let read = |text: &str| match json::tree(text, json::MAX_DEPTH) {
        Ok(Value::Object(lists)) => Some(lists),
        _ => None,
    };
    // What cannot be parsed is shown unchanged, never omitted.
    let Some(new) = read(new) else {
        let whole = |text: &str| Some(Value::from(text));
        return vec![Change {
            what: "everything".to_owned(),
            old: old.and_then(whole),
            new: whole(new),
            extent: Extent::Member,
        }];
    };
    let old = old.and_then(read).unwrap_or_default();
    let mut found = Vec::new();
    for list in keys(&old, &new) {
        let kind = list.strip_suffix('s').filter(|_| list != "completions").unwrap_or(list);
        let (Some(before), Some(after)) = (entries(&old, list), entries(&new, list)) else {
            // A value that is not a list is a flag.
            let flag =
                |surface: &Map<String, Value>| surface.get(list).filter(|value| **value != Value::Bool(false)).cloned();
            let (old, new) = (flag(&old), flag(&new));
            if old != new {
                found.push(Change { what: kind.to_owned(), old, new, extent: Extent::Member });
            }
            continue;
        };
        let (mut changed, mut removed) = (Vec::new(), Vec::new());
        let names: BTreeSet<&str> = before.iter().chain(&after).map(|(name, _)| *name).collect();
        for name in names {
            let entry = |entries: &[(&str, &Value)]| {
                entries.iter().find(|(other, _)| *other == name).map(|(_, entry)| (*entry).clone())
            };
            let what = format!("{kind} {name}");
            match (entry(&before), entry(&after)) {
                (Some(Value::Object(old)), Some(Value::Object(new))) => {
                    compare(&format!("{what}: "), old, new, &mut changed);
                }
                (None, Some(Value::Object(new))) => {
                    let extent = Extent::Addition(described(kind, name, &new));
                    found.push(Change { what, old: None, new: Some(new.into()), extent });
                }
                (old, None) => removed.push(Change { what, old, new: None, extent: Extent::Removal }),
                (old, new) if old == new => {}
                (old, new) => changed.push(Change { what, old, new, extent: Extent::Member }),
            }
        }
        found.append(&mut changed);
        found.append(&mut removed);
    }
    found
}

/// Whether two values differ, also in the order of members alone: that is the order in which clients are shown them.
fn differ(old: &Value, new: &Value) -> bool {
    let text = Value::to_string;
    text(old) != text(new)
}

fn keys<'a>(old: &'a Map<String, Value>, new: &'a Map<String, Value>) -> BTreeSet<&'a str> {
    old.keys().chain(new.keys()).map(String::as_str).collect()
}

/// The entries of a list with their names; a missing list is empty. `None` if it is not a list.
fn entries<'a>(surface: &'a Map<String, Value>, list: &str) -> Option<Vec<(&'a str, &'a Value)>> {
    let name = |entry: &'a Value| NAMES.iter().find_map(|key| entry[*key].as_str());
    match surface.get(list) {
        None => Some(Vec::new()),
        Some(Value::Array(entries)) => {
            Some(entries.iter().map(|entry| (name(entry).unwrap_or_default(), entry)).collect())
        }
        Some(_) => None,
    }
}

/// Recurses into objects present on both sides.
fn compare(path: &str, mut old: Map<String, Value>, mut new: Map<String, Value>, found: &mut Vec<Change>) {
    let names: BTreeSet<String> = old.keys().chain(new.keys()).cloned().collect();
    for name in names {
        let what = format!("{path}{name}");
        match (old.remove(&name), new.remove(&name)) {
            (Some(old), Some(new)) if !differ(&old, &new) => {}
            (Some(Value::Object(old)), Some(Value::Object(new))) if old != new => {
                compare(&format!("{what}."), old, new, found)
            }
            (old, new) => found.push(Change { what, old, new, extent: Extent::Member }),
        }
    }
}

impl Change {
    /// What is new as [`described`], and one line for what was removed. Otherwise lines that begin with `-` for old and `+`
    /// for new values, untruncated and with invisible characters escaped. Two sides that would look alike are written in
    /// ASCII.
    pub(super) fn to_text(&self) -> String {
        let what = quote(&self.what, usize::MAX);
        match &self.extent {
            Extent::Addition(text) => return text.clone(),
            Extent::Removal => return format!("    {what}: removed\n"),
            Extent::Member => {}
        }
        if let (Some(Value::String(old)), Some(Value::String(new))) = (&self.old, &self.new)
            && self.what.starts_with(FILE)
        {
            return format!("    {what}\n{}", lines_of_file(old, new));
        }
        let (old, new) = (self.old.as_ref(), self.new.as_ref());
        let alike = old.zip(new).is_some_and(|(old, new)| look_alike(&readable(old), &readable(new)));
        let format_value = if alike { ascii } else { readable };
        let sides = [("-", old), ("+", new)];
        let lines = sides.iter().filter_map(|(sign, value)| Some((sign, (*value)?))).flat_map(|(sign, value)| {
            let text = format_value(value);
            text.split('\n').map(|line| format!("      {sign} {}\n", quote(line, usize::MAX))).collect::<Vec<_>>()
        });
        format!("    {what}\n{}", lines.collect::<String>())
    }

    pub(super) fn to_json(&self) -> Value {
        json!({ "what": self.what, "old": self.old, "new": self.new })
    }
}

/// The lines of a skill's file that differ: it may have thousands.
fn lines_of_file(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.split('\n').collect(), new.split('\n').collect());
    let mut shown = String::new();
    for Hunk { removed, added } in hunks(&old, &new) {
        shown += &format!("      line {}\n", added.start + 1);
        let alike = look_alike(&old[removed.clone()].join("\n"), &new[added.clone()].join("\n"));
        for (sign, lines) in [("-", &old[removed]), ("+", &new[added])] {
            for line in lines {
                let line = if alike { ascii(&Value::from(*line)) } else { quote(line, usize::MAX) };
                shown += &format!("      {sign} {line}\n");
            }
        }
    }
    shown
}

/// Readable form: strings unquoted, unless they could be mistaken for other JSON, which is on one line.
fn readable(value: &Value) -> String {
    match value {
        Value::String(text) if json::check(text, json::MAX_DEPTH).is_err() && !text.contains('\\') => text.clone(),
        other => other.to_string(),
    }
}

/// JSON with only visible ASCII and spaces.
fn ascii(value: &Value) -> String {
    let mut units = [0; 2];
    let text = value.to_string();
    let letters = text.chars().map(|c| match c {
        ' '..='~' => c.to_string(),
        other => other.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect(),
    });
    letters.collect()
}

/// Whether a person may confuse two texts: their visible ASCII is equal, or they differ in a few
/// characters that are not all ASCII, such as a combining accent or a letter of another alphabet.
fn look_alike(old: &str, new: &str) -> bool {
    const FEW: usize = 16;
    let visible = |text: &str| text.chars().filter(char::is_ascii_graphic).collect::<String>();
    let (old_chars, new_chars): (Vec<char>, Vec<char>) = (old.chars().collect(), new.chars().collect());
    let pairs = old_chars.iter().zip(&new_chars);
    let start = pairs.take_while(|(old, new)| old == new).count();
    let (old_rest, new_rest) = (&old_chars[start..], &new_chars[start..]);
    let end = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(old, new)| old == new).count();
    let few = |rest: &[char]| (1..=FEW).contains(&(rest.len() - end));
    let foreign = |rest: &[char]| rest[..rest.len() - end].iter().any(|c| !c.is_ascii());
    visible(old) == visible(new) || (few(old_rest) && few(new_rest) && (foreign(old_rest) || foreign(new_rest)))
}

#[cfg(test)]
mod tests;
