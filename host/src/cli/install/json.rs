//! A client's configuration that is JSON. It is written again whole, so one with comments is left to the person.

use serde_json::{Map, Value, json};

use super::client::Form;
use super::start::Start;
use crate::cli::commented_json::without_comments;
use crate::json;

/// With an entry for the server; variables that the person has added to it stay.
pub(super) fn with(old: &str, form: Form, start: &Start) -> Result<String, String> {
    let mut whole = object(old)?;
    let key = form.key();
    let servers = whole.entry(key).or_insert_with(|| Value::Object(Map::new()));
    let servers = servers.as_object_mut().ok_or_else(|| format!("{key:?} is not an object"))?;
    let mut wanted = entry(form, start);
    if let Some(env) = servers.get(&start.name).and_then(|own| own.get("env")) {
        wanted["env"] = env.clone();
    }
    if servers.get(&start.name) == Some(&wanted) {
        return Ok(old.to_owned());
    }
    servers.insert(start.name.clone(), wanted);
    pretty(&whole)
}

/// Without one server.
pub(super) fn without(old: &str, form: Form, name: &str) -> Result<String, String> {
    let mut whole = object(old)?;
    let servers = whole.get_mut(form.key()).and_then(Value::as_object_mut);
    // The order of the others stays.
    if servers.and_then(|servers| servers.shift_remove(name)).is_none() {
        return Ok(old.to_owned());
    }
    pretty(&whole)
}

/// The entry of a server as the file has it.
pub(super) fn entry_in(text: &str, form: Form, name: &str) -> Option<String> {
    serde_json::to_string_pretty(object(text).ok()?.get(form.key())?.get(name)?).ok()
}

/// What a person writes into a file that cannot be changed.
pub(super) fn by_hand(old: &str, form: Form, start: &Start) -> Option<String> {
    let (key, name) = (form.key(), &start.name);
    let whole = tree(old).unwrap_or_default();
    let entry = format!("\"{name}\": {}", entry(form, start));
    match (whole.as_object(), whole.get(key)) {
        (Some(whole), None) => {
            let after = if whole.is_empty() { "" } else { ", after a comma" };
            Some(format!("add this to its outermost object{after}: \"{key}\": {{{entry}}}"))
        }
        (_, Some(Value::Object(servers))) if servers.contains_key(name) => {
            Some(format!("replace {name:?} in its {key:?} by this: {entry}"))
        }
        (_, Some(Value::Object(servers))) if servers.is_empty() => Some(format!("add this in its {key:?}: {entry}")),
        (_, Some(Value::Object(_))) => Some(format!("add this in its {key:?}, after a comma: {entry}")),
        _ => None,
    }
}

/// JSON, which may have comments.
pub(super) fn tree(text: &str) -> Option<Value> {
    json::tree(text, json::MAX_DEPTH).or_else(|_| json::tree(&without_comments(text), json::MAX_DEPTH)).ok()
}

fn entry(form: Form, start: &Start) -> Value {
    match form {
        Form::VsCode => json!({"type": "stdio", "command": start.program, "args": start.arguments}),
        Form::Json | Form::Toml => json!({"command": start.program, "args": start.arguments}),
    }
}

/// The members of a configuration that is JSON.
pub(super) fn object(text: &str) -> Result<Map<String, Value>, String> {
    match text.trim() {
        "" => Ok(Map::new()),
        text => match json::tree(text, json::MAX_DEPTH) {
            Ok(Value::Object(whole)) => Ok(whole),
            Ok(_) => Err("it is not a JSON object".to_owned()),
            // Comments, which some clients allow, would be lost.
            Err(error) => Err(format!("it is not plain JSON: {error}")),
        },
    }
}

fn pretty(whole: &Map<String, Value>) -> Result<String, String> {
    serde_json::to_string_pretty(whole).map(|text| text + "\n").map_err(|error| error.to_string())
}
