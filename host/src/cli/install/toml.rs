//! A client's configuration that is TOML. It is edited in place: comments and the order stay.

use toml_edit::{Array, DocumentMut, Item, Table, TableLike, TomlError};

use super::client::Form;
use super::start::Start;

/// With an entry for the server; what the person has added to it stays.
pub(super) fn with(old: &str, form: Form, start: &Start) -> Result<String, String> {
    let (key, name) = (form.key(), &start.name);
    let mut document = read(old)?;
    let implicit = || {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    };
    let servers = document.entry(key).or_insert_with(implicit);
    let servers = servers.as_table_like_mut().ok_or_else(|| format!("`{key}` is not a table"))?;
    let own = servers.entry(name).or_insert_with(|| Item::Table(Table::new()));
    let own = own.as_table_like_mut().ok_or_else(|| format!("`{key}.{name}` is not a table"))?;
    if starts(own, start) {
        return Ok(old.to_owned());
    }
    own.insert("command", toml_edit::value(&start.program));
    own.insert("args", toml_edit::value(start.arguments.iter().collect::<Array>()));
    Ok(document.to_string())
}

fn starts(own: &dyn TableLike, start: &Start) -> bool {
    let arguments = own.get("args").and_then(Item::as_array);
    let arguments: Option<Vec<&str>> = arguments.map(|all| all.iter().filter_map(|one| one.as_str()).collect());
    own.get("command").and_then(Item::as_str) == Some(&start.program)
        && arguments.is_some_and(|found| found.iter().eq(&start.arguments))
}

/// Without one server.
pub(super) fn without(old: &str, form: Form, name: &str) -> Result<String, String> {
    let mut document = read(old)?;
    let servers = document.get_mut(form.key()).and_then(|servers| servers.as_table_like_mut());
    Ok(match servers.and_then(|servers| servers.remove(name)) {
        Some(_) => document.to_string(),
        None => old.to_owned(),
    })
}

/// The entry of a server as the file has it, with its tables.
pub(super) fn entry_in(text: &str, form: Form, name: &str) -> Option<String> {
    let entry = read(text).ok()?.get(form.key())?.get(name)?.clone();
    let mut document = DocumentMut::new();
    document.insert(name, entry);
    Some(document.to_string().trim_start().to_owned())
}

/// What a person writes into a file that cannot be changed.
pub(super) fn by_hand(old: &str, form: Form, start: &Start) -> Option<String> {
    let (document, key, name) = (read(old).ok()?, form.key(), &start.name);
    let servers = document.get(key)?;
    let arguments: Array = start.arguments.iter().collect();
    let program = toml_edit::Value::from(&start.program);
    let entry = format!("{name} = {{ command = {program}, args = {arguments} }}");
    Some(match servers.as_table_like() {
        None => format!("replace its `{key}` by this: {key}.{entry}"),
        Some(_) => format!("replace {name:?} in its `{key}` by this: {entry}"),
    })
}

fn read(text: &str) -> Result<DocumentMut, String> {
    text.parse().map_err(|error: TomlError| {
        let at = error.span().map_or(0, |span| span.start);
        let line = text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1;
        format!("it is not TOML: line {line}: {}", error.message().replace('\n', ", "))
    })
}
