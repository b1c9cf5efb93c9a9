//! Normalizes small parts of guests' values.
//!
//! Drops values that are merely invalid (a priority that is not a number), and rejects misleading
//! ones.

use std::borrow::Cow;

use crate::plugin::abi::Annotations;
use crate::plugin::json::{object_line, one_line};

/// Bytes of a timestamp.
const MAX_TIMESTAMP: usize = 64;

/// JSON text, checked and on one line. Call it after hidden characters were dropped: that may make
/// two names equal.
pub(in crate::plugin) fn json(text: String) -> Result<String, String> {
    match one_line(&text)? {
        Cow::Owned(line) => Ok(line),
        Cow::Borrowed(_) => Ok(text),
    }
}

/// The same for the text of a JSON object.
pub(in crate::plugin) fn object(text: &str) -> Result<String, String> {
    object_line(text).map(Cow::into_owned)
}

/// Drops a priority that is not from 0 to 1, and a timestamp that cannot be ISO 8601.
pub(in crate::plugin) fn annotations(annotations: &mut Option<Annotations>) {
    if let Some(annotations) = annotations {
        annotations.priority = annotations.priority.filter(|p| (0.0..=1.0).contains(p));
        let is_moment = |text: &String| text.len() <= MAX_TIMESTAMP && text.bytes().all(|byte| byte.is_ascii_graphic());
        annotations.last_modified = annotations.last_modified.take().filter(is_moment);
    }
}
