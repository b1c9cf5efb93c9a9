//! The schemas that clients are shown: equivalent to, or a little narrower or wider than, the ones
//! that are checked, in the shapes that agent libraries can read.
//!
//! | shape of a compiler or SDK | shown as | because of |
//! |---|---|---|
//! | an optional property that may be null | without null | Semantic Kernel, AutoGen, DSPy, LangChain for Gemini |
//! | `type` with several names | `anyOf` | the same |
//! | an object without `properties` | `"properties":{}` | smolagents |
//! | `additionalProperties` that is a boolean | left out | google-genai |
//! | `oneOf` of constants | `enum`, the descriptions as lines of its own | google-genai, LiteLLM, AI SDK for Gemini |
//! | `const` of a string | `enum` of one | Gemini |
//! | any other `oneOf` | `anyOf` | AI SDK for Gemini; branches overlap without `additionalProperties` |
//! | a schema whose type follows from its keywords | with `type` | Gemini, Vertex AI, strict mode of OpenAI |
//! | a schema of any value | `anyOf` of the types but null | AutoGen, Gemini CLI, Vertex AI, strict mode of OpenAI |
//!
//! Clients validate results by an output schema, so it is only written differently or widened. A schema with references
//! into its parts or keywords that depend on others is shown as it is: rewritten it would mean something else. The
//! `$schema` of draft 2020-12 is left out: it is the default of MCP, and validators of older drafts refuse its name.

use serde_json::{Map, Value, json};

/// Keywords whose value is a schema that applies to a part of an accepted value. Within `not` and
/// `if`, a wider schema would be a narrower one outside.
const SCHEMA: [&str; 5] = ["items", "additionalProperties", "then", "else", "unevaluatedProperties"];
/// Keywords whose value is an array of such schemas.
const SCHEMAS: [&str; 5] = ["allOf", "anyOf", "oneOf", "prefixItems", "items"];
/// Keywords whose value is an object of such schemas.
const NAMED: [&str; 4] = ["$defs", "definitions", "properties", "patternProperties"];
/// Keywords that do not validate.
const ANNOTATIONS: [&str; 7] = ["title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"];

/// The draft of a schema that names none.
const DEFAULT_DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";

/// The types of any value; beside them are arrays of these.
const ANY: [&str; 4] = ["string", "number", "boolean", "object"];

/// In which shape clients are shown schemas.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SchemaStyle {
    /// In shapes that agent libraries can read.
    #[default]
    Compatible,
    /// As the plugin wrote them.
    Verbatim,
}

impl SchemaStyle {
    /// The arguments' schema of a tool, as clients are shown it.
    pub(super) fn input(self, schema: &Value) -> Value {
        self.shown(schema, Use::Input)
    }

    /// The schema of a tool's structured content, as clients are shown it.
    pub(super) fn output(self, schema: &Value) -> Value {
        self.shown(schema, Use::Output)
    }

    fn shown(self, schema: &Value, what_for: Use) -> Value {
        let mut shown = schema.clone();
        if self == Self::Compatible && can_rewrite(schema, false) {
            if let Value::Object(members) = &mut shown {
                let is_default = |name: &str| name.trim_end_matches('#') == DEFAULT_DRAFT;
                members.retain(|name, value| !(name == "$schema" && value.as_str().is_some_and(is_default)));
            }
            rewrite(&mut shown, what_for);
        }
        shown
    }
}

/// Whether a schema means the same after its parts are rewritten: no reference leads into a part that may change, and
/// no keyword depends on the keywords beside it. `negated`: it is within `not` or `if`, where a referenced schema must
/// stay as it is.
fn can_rewrite(schema: &Value, negated: bool) -> bool {
    match schema {
        Value::Object(members) => members.iter().all(|(name, value)| match (name.as_str(), value) {
            ("$ref", Value::String(reference)) => !negated && is_definition(reference),
            ("$id" | "$anchor" | "$dynamicAnchor" | "$dynamicRef", Value::String(_)) => false,
            ("unevaluatedProperties" | "unevaluatedItems", _) => false,
            (name, value) => can_rewrite(value, negated || matches!(name, "not" | "if")),
        }),
        Value::Array(parts) => parts.iter().all(|part| can_rewrite(part, negated)),
        _ => true,
    }
}

/// Whether a reference leads to the whole schema or to a definition, which keep their places.
fn is_definition(reference: &str) -> bool {
    let name = ["#/$defs/", "#/definitions/"].iter().find_map(|place| reference.strip_prefix(place));
    reference == "#" || name.is_some_and(|name| !name.contains('/'))
}

