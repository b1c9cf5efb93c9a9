//! What JSON text from a guest must be before it may go anywhere: valid, not too deep, and
//! on one line, since a line break between two tokens would end a message on a transport
//! that divides by lines.
//!
//! Which schema it must satisfy is `schema`'s affair.

use std::borrow::Cow;

use crate::json;

/// How deep guests' JSON may nest. Clients' parsers give up soon after.
pub const MAX_DEPTH: usize = 64;

/// Checks a text and makes it one line.
///
/// # Errors
/// What it is instead, as a fragment that reads after "is".
pub fn one_line(text: &str) -> Result<Cow<'_, str>, String> {
    json::check(text, MAX_DEPTH).map_err(|error| format!("not valid JSON: {error}"))?;
    Ok(json::single_line(text))
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
