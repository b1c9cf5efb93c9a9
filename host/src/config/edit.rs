//! Edits the grants of a plugin in the text of a configuration file. Comments, order and everything else stay.

mod command;
mod line_ends;
mod word;

use toml_edit::{Array, DocumentMut, Entry, InlineTable, Item, Table, TableLike, Value};
use wharf_report::{HintKind, shell_text};

use super::{Config, ConfigError, MAX_SIZE};
use crate::plugin::{HttpGrant, PluginId};
pub use command::set_tool_file;
pub use line_ends::with_line_ends;
pub use word::GrantWord;
use word::{Addition, folder, inline, words_of};

/// Adds grants of a plugin to the text of a configuration.
///
/// # Errors
/// If a grant is invalid, or the result is no valid configuration.
pub fn add_grants(text: &str, id: &PluginId, words: &[GrantWord]) -> Result<String, ConfigError> {
    let edited =
        edit(text, id, |grants| words.iter().try_for_each(|word| add(grants, word.section(), word.addition()?)));
    // How it is written in a file is not how it is written here.
    edited.map_err(|error| match words {
        [word] if error.hint.is_none() || error.hint_kind == HintKind::Form => {
            // What is suggested is valid.
            let corrected = word.corrected().filter(|word| add_grants(text, id, std::slice::from_ref(word)).is_ok());
            let corrected = corrected.map(|word| format!("write {}", shell_text(&word.word)));
            let like = || word.example().map(|example| format!("write it like {example}"));
            match corrected.or_else(like) {
                Some(hint) => ConfigError { hint: Some(hint), hint_kind: HintKind::Advice, ..error },
                None => error,
            }
        }
        _ => error,
    })
}

/// The grants in a hint.
const MAX_NAMED: usize = 16;

/// Names the grants that a plugin has, for one that it has not.
fn with_own_grants(error: ConfigError, text: &str, id: &PluginId) -> ConfigError {
    let own = || {
        let mut document: DocumentMut = text.parse().ok()?;
        Some(words_of(grants_of(&mut document, id)?))
    };
    let own = own().unwrap_or_default();
    let named: Vec<String> = own.iter().take(MAX_NAMED).map(|word| shell_text(word)).collect();
    let hint = match own.len() - named.len() {
        _ if named.is_empty() => "it has no grants".to_owned(),
        0 => format!("its grants: {}", named.join(" ")),
        more => format!("its grants: {} and {more} more", named.join(" ")),
    };
    ConfigError { hint: Some(hint), ..error }
}

/// Removes grants of a plugin from the text of a configuration.
///
/// # Errors
/// If it has no such grant, or the result is no valid configuration.
pub fn remove_grants(text: &str, id: &PluginId, words: &[GrantWord]) -> Result<String, ConfigError> {
    let mut is_there = true;
    let edited = edit(text, id, |grants| {
        words.iter().try_for_each(|word| {
            is_there = remove(grants, word);
            if is_there { Ok(()) } else { Err(format!("plugin '{id}' has no grant {:?}", word.word)) }
        })
    });
    let edited = edited.map_err(|error| if is_there { error } else { with_own_grants(error, text, id) })?;
    let mut document: DocumentMut =
        edited.parse().map_err(|error: toml_edit::TomlError| ConfigError::new(error.to_string(), None))?;
    drop_empty(document.as_table_mut(), &["plugins", id.as_ref(), "grants"]);
    checked(with_line_ends(text, &document.to_string()))
}

/// Removes the last of these nested tables if it is empty, then those that are empty without it. One with a comment
/// stays.
fn drop_empty(table: &mut dyn TableLike, keys: &[&str]) {
    let Some((key, inner)) = keys.split_first() else { return };
    let Some(item) = table.get_mut(key) else { return };
    if let Some(own) = item.as_table_like_mut() {
        drop_empty(own, inner);
    }
    let has_comment = |text: Option<&toml_edit::RawString>| {
        text.and_then(|text| text.as_str()).is_some_and(|text| text.contains('#'))
    };
    let is_commented =
        item.as_table().is_some_and(|own| has_comment(own.decor().prefix()) || has_comment(own.decor().suffix()));
    let is_empty = item.as_table_like().is_some_and(|own| own.is_empty());
    if is_empty && !is_commented {
        table.remove(key);
    }
}

