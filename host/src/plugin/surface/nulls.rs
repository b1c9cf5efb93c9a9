//! Null for a parameter that is not required counts as its absence.
//!
//! Agent libraries that build a model of a tool's parameters (CrewAI, strict mode of OpenAI) send null
//! for those that the language model left out. A guest's types need not accept it: a default of
//! Rust's serde, for one, applies only to what is absent.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::json::{self, Object};
use crate::plugin::schema::Schema;

/// The parameters of a tool that are not required and for which its schema does not accept null.
#[derive(Debug, Default)]
pub(in crate::plugin) struct NeverNull(Vec<String>);

impl NeverNull {
    /// Of a schema of arguments.
    pub(super) fn of(schema: &Schema) -> Self {
        let source = schema.source();
        let Some(Value::Object(properties)) = source.get("properties") else { return Self::default() };
        let required = |name: &String| {
            source.get("required").and_then(Value::as_array).is_some_and(|names| names.iter().any(|it| it == name))
        };
        let optional = properties.keys().filter(|name| !required(name));
        let nulls: Map<String, Value> = optional.map(|name| (name.clone(), Value::Null)).collect();
        let violated = schema.violated(&Value::Object(nulls.clone()));
        let is_violated = |name: &String| {
            let pointer = format!("/{}", name.replace('~', "~0").replace('/', "~1"));
            violated.contains(&pointer)
        };
        Self(nulls.into_iter().map(|(name, _)| name).filter(is_violated).collect())
    }

    /// The text of an object of arguments, without nulls in place of absent parameters.
    pub(in crate::plugin) fn without_nulls(&self, arguments: Arc<str>) -> Arc<str> {
        if self.0.is_empty() || memchr::memmem::find(arguments.as_bytes(), b"null").is_none() {
            return arguments;
        }
        // What is no object is refused by the check of the arguments.
        let Ok(members) = Object::read(&arguments) else { return arguments };
        let is_absent = |name: &str, value: &str| value == "null" && self.0.iter().any(|never| never == name);
        if !members.iter().any(|(name, value)| is_absent(name, value.get())) {
            return arguments;
        }
        let kept = members.iter().filter(|(name, value)| !is_absent(name, value.get()));
        let kept: Vec<String> = kept.map(|(name, value)| format!("{}:{}", json::quote(name), value.get())).collect();
        format!("{{{}}}", kept.join(",")).into()
    }
}

#[cfg(test)]
mod tests {
    use super::NeverNull;
    use crate::plugin::schema::Schema;

    const SCHEMA: &str = r##"{
        "type": "object",
        "properties": {
            "must": { "type": "string" },
            "form": { "$ref": "#/$defs/form" },
            "a/b~": { "type": "integer", "default": 3 },
            "may": { "type": ["string", "null"] },
            "any": {}
        },
        "required": ["must"],
        "$defs": { "form": { "enum": ["short", "long"] } }
    }"##;

    #[test]
    fn null_for_an_optional_parameter_counts_as_absent() {
        let schema = Schema::compile(SCHEMA).expect("a schema");
        let never = NeverNull::of(&schema);
        for (given, taken) in [
            (r#"{"must":"a","form":null}"#, r#"{"must":"a"}"#),
            (r#"{"a/b~": null, "form" : null}"#, "{}"),
            (r#"{"must":null}"#, r#"{"must":null}"#),
            (r#"{"may":null,"any":null,"form":null}"#, r#"{"may":null,"any":null}"#),
            (r#"{"form":"null","other":null}"#, r#"{"form":"null","other":null}"#),
            (r#"{"form":null,"must":1e400}"#, r#"{"must":1e400}"#),
            (r#"{"form":{"a":null}}"#, r#"{"form":{"a":null}}"#),
            (r#"["form",null]"#, r#"["form",null]"#),
            (r#"{"must":"null""#, r#"{"must":"null""#),
        ] {
            assert_eq!(&*never.without_nulls(given.into()), taken);
        }
    }

    #[test]
    fn a_tool_without_parameters_has_none() {
        for schema in [r#"{"type":"object"}"#, r#"{"type":"object","properties":{"a":{}},"required":["a"]}"#] {
            let schema = Schema::compile(schema).expect("a schema");
            let given = r#"{"a":null}"#;
            assert_eq!(&*NeverNull::of(&schema).without_nulls(given.into()), given);
        }
    }
}
