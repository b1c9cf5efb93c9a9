//! Small parts of guests' values, made fit to be passed on.
//!
//! Drops what would only be invalid (a priority that is no number), refuses what would
//! mislead.

use std::borrow::Cow;

use crate::plugin::abi::Annotations;
use crate::plugin::json::{object_line, one_line};
use crate::plugin::text::drop_hidden_in_json;

/// JSON text, checked and on one line, without what nobody sees.
pub(in crate::plugin) fn json(text: String) -> Result<String, String> {
    let mut line = match one_line(&text)? {
        Cow::Owned(line) => line,
        Cow::Borrowed(_) => text,
    };
    drop_hidden_in_json(&mut line);
    Ok(line)
}

/// The same for the text of a JSON object.
pub(in crate::plugin) fn object(text: &str) -> Result<String, String> {
    let mut line = object_line(text)?.into_owned();
    drop_hidden_in_json(&mut line);
    Ok(line)
}

/// Drops a priority that is not from 0 to 1.
pub(in crate::plugin) fn annotations(annotations: &mut Option<Annotations>) {
    if let Some(annotations) = annotations {
        annotations.priority = annotations.priority.filter(|p| (0.0..=1.0).contains(p));
    }
}
