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
    ranked(name, names, limit, |name, candidate| {
        let distance = strsim::damerau_levenshtein(name, candidate);
        // Whole millionths: the order must not depend on a float's last bit.
        let likeness = (strsim::jaro_winkler(name, candidate) * 1e6) as u32;
        Some((distance, Reverse(likeness)))
    })
}

/// At most `limit` names that are near, the likeliest first: one contains the other, or of a name, or of
/// its part after a `_`, a third of the letters differ.
pub fn near<'n>(name: &str, names: impl IntoIterator<Item = &'n str>, limit: usize) -> Vec<&'n str> {
    ranked(name, names, limit, |name, candidate| {
        let parts = candidate.match_indices('_').map(|(at, _)| &candidate[at + 1..]);
        let near = |part: &str| {
            let distance = strsim::damerau_levenshtein(name, part);
            let letters = name.chars().count().max(part.chars().count());
            let within =
                part.contains(name) && name.len() >= CONTAINED || name.contains(part) && part.len() >= CONTAINED;
            (distance * 3 <= letters || within).then_some(distance)
        };
        [candidate].into_iter().chain(parts.take(PARTS)).filter_map(near).min()
    })
}

/// The one name that is close enough to be suggested: a third of the letters may differ.
pub fn did_you_mean<'n>(name: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let best = *nearest(name, names, 1).first()?;
    let distance = strsim::damerau_levenshtein(&head(name).to_lowercase(), &head(best).to_lowercase());
    let letters = head(name).chars().count().max(head(best).chars().count());
    (distance * 3 <= letters).then_some(best)
}

/// The names with the lowest ranks, which `rank` computes from the heads of both names in lower case. Names
/// without a rank are left out; equal ranks are in the order of the names.
fn ranked<'n, R: Ord>(
    name: &str,
    names: impl IntoIterator<Item = &'n str>,
    limit: usize,
    rank: impl Fn(&str, &str) -> Option<R>,
) -> Vec<&'n str> {
    let name = head(name).to_lowercase();
    let rank = |candidate: &'n str| Some((rank(&name, &head(candidate).to_lowercase())?, candidate));
    let mut ranked: Vec<_> = names.into_iter().filter_map(rank).collect();
    ranked.sort_unstable();
    ranked.truncate(limit);
    ranked.into_iter().map(|(_, candidate)| candidate).collect()
}

fn head(name: &str) -> &str {
    name.char_indices().nth(COMPARED).map_or(name, |(end, _)| &name[..end])
}
