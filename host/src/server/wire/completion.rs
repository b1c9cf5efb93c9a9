//! Suggestions: as many as a client may be sent.

use super::Object;
use crate::plugin::abi::Completion;

/// Schema `CompleteResult` of every revision.
const MAX_VALUES: usize = 100;

/// The members of the wire's `CompleteResult`, but for `_meta`.
pub(in crate::server) fn result(completion: &Completion) -> String {
    let all = completion.values.len();
    let sent = &completion.values[..all.min(MAX_VALUES)];
    // Who gives more than can be sent, and has no more, has told how many there are.
    let counted = (sent.len() < all && !completion.has_more).then_some(all as u64);
    // A total of less than is there would make a client stop early.
    let total = completion.total.map(u64::from).filter(|total| *total >= all as u64).or(counted);
    let inside = Object::default()
        .array("values", sent.iter().map(|value| crate::json::quote(value)))
        .optional_raw("total", total.map(|total| total.to_string()).as_deref())
        .optional_bool("hasMore", Some(completion.has_more || sent.len() < all));
    Object::default().raw("completion", &inside.finish()).members()
}

#[cfg(test)]
mod tests;
