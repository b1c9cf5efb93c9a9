//! A tool's parameters on one line, for people: `next(cron: string, zone?: string, count: integer = 5)`.

use std::fmt;

use serde_json::{Map, Value};

use crate::text;

/// Bytes of a type, a default, and a whole signature.
const TYPE: usize = 60;
const DEFAULT: usize = 30;
const WHOLE: usize = 600;
/// Schemas that are looked at for one type, and alternatives that are shown.
const VISITS: usize = 64;
const SEVERAL: usize = 16;

/// One parameter of a tool, or one member of its structured result. As text: `count: integer = 5`, or
/// `zone?: string` if it may be left out.
pub struct Parameter<'a> {
    pub name: &'a str,
    pub description: Option<&'a str>,
    /// Its own.
    pub schema: &'a Value,
    kind: String,
    default: Option<String>,
    required: bool,
}

impl fmt::Display for Parameter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, kind, default, required, .. } = self;
        match default {
            // A default of one that has to be there is only a suggestion.
            _ if *required => write!(f, "{name}: {kind}"),
            Some(default) => write!(f, "{name}: {kind} = {default}"),
            None => write!(f, "{name}?: {kind}"),
        }
    }
}

impl<'a> Parameter<'a> {
    /// The keywords of its schema that neither its text says in full, nor its description.
    pub fn unsaid(&self) -> impl Iterator<Item = (&'a str, &'a Value)> + use<'_, 'a> {
        // A kind that was cut or has a reference in it is equal to none.
        let exact = exact_kind(self.schema).is_some_and(|exact| exact == self.kind);
        let default = |value: &Value| !self.required && self.default == Some(value.to_string());
        self.schema.as_object().into_iter().flatten().map(|(name, value)| (name.as_str(), value)).filter(
            move |(name, value)| match *name {
                "description" => !value.is_string(),
                "default" => !default(value),
                "type" | "items" | "enum" => !exact,
                "format" => !exact || self.schema.get("type").is_none_or(|kind| kind != "string") || !value.is_string(),
                _ => true,
            },
        )
    }
}

/// The kind of a schema, if no other schema that has the same keywords of these has it too.
fn exact_kind(schema: &Value) -> Option<String> {
    let members = schema.as_object()?;
    let named = members.get("type").map(|name| name.as_str());
    match (named, members.get("items"), members.get("enum")) {
        (Some(Some("array")), Some(items), None) => {
            let has_other = |items: &Map<String, Value>| items.keys().any(|name| !matches!(name.as_str(), "type"));
            let item = exact_kind(items).filter(|_| !items.as_object().is_none_or(has_other))?;
            Some(format!("{item}[]"))
        }
        (Some(Some("string")), None, None) => Some(string(schema)),
        (Some(Some(name)), None, None) if name != "array" => Some(name.to_owned()),
        (None | Some(Some("string")), None, Some(Value::Array(values))) => {
            let texts: Option<Vec<String>> = values.iter().map(|it| it.as_str().map(|_| it.to_string())).collect();
            Some(texts?.join(" | "))
        }
        _ => None,
    }
}

/// The members of an object with this schema in its order, those that have to be there first. Types and defaults that
/// are too long for a line are cut, with an ellipsis.
pub fn parameters(schema: &Value) -> Vec<Parameter<'_>> {
    let required = schema.get("required").and_then(Value::as_array);
    let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    let mut all: Vec<Parameter<'_>> = properties
        .map(|(name, property)| Parameter {
            name,
            schema: property,
            description: property.get("description").and_then(Value::as_str),
            kind: text::quote(&kind(property, schema, &mut { VISITS }), TYPE),
            default: property.get("default").map(|default| text::quote(&default.to_string(), DEFAULT)),
            required: required.is_some_and(|names| names.iter().any(|it| it == name)),
        })
        .collect();
    // A stable sort.
    all.sort_by_key(|parameter| !parameter.required);
    all
}

/// The signature of a tool with this schema of arguments, on one line. What is too long for a line is
/// cut, with an ellipsis.
pub fn signature(name: &str, schema: &Value) -> String {
    let parameters = parameters(schema);
    let parameters = joined(parameters.iter().map(Parameter::to_string), ", ", WHOLE.saturating_sub(name.len()));
    text::quote(&format!("{name}({parameters})"), WHOLE + ")( , …".len())
}

/// As many of the parts as have room in `most` bytes, and an ellipsis in place of the others. The first has room.
fn joined(parts: impl Iterator<Item = String>, between: &str, most: usize) -> String {
    let mut text = String::new();
    for part in parts {
        if !text.is_empty() {
            text += between;
            if text.len() + part.len() > most {
                return text + "…";
            }
        }
        text += &part;
    }
    text
}

