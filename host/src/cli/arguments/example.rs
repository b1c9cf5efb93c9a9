//! Arguments that a hint shows for a schema.

use serde_json::{Map, Value};
use wharf_report::shell_text;

use super::{VISITS, kinds, resolved};
use crate::json::Kind;

/// Arguments in an example, and bytes of a name or value in it.
const EXAMPLES: usize = 2;
const MAX_EXAMPLE: usize = 40;

/// A few arguments as `KEY=VALUE`, and the same as one JSON object, each as words of a shell.
pub(super) fn example(schema: &Value) -> (String, String) {
    let general = || ("KEY=VALUE for each argument".to_owned(), r#"'{"KEY":"VALUE"}'"#.to_owned());
    let Some(properties) = schema["properties"].as_object() else { return general() };
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let names = required.chain(properties.keys().map(String::as_str)).filter(|name| is_plain(name));
    let (mut words, mut object) = (Vec::new(), Map::new());
    for name in names {
        if object.len() == EXAMPLES {
            break;
        }
        let Some(property) = properties.get(name).filter(|_| !object.contains_key(name)) else { continue };
        let Some(value) = example_value(property, schema, &mut { VISITS }) else { continue };
        match &value {
            Value::Array(items) => words.extend(items.iter().map(|item| pair_word(name, &text_of(item)))),
            value => words.push(pair_word(name, &text_of(value))),
        }
        object.insert(name.to_owned(), value);
    }
    match words.is_empty() {
        true => general(),
        false => (words.join(" "), shell_text(&Value::Object(object).to_string())),
    }
}

/// `KEY=VALUE` as a word of a shell, in quotes if it needs them.
pub(super) fn pair_word(name: &str, text: &str) -> String {
    let word = format!("{name}={text}");
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.=".contains(c);
    if word.chars().all(is_plain) { word } else { shell_text(&word) }
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// What the example need not explain.
fn is_plain(text: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    (1..=MAX_EXAMPLE).contains(&text.len()) && !text.starts_with('-') && text.chars().all(is_word)
}

/// A value of the type that the schema has, if that is a simple one or an array of such.
fn example_value(schema: &Value, root: &Value, visits: &mut usize) -> Option<Value> {
    *visits = visits.checked_sub(1)?;
    let allowed = kinds(schema, root, &mut { VISITS });
    let schema = resolved(schema, root);
    if let Some(values) = schema["enum"].as_array() {
        return values.iter().find(|value| value.as_str().is_some_and(is_plain) || value.is_number()).cloned();
    }
    if allowed.contains(&Kind::String) {
        return Some("text".into());
    } else if allowed.contains(&Kind::Number) {
        return Some(1.into());
    } else if allowed.contains(&Kind::Bool) {
        return Some(true.into());
    }
    let items = schema.get("items").filter(|_| allowed.contains(&Kind::Array))?;
    let item = example_value(items, root, visits).filter(|item| !item.is_array())?;
    let second = if item == 1 { 2.into() } else { item.clone() };
    Some(vec![item, second].into())
}
