//! JSON Schemas derived from Rust types. Only listing needs them: a call never comes here.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::Value;

/// The schema of what a caller may send.
pub(crate) fn input<T: JsonSchema>() -> Result<Value, String> {
    object(generator(SchemaSettings::draft2020_12().for_deserialize()).into_root_schema_for::<T>())
}

/// The schema of what a tool gives back.
pub(crate) fn output<T: JsonSchema>() -> Result<Value, String> {
    object(generator(SchemaSettings::draft2020_12().for_serialize()).into_root_schema_for::<T>())
}

fn generator(mut settings: SchemaSettings) -> SchemaGenerator {
    settings.meta_schema = None;
    // Everything in place: not every client follows `$ref`.
    settings.inline_subschemas = true;
    settings.into_generator()
}

/// The schema with a root that says `"type": "object"`, as MCP wants it, or why not.
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
    Ok(Value::Object(root))
}
