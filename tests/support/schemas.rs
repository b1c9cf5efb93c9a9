//! The rules for tools that clients are shown, each with the client that breaks without it.
//!
//! What the host shows must satisfy them, whatever a plugin's SDK or compiler wrote. The versions of
//! the clients are those that failed.

use serde_json::{Map, Value};

/// Keywords whose value is a schema, an array of schemas, or an object of schemas.
const APPLIED: [&str; 13] = [
    "items",
    "additionalProperties",
    "then",
    "else",
    "unevaluatedProperties",
    "allOf",
    "anyOf",
    "oneOf",
    "prefixItems",
    "$defs",
    "definitions",
    "properties",
    "patternProperties",
];
/// What is wrong with these entries of `tools/list`, a line for each.
pub fn unreadable(tools: &[Value]) -> Vec<String> {
    let mut wrong = Vec::new();
    for tool in tools {
        let name = tool["name"].as_str().unwrap_or_default();
        let mut rule = |holds: bool, what: &str| {
            if !holds {
                wrong.push(format!("{name}: {what}"));
            }
        };
        // OpenAI, Anthropic and Gemini refuse a request with other names of functions.
        rule(is_name(name, "_-"), "the name is not [A-Za-z0-9_-]{1,64}");
        // llama-index-tools-mcp 0.6: TypeError of `to_openai_tool`.
        rule(tool["description"].as_str().is_some_and(|text| !text.trim().is_empty()), "no description");
        // mcpadapt 0.1 (smolagents 1.26): KeyError 'properties', and no tool of the server is left.
        rule(tool["inputSchema"]["properties"].is_object(), "inputSchema without properties");
        rule(tool["inputSchema"]["type"] == "object", "inputSchema that is not of an object");
        let names = tool["inputSchema"]["properties"].as_object().into_iter().flatten().map(|(name, _)| name);
        for parameter in names {
            // Anthropic refuses a request with other names of parameters.
            rule(is_name(parameter, "_.-"), &format!("the name of {parameter} is not [A-Za-z0-9_.-]{{1,64}}"));
        }
        for (schema, is_input) in [(&tool["inputSchema"], true), (&tool["outputSchema"], false)] {
            // Its parts refer to each other: shown as it is.
            if schema.to_string().contains("\"$anchor\"") {
                continue;
            }
            // Validators of draft-07, as in the SDK for TypeScript, refuse the name of the default draft.
            rule(schema["$schema"].as_str().is_none_or(|name| name.contains("draft-07")), "a $schema of 2020-12");
            walk(schema, is_input, &mut |what| rule(false, &what));
        }
    }
    wrong
}

fn is_name(name: &str, marks: &str) -> bool {
    (1..=64).contains(&name.len()) && name.chars().all(|c| c.is_ascii_alphanumeric() || marks.contains(c))
}

fn walk(schema: &Value, is_input: bool, wrong: &mut impl FnMut(String)) {
    let Value::Object(members) = schema else { return };
    let has = |name: &str| members.contains_key(name);
    // Semantic Kernel 1.45, autogen-ext 0.7 and DSPy 3.4 fail on the whole server or the tool;
    // langchain-google-genai 4.4 says STRING whatever the types are.
    if members.get("type").is_some_and(Value::is_array) {
        wrong(format!("an array of types in {schema}"));
    }
    // google-genai 3.4 loses the values and the type; Gemini's Schema does not have `oneOf`.
    if has("oneOf") {
        wrong(format!("oneOf in {schema}"));
    }
    if is_input {
        // google-genai 3.4: AttributeError 'bool' object has no attribute 'items', for the whole session.
        if members.get("additionalProperties").is_some_and(Value::is_boolean) {
            wrong(format!("a boolean additionalProperties in {schema}"));
        }
        // Gemini does not have `const`; LiteLLM 1.106 loses the value.
        if members.get("const").is_some_and(Value::is_string) {
            wrong(format!("const in {schema}"));
        }
        optional(members, wrong);
    }
    // Vertex AI and the strict mode of OpenAI refuse a schema without a type, autogen-ext 0.7 the whole server. A
    // result may be any value.
    let is_typed = ["type", "$ref", "anyOf", "allOf", "not", "if"].iter().any(|name| has(name));
    if !is_typed && one_type(members.get("enum")) && (is_input || has("enum") || has("const")) {
        wrong(format!("no type in {schema}"));
    }
    for (name, value) in members.iter().filter(|(name, _)| APPLIED.contains(&name.as_str())) {
        match value {
            Value::Array(schemas) => schemas.iter().for_each(|schema| walk(schema, is_input, wrong)),
            Value::Object(named)
                if matches!(name.as_str(), "$defs" | "definitions" | "properties" | "patternProperties") =>
            {
                named.values().for_each(|schema| walk(schema, is_input, wrong));
            }
            schema => walk(schema, is_input, wrong),
        }
    }
}

/// Whether all values of an enum have the same type; also without one.
fn one_type(values: Option<&Value>) -> bool {
    let Some(values) = values.and_then(Value::as_array) else { return true };
    values.windows(2).all(|pair| std::mem::discriminant(&pair[0]) == std::mem::discriminant(&pair[1]))
}

/// A parameter that need not be given has no null: Semantic Kernel and AutoGen take no union, and
/// LangChain tells Gemini STRING for one of them.
fn optional(members: &Map<String, Value>, wrong: &mut impl FnMut(String)) {
    let required = |name: &str| {
        members.get("required").and_then(Value::as_array).is_some_and(|names| names.iter().any(|it| it == name))
    };
    let is_null = |branch: &Value| branch["type"] == "null";
    for (name, property) in members.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let branches = property["anyOf"].as_array();
        let nullable = branches.is_some_and(|branches| branches.iter().any(is_null) && !branches.iter().all(is_null))
            || property["enum"].as_array().is_some_and(|values| values.len() > 1 && values.contains(&Value::Null));
        if nullable && !required(name) {
            wrong(format!("null for the optional {name}: {property}"));
        }
    }
}
