//! Compares messages with those of a transcript, which may have placeholders.
//!
//! `"<any>"` matches any value, `"<maybe>"` an optional member, `"<absent>"` a member that must be
//! missing, `"<has:text>"` a string that contains the text. `"<save:name>"` matches any value, which
//! replaces `<put:name>` in later sent lines. A member or last element `"<rest>"` allows further
//! members or elements.

use std::collections::HashMap;

use serde_json::Value;

/// The path and the reason of the first difference.
pub fn difference(expected: &Value, actual: &Value) -> Option<String> {
    differ(expected, actual, "$")
}

fn differ(expected: &Value, actual: &Value, path: &str) -> Option<String> {
    match (expected, actual) {
        (Value::String(pattern), _) if pattern == "<any>" || pattern == "<maybe>" || name(pattern).is_some() => None,
        (Value::String(pattern), _) if pattern == "<absent>" => Some(format!("{path} must be absent")),
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
            extra.filter(|_| closed).map(|name| format!("{path}.{name} is unexpected"))
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

/// The name in `<save:name>`.
fn name(pattern: &str) -> Option<&str> {
    pattern.strip_prefix("<save:")?.strip_suffix('>')
}

/// Saves the values of `<save:name>` in a matching message.
pub fn save(expected: &Value, actual: &Value, saved: &mut HashMap<String, Value>) {
    match (expected, actual) {
        (Value::String(pattern), _) => saved.extend(name(pattern).map(|name| (name.to_owned(), actual.clone()))),
        (Value::Object(expected), Value::Object(actual)) => {
            let both = expected.iter().filter_map(|(name, expected)| Some((expected, actual.get(name)?)));
            both.for_each(|(expected, actual)| save(expected, actual, saved));
        }
        (Value::Array(expected), Value::Array(actual)) => {
            expected.iter().zip(actual).for_each(|(expected, actual)| save(expected, actual, saved));
        }
        _ => {}
    }
}

/// The line with each `<put:name>` replaced by the saved value: a string without its quotes, any other
/// value as JSON.
pub fn put(line: &str, saved: &HashMap<String, Value>) -> String {
    saved.iter().fold(line.to_owned(), |line, (name, value)| {
        let json = value.to_string();
        let text = if value.is_string() { &json[1..json.len() - 1] } else { &json };
        line.replace(&format!("<put:{name}>"), text)
    })
}

#[test]
fn placeholders_match_as_documented() {
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
    assert!(same(json!({"a": "<save:x>"}), json!({"a": [1]})));
    assert!(!same(json!({"a": "<save:x>"}), json!({})));
}

#[test]
fn saved_values_replace_placeholders() {
    use serde_json::json;
    let mut saved = HashMap::new();
    save(&json!([{"a": "<save:text>"}, "<save:list>"]), &json!([{"a": "x\"y"}, [1]]), &mut saved);
    assert_eq!(put(r#"["-<put:text>-",<put:list>]"#, &saved), r#"["-x\"y-",[1]]"#);
}
