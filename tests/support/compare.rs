//! Whether a message is the one that a transcript expects.
//! It knows JSON and the transcripts' few placeholders, nothing of MCP.
//!
//! `"<any>"` stands for anything, as a member's value for a member that must be there;
//! `"<maybe>"` for a member that may be there; `"<absent>"` for one that must not;
//! `"<has:text>"` for a string that contains the text. A member `"<rest>"` allows members,
//! and a last element `"<rest>"` allows elements, that are not named.

use serde_json::Value;

/// The path and the reason of the first difference.
pub fn difference(expected: &Value, actual: &Value) -> Option<String> {
    differ(expected, actual, "$")
}

fn differ(expected: &Value, actual: &Value, path: &str) -> Option<String> {
    match (expected, actual) {
        (Value::String(pattern), _) if pattern == "<any>" || pattern == "<maybe>" => None,
        (Value::String(pattern), _) if pattern == "<absent>" => Some(format!("{path} must not be there")),
        (Value::String(pattern), Value::String(text)) if pattern.starts_with("<has:") => {
            let part = &pattern["<has:".len()..pattern.len() - 1];
            (!text.contains(part)).then(|| format!("{path} is {text:?}, without {part:?}"))
        }
        (Value::Object(expected), Value::Object(actual)) => {
            for (name, value) in expected.iter().filter(|(name, _)| *name != "<rest>") {
                let below = format!("{path}.{name}");
                let found = match actual.get(name) {
                    Some(actual) => differ(value, actual, &below),
                    None if value == "<maybe>" || value == "<absent>" => None,
                    None => Some(format!("{below} is missing")),
                };
                if found.is_some() {
                    return found;
                }
            }
            let closed = !expected.contains_key("<rest>");
            let extra = actual.keys().find(|name| !expected.contains_key(*name));
            extra.filter(|_| closed).map(|name| format!("{path}.{name} is one too many"))
        }
        (Value::Array(expected), Value::Array(actual)) => {
            let open = expected.last().is_some_and(|last| last == "<rest>");
            let named = expected.len() - usize::from(open);
            if actual.len() < named || (actual.len() > named && !open) {
                return Some(format!("{path} has {} elements, not {named}", actual.len()));
            }
            let pairs = expected[..named].iter().zip(actual).enumerate();
            pairs.into_iter().find_map(|(i, (e, a))| differ(e, a, &format!("{path}[{i}]")))
        }
        _ => (expected != actual).then(|| format!("{path} is {actual}, not {expected}")),
    }
}

#[test]
fn placeholders_mean_what_they_say() {
    use serde_json::json;
    let same = |expected: Value, actual: Value| difference(&expected, &actual).is_none();
    assert!(same(json!({"a": "<any>"}), json!({"a": null})));
    assert!(!same(json!({"a": "<any>"}), json!({})));
    assert!(same(json!({"a": "<maybe>"}), json!({})));
    assert!(!same(json!({"a": "<absent>"}), json!({"a": 1})));
    assert!(!same(json!({}), json!({"a": 1})));
    assert!(same(json!({"<rest>": 0}), json!({"a": 1})));
    assert!(same(json!([1, "<rest>"]), json!([1, 2, 3])));
    assert!(!same(json!([1]), json!([1, 2])));
    assert!(same(json!("<has:b>"), json!("abc")));
    assert!(!same(json!("<has:d>"), json!("abc")));
    assert!(!same(json!(1), json!("1")));
}