/// `visits`: schemas that may still be looked at; then a type is `any`.
fn kind(schema: &Value, root: &Value, visits: &mut usize) -> String {
    let Some(left) = visits.checked_sub(1) else { return "any".to_owned() };
    *visits = left;
    if let Some(to) = schema.get("$ref").and_then(Value::as_str) {
        let target = to.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
        return target.map_or_else(|| "any".to_owned(), |target| kind(target, root, visits));
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return several(values.iter().map(Value::to_string));
    }
    if let Some(value) = schema.get("const") {
        return value.to_string();
    }
    // Generators write a reference beside a description as the only branch of `allOf`.
    if let Some([branch]) = schema.get("allOf").and_then(Value::as_array).map(Vec::as_slice) {
        return kind(branch, root, visits);
    }
    for keyword in ["anyOf", "oneOf"] {
        if let Some(branches) = schema.get(keyword).and_then(Value::as_array) {
            return several(branches.iter().map(|branch| kind(branch, root, visits)));
        }
    }
    match schema.get("type") {
        Some(Value::String(name)) if name == "array" => match schema.get("items") {
            Some(items) => match kind(items, root, visits) {
                kind if kind.contains(" | ") => format!("({kind})[]"),
                kind => format!("{kind}[]"),
            },
            None => "array".to_owned(),
        },
        Some(Value::String(name)) if name == "string" => string(schema),
        Some(Value::String(name)) => name.clone(),
        Some(Value::Array(names)) => several(names.iter().filter_map(Value::as_str).map(str::to_owned)),
        _ => "any".to_owned(),
    }
}

/// A text, with its format such as `date`: a person has to know how to write one.
fn string(schema: &Value) -> String {
    match schema.get("format").and_then(Value::as_str) {
        Some(format) => format!("string ({format})"),
        None => "string".to_owned(),
    }
}

/// Different ones, in order; the line is cut later.
fn several(kinds: impl Iterator<Item = String>) -> String {
    let mut different: Vec<String> = Vec::new();
    for kind in kinds.take(SEVERAL) {
        if !different.contains(&kind) {
            different.push(kind);
        }
    }
    // A union of all types is how an untyped parameter is shown to clients.
    let is_any = ["string", "number", "boolean", "object"].iter().all(|kind| different.iter().any(|it| it == kind))
        && different.iter().any(|kind| kind == "array" || kind.ends_with("[]"));
    if is_any { "any".to_owned() } else { joined(different.into_iter(), " | ", TYPE) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::signature;

    #[test]
    fn signatures_show_what_to_give() {
        let schema = json!({
            "type": "object",
            "properties": {
                "zone": { "type": ["string", "null"] },
                "count": { "type": "integer", "default": 5 },
                "cron": { "type": "string" },
                "day": { "type": "string", "format": "date" },
                "exact": { "type": "boolean", "default": true },
                "form": { "allOf": [{ "$ref": "#/$defs/form" }] },
                "tags": { "type": "array", "items": { "anyOf": [{ "type": "string" }, { "type": "null" }] } },
                "value": {},
            },
            "required": ["exact", "cron"],
            "$defs": { "form": { "enum": ["short", "long"] } },
        });
        let shown = r#"next(cron: string, exact: boolean, zone?: string | null, count: integer = 5, day?: string (date), form?: "short" | "long", tags?: (string | null)[], value?: any)"#;
        assert_eq!(signature("next", &schema), shown);
        assert_eq!(signature("list", &json!({ "type": "object" })), "list()");
        let several = json!({ "anyOf": [{ "$ref": "#/$defs/a" }, { "$ref": "#/$defs/a" }, { "type": "null" }] });
        let wide = json!({ "properties": { "a": several }, "$defs": { "a": several } });
        assert_eq!(signature("f", &wide), "f(a?: any)");
        let endless = json!({ "type": "object", "properties": { "a": { "$ref": "#/properties/a" } } });
        assert_eq!(signature("f", &endless), "f(a?: any)");
    }

    #[test]
    fn a_union_of_all_types_is_any() {
        let items = json!({ "type": ["string", "number", "boolean", "object"] });
        let untyped = json!({ "anyOf": [
            { "type": "string" }, { "type": "number" }, { "type": "boolean" }, { "type": "object" },
            { "type": "array", "items": items }
        ] });
        let shown = "f(a?: any, b?: string | number | boolean | object)";
        assert_eq!(signature("f", &json!({ "properties": { "a": untyped, "b": items } })), shown);
    }

    #[test]
    fn what_has_no_room_is_left_out_whole() {
        let values: Vec<String> = (0..9).map(|at| format!("alternative{at}")).collect();
        let schema = json!({ "properties": { "a": { "enum": values } } });
        let shown = r#"f(a?: "alternative0" | "alternative1" | "alternative2" | …)"#;
        assert_eq!(signature("f", &schema), shown);
        let many: serde_json::Map<_, _> =
            (100..999).map(|at| (format!("p{at}"), json!({ "type": "string" }))).collect();
        let shown = signature("f", &json!({ "properties": many }));
        assert!(shown.ends_with("?: string, …)") && shown.len() > 580, "{shown}");
    }

    #[test]
    fn a_signature_is_one_bounded_line() {
        let name = "x".repeat(5000);
        let schema = json!({ "type": "object", "properties": { name: { "const": "a\n\u{1b}[31m" } } });
        let shown = signature("f", &schema);
        assert!(shown.len() < 700 && !shown.contains(['\n', '\u{1b}']), "{shown}");
    }
}
