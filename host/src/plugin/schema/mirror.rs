//! Arguments of a tool that are repeated in HTTP headers: `x-mcp-header` in its input schema.
//!
//! Source: MCP 2026-07-28, basic/transports/streamable-http, "Custom Headers": clients drop a
//! tool that breaks its rules.

use std::collections::HashSet;

use serde_json::Value;

const KEY: &str = "x-mcp-header";
/// Maximum mirrored arguments of a tool: a call has a header for each.
const MAX_MIRRORED: usize = 32;
/// Maximum length of a property path: nested objects are parsed once more per level.
const MAX_PATH: usize = 8;

/// An argument that is mirrored in a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mirrored {
    /// The part after `Mcp-Param-`, as in the schema.
    pub header: String,
    /// Property names from the root to the argument.
    pub path: Vec<String>,
}

/// All mirrored arguments of a schema, or the rule that it breaks.
pub(in crate::plugin) fn mirrored(schema: &Value) -> Result<Vec<Mirrored>, String> {
    let mut found = Vec::new();
    let mut names = HashSet::new();
    visit(schema, &mut Vec::new(), true, &mut found)?;
    for Mirrored { header, .. } in &found {
        if !names.insert(header.to_ascii_lowercase()) {
            return Err(format!("two arguments have the {KEY} '{header}'"));
        }
    }
    Ok(found)
}

/// `reached`: the path from the root has only `properties`.
fn visit(value: &Value, path: &mut Vec<String>, reached: bool, found: &mut Vec<Mirrored>) -> Result<(), String> {
    let object = match value {
        Value::Object(object) => object,
        Value::Array(items) => return items.iter().try_for_each(|item| visit(item, path, false, found)),
        _ => return Ok(()),
    };
    if let Some(name) = object.get(KEY) {
        let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
        let name = name.as_str().filter(|name| !name.is_empty() && name.chars().all(token));
        let name = name.ok_or_else(|| format!("an {KEY} is not a valid header name"))?;
        if !reached || path.is_empty() {
            return Err(format!("the {KEY} '{name}' is not on a property reached through `properties` alone"));
        }
        if !matches!(object.get("type").and_then(Value::as_str), Some("string" | "integer" | "boolean")) {
            return Err(format!("the {KEY} '{name}' is not on a string, an integer or a boolean"));
        }
        if path.len() > MAX_PATH {
            return Err(format!("the {KEY} '{name}' is more than {MAX_PATH} properties deep"));
        }
        if found.len() == MAX_MIRRORED {
            return Err(format!("more than {MAX_MIRRORED} arguments have an {KEY}"));
        }
        found.push(Mirrored { header: name.to_owned(), path: path.clone() });
    }
    for (key, below) in object {
        match below {
            Value::Object(properties) if key == "properties" => {
                for (name, property) in properties {
                    path.push(name.clone());
                    visit(property, path, reached, found)?;
                    path.pop();
                }
            }
            // Values, not schemas.
            _ if matches!(key.as_str(), "const" | "enum" | "default" | "examples") => {}
            _ => visit(below, path, false, found)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(schema: Value) -> Result<Vec<Mirrored>, String> {
        mirrored(&schema)
    }

    #[test]
    fn plain_properties_are_found_at_any_depth() {
        let found = of(json!({"type": "object", "properties": {
            "a": {"type": "string", "x-mcp-header": "A"},
            "b": {"type": "object", "properties": {"c": {"type": "integer", "x-mcp-header": "C-d"}}},
            "x-mcp-header": {"type": "string"},
            "e": {"type": "string", "enum": [{"x-mcp-header": "no schema"}]},
        }}));
        let mirrored = |header: &str, path: &[&str]| Mirrored {
            header: header.into(),
            path: path.iter().map(|name| (*name).into()).collect(),
        };
        assert_eq!(found, Ok(vec![mirrored("A", &["a"]), mirrored("C-d", &["b", "c"])]));
        assert_eq!(of(json!({"type": "object"})), Ok(vec![]));
    }

    #[test]
    fn their_number_and_depth_are_bounded() {
        let many = |count: usize| {
            let properties =
                (0..count).map(|n| (format!("p{n}"), json!({"type": "string", "x-mcp-header": format!("P{n}")})));
            of(json!({"properties": properties.collect::<serde_json::Map<_, _>>()}))
        };
        assert_eq!(many(MAX_MIRRORED).map(|found| found.len()), Ok(MAX_MIRRORED));
        assert!(many(MAX_MIRRORED + 1).expect_err("one more").contains("more than 32 arguments"));
        let deep = |depth: usize| {
            let leaf = json!({"type": "string", "x-mcp-header": "Deep"});
            of((0..depth).fold(leaf, |inner, _| json!({"properties": {"p": inner}})))
        };
        assert_eq!(deep(MAX_PATH).map(|found| found.len()), Ok(1));
        assert!(deep(MAX_PATH + 1).expect_err("one more").contains("8 properties deep"));
    }

    #[test]
    fn headers_that_clients_reject_are_rejected() {
        let property = |property: Value| of(json!({"type": "object", "properties": {"a": property}}));
        for bad in [
            json!({"type": "string", "x-mcp-header": ""}),
            json!({"type": "string", "x-mcp-header": "a b"}),
            json!({"type": "string", "x-mcp-header": "a:b"}),
            json!({"type": "string", "x-mcp-header": 1}),
            json!({"type": "number", "x-mcp-header": "A"}),
            json!({"type": ["string", "null"], "x-mcp-header": "A"}),
            json!({"type": "array", "items": {"type": "string", "x-mcp-header": "A"}}),
            json!({"anyOf": [{"type": "string", "x-mcp-header": "A"}]}),
        ] {
            assert!(property(bad.clone()).is_err(), "{bad}");
        }
        let twice = json!({"properties": {
            "a": {"type": "string", "x-mcp-header": "Same"}, "b": {"type": "string", "x-mcp-header": "same"},
        }});
        assert!(of(twice).is_err());
        assert!(of(json!({"type": "object", "x-mcp-header": "Root"})).is_err());
    }
}
