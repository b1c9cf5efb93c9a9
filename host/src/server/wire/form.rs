//! The schema of a form, as a revision restricts it: a flat object of primitive fields.
//!
//! Keywords that the revision does not have are removed; kinds of fields that it does not have are
//! converted, or the form cannot be sent.
//!
//! Source: MCP, client/elicitation, "Requested Schema"; schema `PrimitiveSchemaDefinition`.

use serde_json::{Map, Value, json};

use super::Unrepresentable;
use crate::json::{self, MAX_DEPTH};
use crate::protocol::Revision;

const FORMATS: [&str; 4] = ["email", "uri", "date", "date-time"];

/// `requestedSchema`.
pub(super) fn requested_schema(revision: Revision, schema: &str) -> Result<Value, Unrepresentable> {
    let schema = json::tree(schema, MAX_DEPTH).map_err(|error| broken("the form", &error.to_string()))?;
    if schema["type"] != "object" {
        return Err(broken("the form", "is not of type object"));
    }
    let empty = Map::new();
    let properties = match &schema["properties"] {
        Value::Null => &empty,
        Value::Object(properties) => properties,
        _ => return Err(broken("the form", "has properties that are not an object")),
    };
    let mut fields = Map::new();
    for (name, property) in properties {
        fields.insert(name.clone(), field(revision, name, property)?);
    }
    let mut requested = json!({ "type": "object", "properties": fields });
    if let Some(required) = schema["required"].as_array().filter(|required| !required.is_empty()) {
        requested["required"] = required.clone().into();
    }
    Ok(requested)
}

fn broken(what: &str, why: &str) -> Unrepresentable {
    Unrepresentable::Invalid(format!("a question to the user in which {what} {why}"))
}

fn field(revision: Revision, name: &str, property: &Value) -> Result<Value, Unrepresentable> {
    let at = format!("the field '{}'", crate::text::quote(name, 80));
    let Some(property) = property.as_object() else { return Err(broken(&at, "is not a schema")) };
    // Since 2025-11-25: defaults everywhere, titled and multiple choices.
    let newer = revision.has_elicitation_url();
    let keep = |own: &[&str], defaults: bool| {
        let known = |key: &str| {
            matches!(key, "type" | "title" | "description") || own.contains(&key) || (key == "default" && defaults)
        };
        property.iter().filter(|(key, _)| known(key)).map(|(key, value)| (key.clone(), value.clone())).collect()
    };
    let mut field: Map<String, Value> = match property.get("type").and_then(Value::as_str) {
        Some("boolean") => keep(&[], true),
        Some("number" | "integer") => keep(&["minimum", "maximum"], newer),
        Some("string") if property.contains_key("oneOf") => {
            let (values, titles) = options(&property["oneOf"]).ok_or_else(|| broken(&at, "has a malformed oneOf"))?;
            let mut field: Map<String, Value> = keep(&[], newer);
            if newer {
                field.insert("oneOf".into(), titled(values, titles));
            } else {
                field.insert("enum".into(), values.into());
                field.insert("enumNames".into(), titles.into());
            }
            field
        }
        Some("string") if property.contains_key("enum") => keep(&["enum", "enumNames"], newer),
        Some("string") => keep(&["minLength", "maxLength", "format"], newer),
        Some("array") if newer => {
            let mut field: Map<String, Value> = keep(&["minItems", "maxItems"], true);
            let items = &property.get("items").unwrap_or(&Value::Null);
            let items = match (&items["enum"], options(&items["anyOf"])) {
                (Value::Array(values), _) => json!({ "type": "string", "enum": values }),
                (_, Some((values, titles))) => json!({ "anyOf": titled(values, titles) }),
                _ => return Err(broken(&at, "is an array whose items are not a choice of strings")),
            };
            field.insert("items".into(), items);
            field
        }
        Some("array") => {
            return Err(Unrepresentable::NotInRevision("multiple choice does not exist in this client's revision"));
        }
        _ => return Err(broken(&at, "is not a string, number, boolean or choice")),
    };
    if field.get("format").is_some_and(|format| !FORMATS.iter().any(|known| format == known)) {
        field.remove("format");
    }
    Ok(field.into())
}

/// The values and titles of a titled enum.
fn options(options: &Value) -> Option<(Vec<Value>, Vec<Value>)> {
    let option = |option: &Value| {
        let value = option.get("const").filter(|value| value.is_string())?;
        let title = option.get("title").filter(|title| title.is_string()).unwrap_or(value);
        Some((value.clone(), title.clone()))
    };
    options.as_array()?.iter().map(option).collect::<Option<Vec<_>>>().map(|options| options.into_iter().unzip())
}

fn titled(values: Vec<Value>, titles: Vec<Value>) -> Value {
    values.into_iter().zip(titles).map(|(value, title)| json!({ "const": value, "title": title })).collect()
}