/// What a schema is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    /// Models write values by it: it may be narrower than what is accepted.
    Input,
    /// Clients validate values by it: it must accept all that the checked one does.
    Output,
}

/// The depth is that of the JSON text, which is bounded.
fn rewrite(schema: &mut Value, what_for: Use) {
    if what_for == Use::Input && *schema == Value::Bool(true) {
        *schema = json!({});
    }
    let Value::Object(members) = schema else { return };
    if what_for == Use::Input {
        optional_without_null(members);
        members.retain(|name, value| !(name == "additionalProperties" && value.is_boolean()));
    }
    for (name, value) in members.iter_mut() {
        match value {
            Value::Array(list) if SCHEMAS.contains(&name.as_str()) => {
                list.iter_mut().for_each(|part| rewrite(part, what_for));
            }
            Value::Object(named) if NAMED.contains(&name.as_str()) => {
                named.values_mut().for_each(|part| rewrite(part, what_for));
            }
            part if SCHEMA.contains(&name.as_str()) => rewrite(part, what_for),
            _ => {}
        }
    }
    constant(members);
    documented_enum(members);
    if !members.contains_key("anyOf")
        && let Some(branches) = members.remove("oneOf")
    {
        members.insert("anyOf".into(), branches);
    }
    // The type of a constant narrows nothing.
    if what_for == Use::Input || members.contains_key("enum") || members.contains_key("const") {
        typed(members);
    }
    if what_for == Use::Input && members.get("type").is_some_and(|name| name == "object") {
        members.entry("properties").or_insert_with(|| json!({}));
    }
    type_array(members);
}

/// Takes null from the properties that need not be there.
fn optional_without_null(members: &mut Map<String, Value>) {
    let required: Vec<String> = members
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect())
        .unwrap_or_default();
    let Some(Value::Object(properties)) = members.get_mut("properties") else { return };
    for (name, property) in properties {
        if let Value::Object(property) = property
            && !required.contains(name)
        {
            without_null(property);
        }
    }
}

fn without_null(property: &mut Map<String, Value>) {
    let is_null = |branch: &Value| {
        branch.get("type").is_some_and(|name| name == "null") || branch.get("const").is_some_and(Value::is_null)
    };
    let mut nullable = false;
    if let Some(Value::Array(names)) = property.get_mut("type")
        && names.len() > 1
    {
        let before = names.len();
        names.retain(|name| name != "null");
        nullable = names.len() < before;
        if let [name] = &names[..] {
            let name = name.clone();
            property.insert("type".into(), name);
        }
    }
    for keyword in ["anyOf", "oneOf"] {
        let Some(Value::Array(branches)) = property.get_mut(keyword) else { continue };
        if !branches.iter().any(is_null) || branches.iter().all(is_null) {
            continue;
        }
        branches.retain(|branch| !is_null(branch));
        nullable = true;
        if let [Value::Object(branch)] = &branches[..] {
            let branch = branch.clone();
            let stays = |name: &String| name == keyword || ANNOTATIONS.contains(&name.as_str());
            if property.keys().all(stays) {
                property.remove(keyword);
                for (name, value) in branch {
                    // The property's own keywords are more exact than those of its type.
                    property.entry(name).or_insert(value);
                }
            }
        }
    }
    if !nullable {
        return;
    }
    if let Some(Value::Array(values)) = property.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if property.get("default").is_some_and(Value::is_null) {
        property.remove("default");
    }
}

/// A constant text becomes an enum of one.
fn constant(members: &mut Map<String, Value>) {
    if members.get("const").is_some_and(Value::is_string)
        && !members.contains_key("enum")
        && let Some(value) = members.remove("const")
    {
        members.insert("enum".into(), json!([value]));
        members.entry("type").or_insert_with(|| json!("string"));
    }
}

