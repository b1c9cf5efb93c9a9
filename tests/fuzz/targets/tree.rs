//! A JSON tree has exactly the names and digits of its text, and texts that `serde_json` would read
//! differently are refused. The text is compared by an independent walk.

use std::collections::HashSet;

use serde_json::Value;
use serde_json::value::RawValue;
use wharf::json::{self, Kind, MAX_DEPTH, MAX_EXPONENT, MAX_NUMBER, Seen};

use super::{JSON_WORDS, MESSAGES, Target, bytes};

pub(super) fn target() -> Target {
    let mut words = vec![
        "\"$serde_json::private::RawValue\":",
        "\"$serde_json::private::Number\":",
        "\"$serde_json::private::RawValue\":\"{\\\"a\\\":[]}\"",
        "\\u0024serde_json::",
        "\\u005f",
        "\"a\":1",
        "\"\\u0061\":1",
        "\"\":{}",
        "\"b\":[",
        "e99",
        "0000000000000000",
        "-0.0",
    ];
    words.extend(JSON_WORDS);
    Target { name: "tree", seeds: bytes(MESSAGES), words, run }
}

fn run(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let checked = json::check(&text, MAX_DEPTH);
    let tree = json::tree(&text, MAX_DEPTH);
    assert_eq!(checked.is_ok(), tree.is_ok(), "{checked:?}, but {tree:?}");
    let raw = serde_json::from_str::<&RawValue>(text.trim());
    match (checked, tree) {
        (Ok(seen), Ok(tree)) => {
            let raw = raw.expect("it was checked");
            assert!(!is_ambiguous(raw, 0), "accepted: {text}");
            let mut counted = Seen::default();
            same(raw, &tree, 0, &mut counted);
            assert_eq!(seen, counted, "{text}");
            let canonical = json::canonical(&tree);
            assert_eq!(json::tree(&canonical, MAX_DEPTH).as_ref(), Ok(&tree), "{canonical}");
            assert_eq!(json::canonical(&tree), json::canonical(&json::tree(&canonical, MAX_DEPTH).expect("as before")));
        }
        (Err(error), _) if error.is_ambiguous() => {
            // The rest of the text may be invalid JSON.
            assert!(raw.is_err() || is_ambiguous(raw.expect("JSON"), 0), "{error} in {text}");
        }
        _ => assert!(serde_json::from_str::<Value>(&text).is_err(), "refused: {text}"),
    }
}

/// Compares the tree with the text, and counts the items of the text.
fn same(raw: &RawValue, tree: &Value, depth: usize, seen: &mut Seen) {
    seen.values += 1;
    seen.depth = seen.depth.max(depth);
    match (Kind::of(raw), tree) {
        (Kind::Object, Value::Object(members)) => {
            seen.depth = seen.depth.max(depth + 1);
            let entries = json::entries(raw.get()).expect("an object");
            assert_eq!(entries.len(), members.len());
            seen.members += entries.len();
            for (name, value) in entries {
                same(value, &members[&*name], depth + 1, seen);
            }
        }
        (Kind::Array, Value::Array(items)) => {
            seen.depth = seen.depth.max(depth + 1);
            let elements = json::items(raw.get(), usize::MAX).expect("an array").first;
            assert_eq!(elements.len(), items.len());
            elements.iter().zip(items).for_each(|(raw, item)| same(raw, item, depth + 1, seen));
        }
        (Kind::String, Value::String(text)) => assert_eq!(json::string(raw).as_deref(), Some(&**text)),
        // Equal except for the sign and letter of the exponent.
        (Kind::Number, Value::Number(number)) => {
            let spelt = |number: &str| number.replace('E', "e").replace("e+", "e");
            assert_eq!(spelt(raw.get()), spelt(&number.to_string()));
        }
        (Kind::Bool, Value::Bool(truth)) => assert_eq!(raw.get(), truth.to_string()),
        (Kind::Null, Value::Null) => {}
        (kind, other) => panic!("{kind:?} became {other}"),
    }
}

/// Whether parsers may read valid JSON differently; true if it is too deep.
fn is_ambiguous(raw: &RawValue, depth: usize) -> bool {
    if depth > MAX_DEPTH {
        return true;
    }
    match Kind::of(raw) {
        Kind::Object => {
            // An invalid name is an error of another kind.
            let Ok(entries) = json::entries(raw.get()) else { return true };
            let mut names = HashSet::new();
            entries.iter().any(|(name, value)| {
                !names.insert(&**name) || name.starts_with("$serde_json::") || is_ambiguous(value, depth + 1)
            })
        }
        Kind::Array => {
            let items = json::items(raw.get(), usize::MAX);
            items.is_none_or(|items| items.first.iter().any(|item| is_ambiguous(item, depth + 1)))
        }
        Kind::Number => {
            let (digits, exponent) = raw.get().split_once(['e', 'E']).unwrap_or((raw.get(), "+0"));
            // The canonical text has a sign.
            let unsigned = !exponent.starts_with(['+', '-']);
            let exponent = exponent.trim_start_matches(['+', '-']).trim_start_matches('0');
            let large = exponent.len() > 9 || exponent.parse::<u32>().unwrap_or(0) > MAX_EXPONENT;
            raw.get().len() + usize::from(unsigned) > MAX_NUMBER
                || (large && digits.contains(|digit| matches!(digit, '1'..='9')))
        }
        _ => false,
    }
}
