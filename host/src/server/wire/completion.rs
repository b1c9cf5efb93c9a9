//! Completion values, truncated to the protocol's maximum.

use serde::Serialize;

use crate::plugin::abi;

/// Schema `CompleteResult` of every revision.
const MAX_VALUES: usize = 100;

/// The wire's `CompleteResult`, without `_meta`.
#[derive(Serialize)]
pub(in crate::server) struct CompleteResult<'a> {
    completion: Completion<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Completion<'a> {
    values: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<u64>,
    has_more: bool,
}

impl<'a> CompleteResult<'a> {
    pub(in crate::server) fn new(completion: &'a abi::Completion) -> Self {
        let all = completion.values.len();
        let values = &completion.values[..all.min(MAX_VALUES)];
        // If the list was truncated and the plugin reports no more, its length is the total.
        let counted = (values.len() < all && !completion.has_more).then_some(all as u64);
        // A total below the number of values would make a client stop early.
        let total = completion.total.map(u64::from).filter(|total| *total >= all as u64).or(counted);
        Self { completion: Completion { values, total, has_more: completion.has_more || values.len() < all } }
    }
}

#[cfg(test)]
mod tests;