/// `oneOf` or `anyOf` of constants becomes one enum. The branches' descriptions become lines of its
/// own: `fast: less exact`.
fn documented_enum(members: &mut Map<String, Value>) {
    for keyword in ["oneOf", "anyOf"] {
        let Some(Value::Array(branches)) = members.get(keyword) else { continue };
        if members.contains_key("enum") || branches.is_empty() {
            continue;
        }
        let (mut values, mut lines) = (Vec::new(), Vec::new());
        let all_constant = branches.iter().all(|branch| {
            let Value::Object(branch) = branch else { return false };
            if !branch.keys().all(|name| matches!(name.as_str(), "const" | "enum" | "type" | "title" | "description")) {
                return false;
            }
            let description = branch.get("description").or_else(|| branch.get("title")).and_then(Value::as_str);
            let these: Vec<Value> = match (branch.get("const"), branch.get("enum")) {
                (Some(value), None) => vec![value.clone()],
                (None, Some(Value::Array(these))) => these.clone(),
                _ => return false,
            };
            if let Some(description) = description {
                lines.extend(these.iter().map(|value| format!("{}: {description}", plain(value))));
            }
            values.extend(these);
            true
        });
        let Some(kind) = all_constant.then(|| one_type(&values)).flatten() else { continue };
        members.remove(keyword);
        members.insert("enum".into(), Value::Array(values));
        members.entry("type").or_insert_with(|| json!(kind));
        if !lines.is_empty() {
            let before = members.get("description").and_then(Value::as_str).map(|text| format!("{text}\n"));
            members.insert("description".into(), json!(before.unwrap_or_default() + &lines.join("\n")));
        }
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Adds the type that follows from the other keywords, or all types to a schema of any value.
fn typed(members: &mut Map<String, Value>) {
    if ["type", "$ref", "$dynamicRef", "anyOf", "oneOf", "allOf", "not", "if"]
        .iter()
        .any(|name| members.contains_key(*name))
    {
        return;
    }
    let has = |names: &[&str]| names.iter().any(|name| members.contains_key(*name));
    let kind = if let Some(Value::Array(values)) = members.get("enum") {
        one_type(values)
    } else if let Some(value) = members.get("const") {
        one_type(std::slice::from_ref(value))
    } else if has(&["properties", "required", "additionalProperties", "patternProperties"]) {
        Some("object")
    } else if has(&["items", "prefixItems", "minItems", "maxItems", "uniqueItems"]) {
        Some("array")
    } else if has(&["minLength", "maxLength", "pattern", "format", "contentEncoding"]) {
        Some("string")
    } else if has(&["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]) {
        Some("number")
    } else {
        if members.keys().all(|name| ANNOTATIONS.contains(&name.as_str())) {
            let array = json!({ "type": "array", "items": { "anyOf": ANY.map(|name| json!({ "type": name })) } });
            let branches = ANY.iter().map(|name| json!({ "type": name })).chain([array]);
            members.insert("anyOf".into(), branches.collect());
        }
        None
    };
    if let Some(kind) = kind {
        members.insert("type".into(), json!(kind));
    }
}

/// The type of all these values, if it is one.
fn one_type(values: &[Value]) -> Option<&'static str> {
    let kind = |value: &Value| match value {
        Value::String(_) => "string",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::Null => "null",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let first = kind(values.first()?);
    let is_number = |value: &Value| value.is_number();
    match values.iter().all(|value| kind(value) == first) {
        true => Some(first),
        false => values.iter().all(is_number).then_some("number"),
    }
}

/// A list of types becomes `anyOf`: of one type and null, with the keywords that validate inside.
fn type_array(members: &mut Map<String, Value>) {
    let Some(Value::Array(names)) = members.get("type") else { return };
    if let [name] = &names[..] {
        let name = name.clone();
        members.insert("type".into(), name);
        return;
    }
    if members.contains_key("anyOf") || names.is_empty() {
        return;
    }
    let names = names.clone();
    members.remove("type");
    let branches = match &names[..] {
        [name, null] | [null, name] if null == "null" && !members.contains_key("$ref") => {
            let mut branch = Map::from_iter([("type".to_owned(), name.clone())]);
            for keyword in members.keys().filter(|name| is_inside(name)).cloned().collect::<Vec<_>>() {
                if let Some(mut value) = members.remove(&keyword) {
                    if let ("enum", Value::Array(values)) = (keyword.as_str(), &mut value) {
                        values.retain(|value| !value.is_null());
                    }
                    branch.insert(keyword, value);
                }
            }
            vec![Value::Object(branch), json!({ "type": "null" })]
        }
        names => names.iter().map(|name| json!({ "type": name })).collect(),
    };
    members.insert("anyOf".into(), Value::Array(branches));
}

/// Whether a keyword moves into the branch of its type: not what describes, and not what
/// references expect where it is.
fn is_inside(name: &str) -> bool {
    !ANNOTATIONS.contains(&name) && !name.starts_with('$') && name != "definitions"
}

#[cfg(test)]
mod tests;
