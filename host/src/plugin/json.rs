//! Checks JSON text from a guest before it is passed on: it is valid, not too deep, and
//! on one line, since a line break between two tokens would end a message on a transport
//! with line framing.
//!
//! For validation against a schema see `schema`.

use std::borrow::Cow;

use serde_json::Value;

use crate::json::{self, JsonError};

/// Maximum nesting of guests' JSON. Some clients' parsers have limits that are little higher.
pub const MAX_DEPTH: usize = 64;

/// Checks a text and removes its line breaks.
///
/// # Errors
/// What is wrong, as a fragment that reads after "is".
pub fn one_line(text: &str) -> Result<Cow<'_, str>, String> {
    json::check(text, MAX_DEPTH).map_err(|error| invalid(&error))?;
    Ok(json::single_line(text))
}

/// Parses a text.
///
/// # Errors
/// As [`one_line`].
pub fn tree(text: &str) -> Result<Value, String> {
    json::tree(text, MAX_DEPTH).map_err(|error| invalid(&error))
}

fn invalid(error: &JsonError) -> String {
    match error.is_ambiguous() {
        true => format!("JSON that parsers read differently: {error}"),
        false => format!("not valid JSON: {error}"),
    }
}

/// As [`one_line`], for the text of an object.
///
/// # Errors
/// As [`one_line`].
pub fn object_line(text: &str) -> Result<Cow<'_, str>, String> {
    let line = one_line(text)?;
    if json::Kind::of_text(&line) == json::Kind::Object { Ok(line) } else { Err("not a JSON object".into()) }
}

#[cfg(test)]
mod tests;
