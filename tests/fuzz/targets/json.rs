//! The JSON check accepts what `serde_json` accepts, and written JSON round-trips.

use serde_json::Value;
use wharf::json;

use super::{JSON_WORDS, MESSAGES, Target, bytes};

pub(super) fn target() -> Target {
    Target { name: "json", seeds: bytes(MESSAGES), words: JSON_WORDS.to_vec(), run }
}

fn run(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let quoted = json::quote(&text);
    assert_eq!(serde_json::from_str::<String>(&quoted).ok().as_deref(), Some(&*text), "a string round-trips");
    assert!(!quoted.contains(['\n', '\r']));
    let checked = json::check(&text, json::MAX_DEPTH);
    // Ambiguous texts, which serde_json accepts, are covered by the target `tree`.
    if checked.is_err_and(|error| error.is_ambiguous()) {
        return;
    }
    let parsed = serde_json::from_str::<Value>(&text);
    assert_eq!(checked.is_ok(), parsed.is_ok(), "{checked:?}, but {parsed:?}");
    let Ok(value) = parsed else { return };
    let line = json::single_line(&text);
    assert!(!line.contains(['\n', '\r']));
    assert_eq!(serde_json::from_str::<Value>(&line).ok(), Some(value), "equal on one line");
    let depth = depth(&text);
    assert!(json::check(&text, depth).is_ok(), "{depth} levels are enough");
    assert!(depth == 0 || json::check(&text, depth - 1).is_err(), "{depth} levels are needed");
}

/// Nesting depth of brackets outside strings, for valid JSON.
fn depth(text: &str) -> usize {
    let (mut depth, mut deepest, mut string, mut escaped) = (0usize, 0, false, false);
    for c in text.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = string,
            '"' => string = !string,
            '{' | '[' if !string => depth += 1,
            '}' | ']' if !string => depth -= 1,
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}