/// Removes the elements that are not kept. A comment behind another element, which stands before the next one or at
/// the end, stays.
fn retain(array: &mut Array, mut keep: impl FnMut(&Value) -> bool) {
    let text = |raw: Option<&toml_edit::RawString>| raw.and_then(|raw| raw.as_str()).unwrap_or_default().to_owned();
    let mut at = 0;
    while let Some(value) = array.get(at) {
        if keep(value) {
            at += 1;
            continue;
        }
        let (before, behind) = (text(value.decor().prefix()), text(value.decor().suffix()));
        array.remove(at);
        let after = match array.get(at) {
            Some(next) => text(next.decor().prefix()),
            None => behind + &text(Some(array.trailing())),
        };
        let joined = match (before.split_once('\n'), after.split_once('\n')) {
            (Some((of_previous, _)), Some((_, rest))) => format!("{of_previous}\n{rest}"),
            (None, None) if at == 0 => before,
            _ => after,
        };
        match array.get_mut(at) {
            Some(next) => next.decor_mut().set_prefix(joined),
            None => array.set_trailing(joined),
        }
    }
}

fn edit(
    text: &str,
    id: &PluginId,
    change: impl FnOnce(&mut dyn TableLike) -> Result<(), String>,
) -> Result<String, ConfigError> {
    let invalid = |why: String| ConfigError::new(why, None);
    let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| invalid(error.to_string()))?;
    let grants =
        grants_of(&mut document, id).ok_or_else(|| invalid(format!("[plugins.{id}.grants] is not a table")))?;
    change(grants).map_err(invalid)?;
    checked(with_line_ends(text, &document.to_string()))
}

/// Fails if the text could not be read again.
fn checked(edited: String) -> Result<String, ConfigError> {
    if edited.len() as u64 > MAX_SIZE {
        return Err(ConfigError::new(format!("the configuration would have more than {MAX_SIZE} bytes"), None));
    }
    // The lines are those of a file that does not exist on disk.
    Config::parse(&edited).map_err(|error| ConfigError { place: String::new(), ..error })?;
    Ok(edited)
}

/// The table of a plugin's grants, created where it is missing.
fn grants_of<'d>(document: &'d mut DocumentMut, id: &PluginId) -> Option<&'d mut dyn TableLike> {
    table_of(document, id, "grants")
}

/// A table of a plugin, created where it is missing.
fn table_of<'d>(document: &'d mut DocumentMut, id: &PluginId, name: &str) -> Option<&'d mut dyn TableLike> {
    let mut table: &mut dyn TableLike = document.as_table_mut();
    let mut is_inline = false;
    for key in ["plugins", id.as_ref(), name] {
        unpad(table, key);
        let item = table.entry(key).or_insert_with(|| {
            if is_inline {
                return Item::Value(InlineTable::new().into());
            }
            let mut table = Table::new();
            // Only the last one gets a header.
            table.set_implicit(key != name);
            Item::Table(table)
        });
        is_inline = item.is_inline_table();
        table = item.as_table_like_mut()?;
    }
    Some(table)
}

fn add(grants: &mut dyn TableLike, section: &str, addition: Addition) -> Result<(), String> {
    match addition {
        Addition::Whole(value) => {
            // One that is granted with options stays so.
            let keeps = |old: &Item| value.as_bool() == Some(true) && old.as_bool() != Some(false);
            if !grants.get(section).is_some_and(keeps) {
                set(grants, section, value);
            }
            Ok(())
        }
        Addition::Member(name, value) => {
            let members = grants.entry(section).or_insert(Item::None);
            // `true` is the short form of a table.
            if members.is_none() || members.is_bool() {
                *members = Item::Value(InlineTable::new().into());
            }
            set(members.as_table_like_mut().ok_or("it is not a table")?, &name, value);
            Ok(())
        }
        Addition::Element(value) => {
            let list = grants.entry(section).or_insert_with(|| Item::Value(Array::new().into()));
            add_element(list, section, value)
        }
    }
}

