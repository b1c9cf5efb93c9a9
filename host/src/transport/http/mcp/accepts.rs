//! The response types that a client accepts, by its `Accept` header.

use http::header::{ACCEPT, HeaderMap};

/// The accepted response types.
#[derive(Clone, Copy, Debug)]
pub(super) struct Accepts {
    pub(super) json: bool,
    pub(super) events: bool,
}

impl Accepts {
    /// Without the header, anything. The most specific media range counts, and a weight of zero
    /// excludes the type (RFC 9110, section 12.5.1); other weights are ignored.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let (mut json, mut events) = (None, None);
        let mut values = headers.get_all(ACCEPT).iter().peekable();
        if values.peek().is_none() {
            return Self { json: true, events: true };
        }
        for range in values.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(',')) {
            let mut parts = range.split(';').map(str::trim);
            let kind = parts.next().unwrap_or_default();
            let wanted = !parts.any(is_zero_weight);
            let rank = |kinds: [&str; 3]| kinds.iter().position(|known| known.eq_ignore_ascii_case(kind));
            for (best, kinds) in [
                (&mut json, ["*/*", "application/*", "application/json"]),
                (&mut events, ["*/*", "text/*", "text/event-stream"]),
            ] {
                *best = (*best).max(rank(kinds).map(|rank| (rank, wanted)));
            }
        }
        let is_wanted = |best: Option<(usize, bool)>| best.is_some_and(|(_, wanted)| wanted);
        Self { json: is_wanted(json), events: is_wanted(events) }
    }
}

/// Whether a parameter of a media range is `q=0`, in one of its spellings.
fn is_zero_weight(parameter: &str) -> bool {
    let Some((name, value)) = parameter.split_once('=') else { return false };
    let value = value.trim();
    name.trim().eq_ignore_ascii_case("q")
        && value.starts_with('0')
        && value.bytes().all(|byte| matches!(byte, b'0' | b'.'))
}
