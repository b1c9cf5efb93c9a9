//! An output schema inside of an object, for whoever takes no other output.
//!
//! It rewrites no reference: a schema that would mean something else is left alone.

use std::borrow::Cow;

use serde_json::Value;
use serde_json::value::RawValue;

use super::Schema;
use crate::json;

/// How output is given to clients that take only objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wrapping {
    /// As it is: an object, unless nothing was said of it.
    None,
    /// As `{"result": …}`, which has this schema.
    Result(String),
    /// Not at all: its schema would mean something else inside of another.
    Impossible,
}

impl Wrapping {
    /// Decides it for an output schema; `text` is how it is spelt.
    pub(in crate::plugin) fn of(schema: &Schema, text: &str) -> Self {
        if schema.source().get("type").and_then(Value::as_str) == Some("object") {
            return Self::None;
        }
        match json::entries(text) {
            Ok(members) if is_movable(schema.source()) => Self::Result(wrapped(&members)),
            _ => Self::Impossible,
        }
    }
}

/// What references and validators look for at the root stays there, all as it is spelt.
fn wrapped(members: &[(Cow<'_, str>, &RawValue)]) -> String {
    let stays = |name: &str| matches!(name, "$schema" | "$defs" | "definitions");
    let spelt = |root: bool| -> String {
        let kept = members.iter().filter(|(name, _)| stays(name) == root);
        kept.map(|(name, value)| format!("{}:{},", json::quote(name), value.get())).collect()
    };
    let (root, inside) = (spelt(true), spelt(false));
    let inside = inside.trim_end_matches(',');
    format!(r#"{{{root}"type":"object","properties":{{"result":{{{inside}}}}},"required":["result"]}}"#)
}

/// Whether nothing in a schema hangs on where its root is. A property or a constant that is
/// called like a keyword counts as one: no schema worth wrapping has it.
fn is_movable(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => members.iter().all(|(name, value)| match name.as_str() {
            "$ref" => value.as_str().is_some_and(|to| to.starts_with("#/$defs/") || to.starts_with("#/definitions/")),
            "$id" | "$anchor" | "$dynamicRef" | "$dynamicAnchor" | "$recursiveRef" | "$recursiveAnchor" => false,
            _ => is_movable(value),
        }),
        Value::Array(elements) => elements.iter().all(is_movable),
        _ => true,
    }
}
