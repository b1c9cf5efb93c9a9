//! Wraps an output schema in an object schema, for clients that accept only objects.
//!
//! Rewrites no reference: a schema whose meaning would change is not wrapped.

use std::borrow::Cow;

use serde_json::Value;
use serde_json::value::RawValue;

use super::Schema;
use crate::json;

/// How output is sent to clients that accept only objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wrapping {
    /// Unchanged: it is an object, or has no schema.
    None,
    /// As `{"result": …}`, with this schema.
    Result(String),
    /// Not at all: its schema would change its meaning when wrapped.
    Impossible,
}

impl Wrapping {
    /// The wrapping of an output schema; `text` is its source.
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

/// The wrapped schema. Keywords that references and validators expect at the root stay there; the
/// text of each is unchanged.
fn wrapped(members: &[(Cow<'_, str>, &RawValue)]) -> String {
    let stays = |name: &str| matches!(name, "$schema" | "$defs" | "definitions");
    let join = |root: bool| -> String {
        let kept = members.iter().filter(|(name, _)| stays(name) == root);
        kept.map(|(name, value)| format!("{}:{},", json::quote(name), value.get())).collect()
    };
    let (root, inside) = (join(true), join(false));
    let inside = inside.trim_end_matches(',');
    format!(r#"{{{root}"type":"object","properties":{{"result":{{{inside}}}}},"required":["result"]}}"#)
}

/// Whether nothing in a schema depends on its root. A property or constant named like a keyword
/// counts as one, which errs on the safe side.
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