/// Removes the blank behind the last value of an inline table, before another is added: it would be before the comma.
fn unpad(table: &mut dyn TableLike, key: &str) {
    if table.contains_key(key) {
        return;
    }
    let last = table.iter_mut().last().and_then(|(_, item)| item.as_value_mut());
    if let Some(last) = last.filter(|last| last.decor().suffix().and_then(|text| text.as_str()) == Some(" ")) {
        last.decor_mut().set_suffix("");
    }
}

/// Sets a value; the comment behind an old one stays.
fn set(table: &mut dyn TableLike, key: &str, mut value: Value) {
    unpad(table, key);
    match table.entry(key) {
        Entry::Occupied(mut old) => {
            if let Some(before) = old.get().as_value() {
                *value.decor_mut() = before.decor().clone();
            }
            old.insert(Item::Value(value));
        }
        Entry::Vacant(new) => {
            new.insert(Item::Value(value));
        }
    }
}

fn add_element(list: &mut Item, section: &str, value: Value) -> Result<(), String> {
    let wanted = identity(section, &value);
    match list {
        Item::Value(Value::Array(array)) => {
            let same = array.iter().position(|old| wanted.is_some() && identity(section, old) == wanted);
            match same.and_then(|at| array.get_mut(at)) {
                Some(old) if section == "http" => add_methods(old, value),
                Some(old) => {
                    let value = with_own_folders(old, value);
                    set_value(old, value);
                }
                None => push(array, value),
            }
            Ok(())
        }
        Item::ArrayOfTables(tables) => {
            let table = url_table(value);
            let same = |old: &Table| wanted.is_some() && table_identity(section, old) == wanted;
            let at = tables.iter().position(same);
            match at.and_then(|at| tables.get_mut(at)) {
                Some(old) if section == "http" => merge(old, table),
                Some(old) => table.iter().for_each(|(key, value)| set(old, key, value.clone())),
                None => tables.push(table.into_table()),
            }
            Ok(())
        }
        _ => Err(format!("`{section}` is not a list")),
    }
}

/// A folder that replaces one in which each user has their own: that stays so, unless it says otherwise.
fn with_own_folders(old: &Value, mut value: Value) -> Value {
    if let (Some(old), Some(new)) = (old.as_inline_table(), value.as_inline_table_mut()) {
        let writes = new.get("mode").and_then(Value::as_str) == Some("write");
        for key in ["per", "total"] {
            if let Some(kept) = old.get(key).filter(|_| !new.contains_key(key) && (key == "per" || writes)) {
                let mut kept = kept.clone();
                kept.decor_mut().clear();
                new.insert(key, kept);
            }
        }
    }
    value
}

/// Replaces a value, but not what is around it.
fn set_value(old: &mut Value, mut value: Value) {
    *value.decor_mut() = old.decor().clone();
    *old = value;
}

/// Adds to an `http` entry what another one of the same URL allows.
fn add_methods(old: &mut Value, value: Value) {
    if old.is_str() && value.is_str() {
        return;
    }
    let mut merged = url_table(old.clone());
    merge(&mut merged, url_table(value));
    set_value(old, merged.into());
}

fn url_table(entry: Value) -> InlineTable {
    match entry {
        Value::InlineTable(table) => table,
        mut url => {
            url.decor_mut().clear();
            [("url", url)].into_iter().collect()
        }
    }
}

/// What was allowed stays allowed: `grant` takes nothing away.
fn merge(old: &mut dyn TableLike, new: InlineTable) {
    let mut methods = methods_of(old);
    let more: Vec<String> = methods_of(&new).into_iter().filter(|method| !methods.contains(method)).collect();
    if !more.is_empty() {
        methods.extend(more);
        set(old, "methods", methods.into_iter().collect());
    }
    for (key, value) in new.into_iter().filter(|(key, _)| key != "methods" && key != "url") {
        set(old, key.as_str(), value);
    }
}

