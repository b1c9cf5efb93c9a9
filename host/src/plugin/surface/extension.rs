//! The rules for capabilities that a plugin declares.
//!
//! Conflicts between plugins are resolved in the catalog.

use serde_json::Value;

use super::checks;
use super::checks::Refused;
use crate::json;
use crate::text::Leeway;

/// Maximum bytes of a capability's settings: they are in every handshake.
const MAX_SETTINGS: usize = 8 << 10;
const MAX_EXPERIMENTAL: usize = 64;
const MAX_EXTENSION: usize = 128;
/// MCP Apps: a reserved name that plugins may declare.
const APPS: &str = "io.modelcontextprotocol/ui";

pub(super) fn experimental_name(name: &str) -> Result<(), Refused> {
    let charset = |b: u8| b.is_ascii_alphanumeric() || b"_./-".contains(&b);
    if name.is_empty() || name.len() > MAX_EXPERIMENTAL || !name.bytes().all(charset) {
        return Err(format!("a name must be 1 to {MAX_EXPERIMENTAL} of A-Z, a-z, 0-9, _, ., / and -"));
    }
    Ok(())
}

/// A key of `_meta` with its prefix, which is mandatory here (2026-07-28 schema,
/// `ServerCapabilities.extensions`). Prefixes that any revision reserves are refused.
pub(super) fn name(name: &str) -> Result<(), Refused> {
    if name == APPS {
        return Ok(());
    }
    let Some((prefix, own)) = name.split_once('/') else {
        return Err("it has no prefix, such as vendor.example/".into());
    };
    let labels: Vec<&str> = prefix.split('.').collect();
    if name.len() > MAX_EXTENSION || !labels.iter().all(|label| is_label(label)) || !is_own_name(own) {
        return Err(format!("a name must have the form vendor.example/name, with at most {MAX_EXTENSION} bytes"));
    }
    let protocol = |at: usize| labels.get(at).is_some_and(|label| matches!(*label, "mcp" | "modelcontextprotocol"));
    if protocol(1) || (0..labels.len() - 1).any(protocol) {
        return Err("its prefix is reserved for the protocol".into());
    }
    if labels[0] == "wharf" {
        return Err("its prefix is reserved for the host".into());
    }
    Ok(())
}

/// Starts with a letter, ends with a letter or digit, hyphens inside.
fn is_label(label: &str) -> bool {
    label.starts_with(|c: char| c.is_ascii_alphabetic())
        && label.ends_with(|c: char| c.is_ascii_alphanumeric())
        && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

/// Starts and ends with a letter or digit.
fn is_own_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.ends_with(|c: char| c.is_ascii_alphanumeric())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
}

/// The settings in the form in which they are sent.
pub(super) fn settings(settings: &str, hidden: &mut Leeway) -> Result<String, Refused> {
    if settings.len() > MAX_SETTINGS {
        return Err(format!("its settings have more than {MAX_SETTINGS} bytes"));
    }
    let settings = checks::object(settings, "its settings", "are", hidden)?;
    match is_plain(&settings) {
        true => Ok(json::canonical(&settings)),
        false => Err("its settings have a null, a fraction or a number that is too large".into()),
    }
}

/// Whether the published schema's `JSONValue` allows it: it has neither null nor
/// numbers that are not integers. Many clients lose precision of large integers.
fn is_plain(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Number(number) => number.is_i64() || number.is_u64(),
        Value::Array(elements) => elements.iter().all(is_plain),
        Value::Object(members) => members.values().all(is_plain),
        Value::Bool(_) | Value::String(_) => true,
    }
}
