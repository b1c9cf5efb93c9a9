//! Small parts of guests' values, made fit to be passed on.
//!
//! Drops what would only be invalid (a priority that is no number), refuses what would
//! mislead.

use std::borrow::Cow;

use crate::plugin::abi::Annotations;
use crate::plugin::json::{object_line, one_line};

/// Bytes of a moment.
const MAX_MOMENT: usize = 64;

/// JSON text, checked and on one line. What nobody sees is dropped before: that may make one name
/// of two, or another name of one.
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

/// Drops a priority that is not from 0 to 1, and what cannot be a moment of ISO 8601.
pub(in crate::plugin) fn annotations(annotations: &mut Option<Annotations>) {
    if let Some(annotations) = annotations {
        annotations.priority = annotations.priority.filter(|p| (0.0..=1.0).contains(p));
        let is_moment = |text: &String| text.len() <= MAX_MOMENT && text.bytes().all(|byte| byte.is_ascii_graphic());
        annotations.last_modified = annotations.last_modified.take().filter(is_moment);
    }
}