/// The methods of an `http` entry.
fn methods_of(entry: &dyn TableLike) -> Vec<String> {
    match entry.get("methods").and_then(Item::as_array) {
        Some(methods) => methods.iter().filter_map(|method| method.as_str().map(str::to_owned)).collect(),
        None => ["GET", "HEAD"].map(str::to_owned).into(),
    }
}

/// Appends an element: to a list of several lines as a line of its own.
fn push(array: &mut Array, mut value: Value) {
    let trailing = array.trailing().as_str().unwrap_or_default().to_owned();
    let Some((comment, _)) = trailing.rsplit_once('\n').filter(|_| !array.is_empty()) else {
        return array.push(value);
    };
    let first = array.get(0).and_then(|first| first.decor().prefix()?.as_str());
    let indent = first.and_then(|prefix| prefix.rsplit('\n').next()).unwrap_or("  ").to_owned();
    // A comment behind the last element stays there.
    value.decor_mut().set_prefix(format!("{comment}\n{indent}"));
    array.push_formatted(value);
    array.set_trailing("\n");
    array.set_trailing_comma(true);
}

/// Whether something was removed.
fn remove(grants: &mut dyn TableLike, word: &GrantWord) -> bool {
    let section = word.section();
    let Some(value) = word.value.as_deref().filter(|_| word.key != "keyvalue") else {
        return grants.remove(section).is_some();
    };
    let Some(item) = grants.get_mut(section) else { return false };
    let (mut removed, mut is_empty) = (false, false);
    let mut keep = |matches: bool| {
        removed |= matches;
        !matches
    };
    if matches!(section, "env" | "config") {
        let Some(members) = item.as_table_like_mut() else { return false };
        let name = value.split('=').next().unwrap_or_default();
        keep(members.remove(name).is_some());
        is_empty = members.is_empty();
    } else {
        let host = matches!(word.key, "read" | "write").then(|| folder(value)).flatten().map(|(host, _)| host);
        let wanted = match inline(value) {
            Ok(table) => identity(section, &table.into()),
            Err(_) => Some(normalized(section, value)),
        };
        let is_host = |found: Option<&str>| found.is_some_and(|found| found == value || Some(found) == host.as_deref());
        if let Some(array) = item.as_array_mut() {
            retain(array, |old| {
                let named = old.as_inline_table().and_then(|table| table.get("host")?.as_str());
                keep(if section == "fs" && is_host(named) { true } else { identity(section, old) == wanted })
            });
            is_empty = array.is_empty();
        } else if let Some(tables) = item.as_array_of_tables_mut() {
            tables.retain(|old| {
                let named = old.get("host").and_then(Item::as_str);
                keep(if section == "fs" && is_host(named) { true } else { table_identity(section, old) == wanted })
            });
            is_empty = tables.is_empty();
        }
    }
    if is_empty {
        grants.remove(section);
    }
    removed
}

/// What an element of a list is about: its URL, its path in the plugin, or its name.
fn identity(section: &str, value: &Value) -> Option<String> {
    let text = match value {
        Value::InlineTable(table) => table.get(identity_key(section))?.as_str()?,
        value => value.as_str()?,
    };
    Some(normalized(section, text))
}

fn table_identity(section: &str, table: &Table) -> Option<String> {
    Some(normalized(section, table.get(identity_key(section))?.as_str()?))
}

/// URLs that are the same grant have one form: warnings show that one.
fn normalized(section: &str, text: &str) -> String {
    let grant = (section == "http").then(|| HttpGrant::new(text).ok()).flatten();
    grant.map_or_else(|| text.trim_end_matches('/').to_owned(), |grant| grant.url())
}

fn identity_key(section: &str) -> &'static str {
    if section == "fs" { "guest" } else { "url" }
}

#[cfg(test)]
mod tests;
