//! From text to trees and typed values. The only place that parses untrusted text with
//! `serde_json`: [`check`] first refuses what `serde_json` would represent differently.

use serde::Deserialize;
use serde::de::Error as _;
use serde_json::Value;

use super::{JsonError, MAX_DEPTH, check};

/// The tree of a text that nests at most `max_depth` levels, never more than [`MAX_DEPTH`].
/// It has the members that the text has, and nests as deep.
///
/// # Errors
/// What [`check`] refuses.
pub fn tree(text: &str, max_depth: usize) -> Result<Value, JsonError> {
    check(text, max_depth.min(MAX_DEPTH))?;
    serde_json::from_str(text).map_err(|_| JsonError { offset: 0, reason: "it cannot be parsed" })
}

/// A typed value.
///
/// # Errors
/// What [`check`] refuses at [`MAX_DEPTH`], and what is not of that type.
pub fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, serde_json::Error> {
    check(text, MAX_DEPTH).map_err(serde_json::Error::custom)?;
    serde_json::from_str(text)
}

/// The canonical text of a tree: no whitespace, one spelling of characters and numbers, members in
/// their order. Parsing it gives the same tree, and so the same text.
pub fn canonical(tree: &Value) -> String {
    tree.to_string()
}
