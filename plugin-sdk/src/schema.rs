//! JSON Schemas derived from Rust types. Used only for listing, never during a call.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::Value;

/// The schema of a caller's arguments.
pub(crate) fn input<T: JsonSchema>() -> Result<Value, String> {
    object(generator(SchemaSettings::draft2020_12().for_deserialize()).into_root_schema_for::<T>())
}

/// The schema of a form: flat, as MCP requires. Optional fields are not nullable there,
/// and choices have titles.
pub(crate) fn form<T: JsonSchema>() -> Result<Value, String> {
    let mut schema = input::<T>()?;
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.values_mut().for_each(flatten);
    }
    Ok(schema)
}

fn flatten(property: &mut Value) {
    let Some(members) = property.as_object_mut() else {
        return;
    };
    if members.get("default").is_some_and(Value::is_null) {
        members.remove("default");
    }
    if let Some(Value::Array(kinds)) = members.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if kinds.len() == 1 {
            let kind = kinds.remove(0);
            members.insert("type".into(), kind);
        }
    }
    if let Some(Value::Array(choices)) = members.get_mut("enum") {
        choices.retain(|choice| !choice.is_null());
    }
    // An optional enum: the enum or null.
    if let Some(Value::Array(mut branches)) = members.remove("anyOf") {
        branches.retain(|branch| branch["type"] != "null");
        if let [Value::Object(only)] = &mut branches[..] {
            for (key, value) in std::mem::take(only) {
                members.entry(key).or_insert(value);
            }
        }
    }
    if let Some(Value::Array(choices)) = members.get_mut("oneOf") {
        for choice in choices.iter_mut().filter_map(Value::as_object_mut) {
            choice.remove("type");
            let title = choice.remove("description").or_else(|| choice.get("const").cloned());
            choice.insert("title".into(), title.unwrap_or_default());
        }
        members.insert("type".into(), "string".into());
    }
}

/// The schema of a tool's result.
pub(crate) fn output<T: JsonSchema>() -> Result<Value, String> {
    object(generator(SchemaSettings::draft2020_12().for_serialize()).into_root_schema_for::<T>())
}

fn generator(mut settings: SchemaSettings) -> SchemaGenerator {
    settings.meta_schema = None;
    // Inlined: not every client follows `$ref`.
    settings.inline_subschemas = true;
    settings.into_generator()
}

/// The schema with `"type": "object"` at its root, as MCP requires, or the reason why not.
fn object(schema: Schema) -> Result<Value, String> {
    let mut root = match schema.to_value() {
        Value::Object(root) => root,
        _ => serde_json::Map::new(),
    };
    let title = root.remove("title");
    match root.get("type") {
        None => {
            root.insert("type".into(), "object".into());
        }
        Some(Value::String(kind)) if kind == "object" => {}
        Some(_) => {
            let name = title.as_ref().and_then(Value::as_str).unwrap_or("the type").to_owned();
            return Err(name + " is not an object in JSON; make it a field of a struct");
        }
    }
    let mut root = Value::Object(root);
    strip(&mut root);
    Ok(root)
}

/// Removes the formats of Rust's number types: JSON Schema does not define them, and
/// forms may not have them.
fn strip(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            let number = |kind: &Value| kind == "integer" || kind == "number";
            let numeric = members.get("type").is_some_and(|kind| match kind {
                Value::Array(kinds) => kinds.iter().any(number),
                kind => number(kind),
            });
            if numeric && members.get("format").is_some_and(Value::is_string) {
                members.remove("format");
            }
            members.values_mut().for_each(strip);
        }
        Value::Array(elements) => elements.iter_mut().for_each(strip),
        _ => {}
    }
}
