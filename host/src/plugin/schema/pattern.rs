//! The cost of a pattern: bytes when it is compiled, steps when it is matched.
//!
//! Matches nothing. The `regex` engine takes time in proportion to the text's bytes times the
//! pattern's NFA states, unless its lazy DFA's cache can hold all DFA states; then it takes one
//! table lookup per byte.

use std::collections::HashSet;

use regex_automata::Anchored;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson::{Compiler, Config, NFA, WhichCaptures};
use regex_automata::util::{start, syntax};

/// Maximum bytes of one compiled pattern, as the engine counts them.
pub(in crate::plugin) const MAX_SIZE: usize = 1 << 20;
/// Bytes of the lazy DFA's cache of one pattern, for each thread and each of its two directions.
pub(in crate::plugin) const DFA_CACHE: usize = 128 << 10;
/// Copies of the pattern in the engine: forward and reverse automata, the parsed form.
const COPIES: usize = 4;
/// Maximum NFA states of a pattern whose DFA is explored, which takes time.
const MAX_EXPLORED: usize = 512;
/// Maximum states of a small DFA.
const MAX_SMALL: usize = 256;
/// Steps per byte and state: each byte may be read twice.
const STEPS: u64 = 2;

/// The cost of one pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::plugin) struct PatternCost {
    /// Bytes when compiled.
    pub(in crate::plugin) bytes: usize,
    states: u64,
    /// Maximum bytes of a match, if it is anchored at the start: after those it has failed.
    longest: Option<u64>,
    /// Whether the DFA is small: the time per byte does not depend on the states.
    is_table: bool,
}

impl PatternCost {
    /// Measures a pattern of a schema.
    ///
    /// # Errors
    /// Why it is invalid, or too large: a fragment for people.
    pub(in crate::plugin) fn of_schema(pattern: &str, limit: usize) -> Result<Self, String> {
        // The translation to Rust's syntax copies the pattern once for each class in it.
        const MAX_LENGTH: usize = 8 << 10;
        if pattern.len() > MAX_LENGTH {
            return Err(format!("a pattern of more than {MAX_LENGTH} bytes"));
        }
        let shown = || crate::text::quote(pattern, 120);
        let pattern =
            jsonschema_regex::to_rust_regex(pattern).map_err(|()| format!("not a valid pattern: {}", shown()))?;
        Self::of(&pattern, limit).map_err(|why| format!("{why}: {}", shown()))
    }

    /// Measures a pattern in the engine's syntax, of at most `limit` bytes.
    ///
    /// # Errors
    /// If it is invalid or too large.
    pub(in crate::plugin) fn of(pattern: &str, limit: usize) -> Result<Self, &'static str> {
        let parsed = syntax::parse(pattern).map_err(|_| "a pattern that cannot be matched in linear time")?;
        let compiled = |reverse: bool| {
            let size = MAX_SIZE.min(limit / COPIES);
            let config = Config::new().which_captures(WhichCaptures::None).reverse(reverse).nfa_size_limit(Some(size));
            Compiler::new().configure(config).build_from_hir(&parsed).map_err(|_| "a pattern that is too large")
        };
        let (forward, backward) = (compiled(false)?, compiled(true)?);
        let anchored = forward.is_always_start_anchored();
        let longest = parsed.properties().maximum_len().filter(|_| anchored).map(|longest| longest as u64);
        let bytes = forward.memory_usage().max(backward.memory_usage()) * COPIES;
        let states = forward.states().len().max(backward.states().len());
        let is_table = states <= MAX_EXPLORED && is_small(forward) && is_small(backward);
        Ok(Self { bytes, states: states as u64, longest, is_table })
    }

    /// The number of states in which each byte is looked up; 0 for a small DFA.
    pub(in crate::plugin) fn slow_states(&self) -> u64 {
        if self.is_table { 0 } else { self.states }
    }

    /// Steps for searching a text of that many bytes.
    pub(in crate::plugin) fn steps(&self, bytes: usize) -> u64 {
        let bytes = bytes as u64;
        if self.is_table {
            return 4 + bytes / 4;
        }
        // And the character that fails, of up to four bytes.
        let read = self.longest.map_or(bytes, |longest| bytes.min(longest + 4));
        (read + 1).saturating_mul(self.states * STEPS)
    }
}

/// Whether the full DFA is small, and is built without clearing the cache.
fn is_small(nfa: NFA) -> bool {
    let config = DFA::config().cache_capacity(DFA_CACHE).skip_cache_capacity_check(false);
    // Fails for patterns that only the slower engines support, such as Unicode word boundaries.
    let Ok(automaton) = DFA::builder().configure(config).build_from_nfa(nfa) else { return false };
    let mut cache = automaton.create_cache();
    all_states(&automaton, &mut cache).is_some_and(|states| states <= MAX_SMALL && cache.clear_count() == 0)
}

/// The number of DFA states; `None` if there are too many, or the DFA quits in one.
fn all_states(automaton: &DFA, cache: &mut Cache) -> Option<usize> {
    let (mut seen, mut open) = (HashSet::new(), Vec::new());
    for anchored in [Anchored::No, Anchored::Yes] {
        for before in [None, Some(b'a'), Some(b' '), Some(b'\n'), Some(b'\r')] {
            let config = start::Config::new().anchored(anchored).look_behind(before);
            let state = automaton.start_state(cache, &config).ok()?;
            if seen.insert(state) {
                open.push(state);
            }
        }
    }
    let bytes: Vec<u8> = automaton.byte_classes().representatives(0..=255).filter_map(|unit| unit.as_u8()).collect();
    while let Some(state) = open.pop() {
        let mut next: Vec<_> = Vec::with_capacity(bytes.len() + 1);
        for byte in &bytes {
            next.push(automaton.next_state(cache, state, *byte).ok()?);
        }
        next.push(automaton.next_eoi_state(cache, state).ok()?);
        for state in next {
            if seen.insert(state) && !state.is_dead() {
                open.push(state);
            }
        }
        if seen.len() > MAX_SMALL || cache.clear_count() > 0 {
            return None;
        }
    }
    Some(seen.len())
}

#[cfg(test)]
mod tests;
