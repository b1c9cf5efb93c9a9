//! "Did you mean": the most similar names.

use std::cmp::Reverse;

/// Longer names are compared by their beginning: the distance costs the product of
/// both lengths, and the name asked for comes from the client.
const COMPARED: usize = 128;
/// Letters of a name that is near because another contains it.
const CONTAINED: usize = 3;
/// Parts of a name that are compared besides the whole.
const PARTS: usize = 3;

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

/// At most `limit` names that are near, the likeliest first: one contains the other, or of a name, or of
/// its part after a `_`, a third of the letters differ.
pub fn near<'n>(name: &str, names: impl IntoIterator<Item = &'n str>, limit: usize) -> Vec<&'n str> {
    let name = head(name).to_lowercase();
    let mut ranked: Vec<_> = names
        .into_iter()
        .filter_map(|candidate| {
            let lower = head(candidate).to_lowercase();
            let parts = lower.match_indices('_').map(|(at, _)| &lower[at + 1..]);
            let near = |part: &str| {
                let distance = strsim::damerau_levenshtein(&name, part);
                let letters = name.chars().count().max(part.chars().count());
                let within =
                    part.contains(&name) && name.len() >= CONTAINED || name.contains(part) && part.len() >= CONTAINED;
                (distance * 3 <= letters || within).then_some(distance)
            };
            let distance = [&*lower].into_iter().chain(parts.take(PARTS)).filter_map(near).min()?;
            Some((distance, candidate))
        })
        .collect();
    ranked.sort_unstable();
    ranked.truncate(limit);
    ranked.into_iter().map(|(_, candidate)| candidate).collect()
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
