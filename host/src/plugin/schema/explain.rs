//! Why a value is wrong, in the words of the schema that clients are shown: they do not see the constants, branches
//! and nulls that are written for validators.

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind;
use serde_json::{Value, json};
use wharf_report::did_you_mean;

use super::MAX_REASON;
use crate::text::quote;

/// Subschemas that are looked at for one explanation.
const VISITS: usize = 64;
/// Constants of one explanation; with more, it would leave some out.
const MAX_VALUES: usize = 64;
/// Members of a value that are compared with the name of a missing one.
const MEMBERS: usize = 32;
/// Bytes of one constant or name.
const MAX_SHOWN: usize = 60;

/// What is wrong, and the part of the schema that says so.
pub(super) struct Explanation {
    pub(super) reason: String,
    /// `None`: the violated part itself.
    pub(super) expected: Option<Value>,
}

impl Explanation {
    /// `place` is the pointer to the violated keyword; `None`: the validator's own text is better.
    pub(super) fn of(error: &ValidationError<'_>, root: &Value, place: &str) -> Option<Self> {
        let (parent, keyword) = place.rsplit_once('/')?;
        let schema = root.pointer(parent)?;
        match (error.kind(), keyword) {
            (ValidationErrorKind::Required { property }, _) => misnamed(property.as_str()?, error.instance(), schema),
            (ValidationErrorKind::OneOfMultipleValid { .. }, _) => None,
            (_, "oneOf" | "anyOf") => {
                let branches = schema[keyword].as_array()?;
                constants(branches, root, is_optional(root, parent))
                    .map(|values| of_values(&values))
                    .or_else(|| of_cases(branches, error.instance(), root))
            }
            (_, "type") if is_optional(root, parent) => without_null(&schema["type"]),
            _ => None,
        }
    }
}

/// Whether the subschema is of a property that need not be given.
fn is_optional(root: &Value, place: &str) -> bool {
    let Some((above, name)) = place.rsplit_once("/properties/").filter(|(_, name)| !name.contains('/')) else {
        return false;
    };
    let name = name.replace("~1", "/").replace("~0", "~");
    let required = root.pointer(above).and_then(|object| object["required"].as_array());
    required.is_none_or(|names| names.iter().all(|required| *required != name))
}

/// A property is missing, and the value has another one of nearly the same name.
fn misnamed(missing: &str, value: &Value, schema: &Value) -> Option<Explanation> {
    let unknown = |name: &&String| schema["properties"].get(name.as_str()).is_none();
    let names = value.as_object()?.keys().filter(unknown).take(MEMBERS).map(String::as_str);
    let given = did_you_mean(missing, names)?;
    let shown = |name: &str| Value::from(quote(name, MAX_SHOWN)).to_string();
    let (missing, given) = (shown(missing), shown(given));
    let reason = format!("{missing} is a required property; did you mean {missing} for {given}?");
    Some(Explanation { reason, expected: None })
}

fn without_null(kinds: &Value) -> Option<Explanation> {
    let kinds = kinds.as_array().filter(|kinds| kinds.contains(&Value::from("null")))?;
    let named: Vec<&Value> = kinds.iter().filter(|kind| **kind != "null").collect();
    let (reason, expected) = match named.as_slice() {
        [] => return None,
        [kind] => (format!("value is not of type {kind}"), json!({ "type": kind })),
        kinds => (format!("value is not of types {}", list(kinds.iter().copied())), json!({ "type": kinds })),
    };
    Some(Explanation { reason, expected: Some(expected) })
}

fn of_values(values: &[Value]) -> Explanation {
    Explanation {
        reason: format!("value is not one of {}", list(values.iter())),
        expected: Some(json!({ "enum": values })),
    }
}

/// As many as there is room for.
fn list<'v>(values: impl ExactSizeIterator<Item = &'v Value>) -> String {
    let mut text = String::new();
    let count = values.len();
    for (at, value) in values.enumerate() {
        let value = quote(&value.to_string(), MAX_SHOWN);
        if text.len() + value.len() > MAX_REASON - MAX_SHOWN {
            return format!("{text} and {} more", count - at);
        }
        text += if at == 0 { "" } else { ", " };
        text += &value;
    }
    text
}

/// The constants of all branches; `None` if one is something else.
fn constants(branches: &[Value], root: &Value, is_optional: bool) -> Option<Vec<Value>> {
    let mut values = Vec::new();
    let mut visits = VISITS;
    branches.iter().try_for_each(|branch| add_constants(branch, root, &mut visits, &mut values))?;
    if is_optional {
        values.retain(|value| !value.is_null());
    }
    (!values.is_empty()).then_some(values)
}

fn add_constants(schema: &Value, root: &Value, visits: &mut usize, values: &mut Vec<Value>) -> Option<()> {
    *visits = visits.checked_sub(1)?;
    let schema = resolved(schema, root);
    if let Some(value) = schema.get("const") {
        values.push(value.clone());
    } else if let Some(more) = schema["enum"].as_array() {
        values.extend(more.iter().take(MAX_VALUES + 1).cloned());
    } else if schema["type"] == "null" {
        values.push(Value::Null);
    } else {
        let branches = schema["oneOf"].as_array().or_else(|| schema["anyOf"].as_array())?;
        branches.iter().try_for_each(|branch| add_constants(branch, root, visits, values))?;
    }
    (values.len() <= MAX_VALUES).then_some(())
}

/// The cases of a variant, as they are written: `{"tag":"square"}`. For a value that is only the name of a case, that
/// case. `None` if the value has the form of a case: something in it is wrong.
fn of_cases(branches: &[Value], value: &Value, root: &Value) -> Option<Explanation> {
    let mut cases = Vec::new();
    for branch in branches.iter().take(VISITS) {
        let branch = resolved(branch, root);
        if branch["type"] == "null" {
            continue;
        }
        let name = branch["properties"]["tag"]["const"].as_str()?;
        let holds = branch["properties"].get("val").is_some();
        let tag = Value::from(quote(name, MAX_SHOWN));
        let form = if holds { format!("{{\"tag\":{tag},\"val\":…}}") } else { format!("{{\"tag\":{tag}}}") };
        if value["tag"] == name && value.get("val").is_some() == holds {
            return None;
        }
        if *value == name || value["tag"] == name {
            return Some(Explanation { reason: format!("value is not of the form {form}"), expected: None });
        }
        cases.push(form);
    }
    let mut forms = String::new();
    for (at, case) in cases.iter().enumerate() {
        if forms.len() + case.len() > MAX_REASON - MAX_SHOWN {
            forms += &format!(" and {} more", cases.len() - at);
            break;
        }
        forms += if at == 0 { "" } else { ", " };
        forms += case;
    }
    let reason = format!("value is not of one of the forms {forms}");
    (!cases.is_empty()).then_some(Explanation { reason, expected: None })
}

/// The definition that a reference leads to, or the schema itself.
fn resolved<'v>(schema: &'v Value, root: &'v Value) -> &'v Value {
    let pointer = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
    pointer.and_then(|pointer| root.pointer(pointer)).unwrap_or(schema)
}
