//! What one version of a plugin says of itself that another did not, for people to read.
//!
//! It compares texts of `Surface::canonical`, whose members are lists of entries with a name.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::plugin::text::quote;

/// One thing that changed.
pub(super) struct Change {
    /// `tool add`, or a member of it: `tool add: inputSchema.properties.text.description`.
    what: String,
    /// `None`: it was not there.
    old: Option<Value>,
    new: Option<Value>,
}

/// All changes from one surface to another, in the order of what is listed.
pub(super) fn changes(old: Option<&str>, new: &str) -> Vec<Change> {
    let read = |text: &str| serde_json::from_str::<Map<String, Value>>(text).unwrap_or_default();
    let (old, new) = (old.map(read).unwrap_or_default(), read(new));
    let mut found = Vec::new();
    for list in keys(&old, &new) {
        let kind = list.strip_suffix('s').filter(|_| list != "completions").unwrap_or(list);
        let (Some(before), Some(after)) = (entries(&old, list), entries(&new, list)) else {
            // What is no list says whether there is something.
            let said =
                |surface: &Map<String, Value>| surface.get(list).filter(|value| **value != Value::Bool(false)).cloned();
            let (old, new) = (said(&old), said(&new));
            if old != new {
                found.push(Change { what: kind.to_owned(), old, new });
            }
            continue;
        };
        let names: BTreeSet<&str> = before.iter().chain(&after).map(|(name, _)| *name).collect();
        for name in names {
            let of = |entries: &[(&str, &Value)]| {
                let entry = entries.iter().find(|(other, _)| *other == name);
                let mut members = entry.and_then(|(_, entry)| entry.as_object().cloned()).unwrap_or_default();
                // It is said already what it is called.
                members.retain(|key, member| key != "name" || member != name);
                members
            };
            compare(&format!("{kind} {name}: "), of(&before), of(&after), &mut found);
        }
    }
    found
}

fn keys<'a>(old: &'a Map<String, Value>, new: &'a Map<String, Value>) -> BTreeSet<&'a str> {
    old.keys().chain(new.keys()).map(String::as_str).collect()
}

/// The entries of a list with their names; a list that is not there is empty.
fn entries<'a>(surface: &'a Map<String, Value>, list: &str) -> Option<Vec<(&'a str, &'a Value)>> {
    let name = |entry: &'a Value| ["name", "uri", "uriTemplate"].iter().rev().find_map(|key| entry[*key].as_str());
    match surface.get(list) {
        None => Some(Vec::new()),
        Some(Value::Array(entries)) => {
            Some(entries.iter().map(|entry| (name(entry).unwrap_or_default(), entry)).collect())
        }
        Some(_) => None,
    }
}

/// Goes down into objects that are on both sides.
fn compare(place: &str, mut old: Map<String, Value>, mut new: Map<String, Value>, found: &mut Vec<Change>) {
    let names: BTreeSet<String> = old.keys().chain(new.keys()).cloned().collect();
    for name in names {
        let what = format!("{place}{name}");
        match (old.remove(&name), new.remove(&name)) {
            (old, new) if old == new => {}
            (Some(Value::Object(old)), Some(Value::Object(new))) => compare(&format!("{what}."), old, new, found),
            (old, new) => found.push(Change { what, old, new }),
        }
    }
}

impl Change {
    /// Lines that begin with `-` for what was said and `+` for what is said, nothing cut off
    /// and what cannot be seen spelt out.
    pub(super) fn to_text(&self) -> String {
        let sides = [("-", &self.old), ("+", &self.new)];
        let lines = sides.iter().filter_map(|(sign, value)| Some((sign, value.as_ref()?))).flat_map(|(sign, value)| {
            let text = match value {
                Value::String(text) => text.clone(),
                other => serde_json::to_string_pretty(other).unwrap_or_default(),
            };
            let lines: Vec<String> =
                text.split('\n').map(|line| format!("      {sign} {}\n", quote(line, usize::MAX))).collect();
            lines
        });
        format!("    {}\n{}", quote(&self.what, usize::MAX), lines.collect::<String>())
    }

    pub(super) fn to_json(&self) -> Value {
        json!({ "what": self.what, "old": self.old, "new": self.new })
    }
}

#[cfg(test)]
mod tests;
