//! "Did you mean": the most similar names.

use std::cmp::Reverse;

/// Longer names are compared by their beginning: the distance costs the product of
/// both lengths, and the name asked for comes from the client.
const COMPARED: usize = 128;

/// At most `limit` of `names`, the likeliest first; the same input gives the same order.
pub fn nearest<'n>(name: &str, names: impl IntoIterator<Item = &'n str>, limit: usize) -> Vec<&'n str> {
    let name = head(name).to_lowercase();
    let mut ranked: Vec<_> = names
        .into_iter()
        .map(|candidate| {
            let lower = head(candidate).to_lowercase();
            let distance = strsim::damerau_levenshtein(&name, &lower);
            // Whole millionths: the order must not depend on a float's last bit.
            let likeness = (strsim::jaro_winkler(&name, &lower) * 1e6) as u32;
            (distance, Reverse(likeness), candidate)
        })
        .collect();
    ranked.sort_unstable();
    ranked.truncate(limit);
    ranked.into_iter().map(|(_, _, candidate)| candidate).collect()
}

/// The one name that is close enough to be suggested: a third of the letters may differ.
pub fn did_you_mean<'n>(name: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let best = *nearest(name, names, 1).first()?;
    let distance = strsim::damerau_levenshtein(&head(name).to_lowercase(), &head(best).to_lowercase());
    let letters = head(name).chars().count().max(head(best).chars().count());
    (distance * 3 <= letters).then_some(best)
}

fn head(name: &str) -> &str {
    name.char_indices().nth(COMPARED).map_or(name, |(end, _)| &name[..end])
}
