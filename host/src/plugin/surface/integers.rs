//! `3.0` for an integer is passed to the guest as `3`.
//!
//! For JSON Schema both are integers, and clients whose numbers are all doubles (function calls of Gemini,
//! which are Protocol Buffers) send the first. Types of guests, `i64` of Rust's serde for one, take only the
//! second.

use std::sync::Arc;

use serde_json::{Number, Value};

use crate::json;

/// Longer arguments are passed as they were sent: this runs on a thread that serves others.
const MAX_BYTES: usize = 64 << 10;
/// Subschemas that are looked at for one set of arguments.
const VISITS: usize = 4096;
/// Integers up to here are exact as doubles.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Whether a schema of arguments has integers.
#[derive(Debug)]
pub(super) struct Integers(bool);

impl Integers {
    pub(super) fn of(schema: &Value) -> Self {
        Self(json::canonical(schema).contains("\"integer\""))
    }

    /// The text of an object of arguments with this schema, with integers as digits.
    pub(super) fn as_digits(&self, arguments: Arc<str>, schema: &Value) -> Arc<str> {
        let may_have = || arguments.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E'));
        if !self.0 || arguments.len() > MAX_BYTES || !may_have() {
            return arguments;
        }
        // What cannot be read is refused by the check of the arguments.
        let Ok(mut tree) = json::tree(&arguments, json::MAX_DEPTH) else { return arguments };
        let mut walk = Walk { root: schema, visits: VISITS, changed: false };
        walk.value(&mut tree, schema);
        if walk.changed { json::canonical(&tree).into() } else { arguments }
    }
}

struct Walk<'a> {
    root: &'a Value,
    visits: usize,
    changed: bool,
}

impl<'a> Walk<'a> {
    fn value(&mut self, value: &mut Value, schema: &'a Value) {
        let Some(left) = self.visits.checked_sub(1) else { return };
        self.visits = left;
        if let Value::Number(number) = value {
            if self.is_integer(schema)
                && let Some(digits) = digits(number)
            {
                *number = digits;
                self.changed = true;
            }
            return;
        }
        if let Some(target) = self.target(schema) {
            return self.value(value, target);
        }
        for branch in branches(schema) {
            self.value(value, branch);
        }
        match value {
            Value::Object(members) => {
                for (name, member) in members {
                    let own = schema.get("properties").and_then(|properties| properties.get(name));
                    if let Some(schema) = own.or(schema.get("additionalProperties")) {
                        self.value(member, schema);
                    }
                }
            }
            Value::Array(items) => {
                let first = schema.get("prefixItems").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
                for (at, item) in items.iter_mut().enumerate() {
                    if let Some(schema) = first.get(at).or(schema.get("items")) {
                        self.value(item, schema);
                    }
                }
            }
            _ => {}
        }
    }

    /// Whether all numbers that a schema allows are integers.
    fn is_integer(&mut self, schema: &'a Value) -> bool {
        let Some(left) = self.visits.checked_sub(1) else { return false };
        self.visits = left;
        if let Some(target) = self.target(schema) {
            return self.is_integer(target);
        }
        match schema.get("type") {
            Some(Value::String(name)) => name == "integer",
            Some(Value::Array(names)) => {
                names.iter().any(|it| it == "integer") && names.iter().all(|it| it != "number")
            }
            _ => {
                let mut numbers = branches(schema).filter(|branch| !is_of_others(branch)).peekable();
                numbers.peek().is_some() && numbers.all(|branch| self.is_integer(branch))
            }
        }
    }

    fn target(&self, schema: &Value) -> Option<&'a Value> {
        self.root.pointer(schema.get("$ref")?.as_str()?.strip_prefix('#')?)
    }
}

fn branches(schema: &Value) -> impl Iterator<Item = &Value> {
    ["anyOf", "oneOf"].into_iter().filter_map(|keyword| schema.get(keyword)?.as_array()).flatten()
}

/// Whether a schema names a type without numbers.
fn is_of_others(schema: &Value) -> bool {
    schema.get("type").and_then(Value::as_str).is_some_and(|name| !["integer", "number"].contains(&name))
}

/// The number in digits, if it is an integer that is written otherwise.
fn digits(number: &Number) -> Option<Number> {
    let value = number.as_f64().filter(|value| value.fract() == 0.0 && value.abs() <= EXACT)?;
    let is_digits = number.as_str().bytes().all(|byte| byte == b'-' || byte.is_ascii_digit());
    // The sum of both zeros is the positive one.
    if is_digits { None } else { json::number(value + 0.0) }
}

#[cfg(test)]
mod tests {
    use super::Integers;
    use crate::json;

    const SCHEMA: &str = r##"{
        "type": "object",
        "properties": {
            "count": { "type": "integer" },
            "maybe": { "anyOf": [{ "$ref": "#/$defs/id" }, { "type": "null" }] },
            "both": { "type": ["integer", "null"] },
            "ratio": { "type": "number" },
            "either": { "anyOf": [{ "type": "integer" }, { "type": "number" }] },
            "any": {},
            "ids": { "type": "array", "items": { "$ref": "#/$defs/id" } },
            "pair": { "prefixItems": [{ "type": "string" }, { "type": "integer" }] },
            "inner": { "type": "object", "additionalProperties": { "type": "integer" } },
            "tree": { "$ref": "#/$defs/tree" }
        },
        "$defs": {
            "id": { "type": "integer" },
            "tree": { "properties": { "n": { "type": "integer" }, "next": { "$ref": "#/$defs/tree" } } }
        }
    }"##;

    fn taken(given: &str) -> String {
        let schema = json::tree(SCHEMA, json::MAX_DEPTH).expect("JSON");
        Integers::of(&schema).as_digits(given.into(), &schema).to_string()
    }

    #[test]
    fn integers_are_digits() {
        for (given, expected) in [
            (r#"{"count":3.0}"#, r#"{"count":3}"#),
            (r#"{"count": -0.0, "ratio": 3.0}"#, r#"{"count":0,"ratio":3.0}"#),
            (r#"{"count":1e3,"maybe":2.0,"both":4.0}"#, r#"{"count":1000,"maybe":2,"both":4}"#),
            (
                r#"{"ids":[1.0,2],"pair":["a",1.0],"inner":{"a":5.0}}"#,
                r#"{"ids":[1,2],"pair":["a",1],"inner":{"a":5}}"#,
            ),
            (r#"{"tree":{"n":1.0,"next":{"n":2.0}}}"#, r#"{"tree":{"n":1,"next":{"n":2}}}"#),
        ] {
            assert_eq!(taken(given), expected);
        }
    }

    #[test]
    fn everything_else_is_as_it_was_sent() {
        for given in [
            r#"{"count": 3}"#,
            r#"{"count": 3.5, "either": 1.0, "any": 2.0}"#,
            r#"{"count":1e400,"ids":[9007199254740993.0e3]}"#,
            r#"{"count":"3.0"}"#,
            r#"{"count":3.0"#,
        ] {
            assert_eq!(taken(given), given);
        }
        let long = format!(r#"{{"count":3.0,"any":"{}"}}"#, "x".repeat(super::MAX_BYTES));
        assert_eq!(taken(&long), long);
    }
}
