//! Small parts of guests' values, made fit to be passed on.
//!
//! Drops what would only be invalid (a priority that is no number), refuses what would
//! mislead.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::plugin::abi::Annotations;
use crate::plugin::json::{is_object, one_line};

/// JSON text, checked and on one line.
pub(in crate::plugin) fn json(text: String) -> Result<String, &'static str> {
    match one_line(&text)? {
        Cow::Owned(line) => Ok(line),
        Cow::Borrowed(_) => Ok(text),
    }
}

/// A `_meta` object without the keys that MCP keeps for itself.
pub(in crate::plugin) fn meta(text: Option<String>) -> Result<Option<String>, &'static str> {
    let Some(text) = text else { return Ok(None) };
    let text = json(text)?;
    if !is_object(&text) {
        return Err("not a JSON object");
    }
    // Escapes could hide a reserved key from a plain search.
    if !text.contains(['\\']) && !text.contains("mcp") && !text.contains("modelcontextprotocol") {
        return Ok(Some(text));
    }
    let mut members: Map<String, Value> = serde_json::from_str(&text).map_err(|_| "not a JSON object")?;
    let before = members.len();
    members.retain(|key, _| !is_reserved(key));
    if members.len() == before {
        return Ok(Some(text));
    }
    Ok(Some(Value::Object(members).to_string()))
}

/// Whether a key's prefix is one that MCP has reserved: `mcp` or `modelcontextprotocol` as
/// its first or second label, as in `io.modelcontextprotocol/…`.
fn is_reserved(key: &str) -> bool {
    let Some((prefix, _)) = key.split_once('/') else {
        return false;
    };
    prefix.split('.').take(2).any(|label| label == "mcp" || label == "modelcontextprotocol")
}

/// Drops a priority that is not from 0 to 1.
pub(in crate::plugin) fn annotations(annotations: &mut Option<Annotations>) {
    if let Some(annotations) = annotations {
        annotations.priority = annotations.priority.filter(|p| (0.0..=1.0).contains(p));
    }
}
