use serde_json::{Value, json};

use super::SchemaStyle::Compatible;

/// The first property of an object with one property.
fn property(schema: Value, required: bool) -> Value {
    let required = if required { json!(["x"]) } else { json!([]) };
    let shown = Compatible.input(&json!({ "type": "object", "properties": { "x": schema }, "required": required }));
    shown["properties"]["x"].clone()
}

#[test]
fn an_optional_property_has_no_null() {
    for (schema, shown) in [
        (json!({ "type": ["string", "null"] }), json!({ "type": "string" })),
        (
            json!({ "type": ["null", "integer"], "default": null, "minimum": 0 }),
            json!({ "type": "integer", "minimum": 0 }),
        ),
        (json!({ "type": ["string", "null"], "enum": ["a", null] }), json!({ "type": "string", "enum": ["a"] })),
        (
            json!({ "anyOf": [{ "$ref": "#/$defs/P" }, { "type": "null" }], "description": "where" }),
            json!({ "$ref": "#/$defs/P", "description": "where" }),
        ),
        (
            json!({ "oneOf": [{ "type": "null" }, { "type": "array", "items": { "type": "string" } }] }),
            json!({ "type": "array", "items": { "type": "string" } }),
        ),
        (
            json!({ "anyOf": [{ "type": "string" }, { "type": "integer" }, { "type": "null" }] }),
            json!({ "anyOf": [{ "type": "string" }, { "type": "integer" }] }),
        ),
        (json!({ "type": "null" }), json!({ "type": "null" })),
    ] {
        assert_eq!(property(schema.clone(), false), shown, "{schema}");
    }
}

#[test]
fn a_required_property_keeps_null_without_an_array_of_types() {
    for (schema, shown) in [
        (
            json!({ "type": ["string", "null"], "minLength": 1, "description": "d" }),
            json!({ "anyOf": [{ "type": "string", "minLength": 1 }, { "type": "null" }], "description": "d" }),
        ),
        (
            json!({ "type": ["string", "integer", "null"], "minimum": 1 }),
            json!({ "anyOf": [{ "type": "string" }, { "type": "integer" }, { "type": "null" }], "minimum": 1 }),
        ),
        (json!({ "type": ["string"] }), json!({ "type": "string" })),
    ] {
        assert_eq!(property(schema.clone(), true), shown, "{schema}");
    }
}

#[test]
fn objects_have_properties_and_no_boolean_for_others() {
    let shown = json!({ "type": "object", "properties": {} });
    assert_eq!(Compatible.input(&json!({ "type": "object" })), shown);
    assert_eq!(Compatible.input(&json!({ "type": "object", "additionalProperties": false })), shown);
    assert_eq!(property(json!({ "type": "object", "additionalProperties": true }), true), shown);
    let map = json!({ "type": "object", "properties": {}, "additionalProperties": { "type": "integer" } });
    assert_eq!(property(json!({ "type": "object", "additionalProperties": { "type": "integer" } }), true), map);
}

#[test]
fn documented_enums_are_enums() {
    let schema = json!({
        "description": "How exact.",
        "default": "auto",
        "oneOf": [
            { "type": "string", "const": "auto", "description": "As short as it goes." },
            { "type": "string", "enum": ["hex", "binary"] },
        ],
    });
    let shown = json!({
        "description": "How exact.\nauto: As short as it goes.",
        "default": "auto",
        "enum": ["auto", "hex", "binary"],
        "type": "string",
    });
    assert_eq!(property(schema.clone(), true), shown);
    assert_eq!(Compatible.output(&schema), shown);
    let undocumented = json!({ "anyOf": [{ "const": 1 }, { "const": 2, "title": "two" }] });
    assert_eq!(property(undocumented, true), json!({ "enum": [1, 2], "type": "integer", "description": "2: two" }));
    let mixed = json!({ "anyOf": [{ "const": 1 }, { "const": true }] });
    assert_eq!(property(mixed, true)["anyOf"][0], json!({ "const": 1, "type": "integer" }));
}

#[test]
fn alternatives_are_any_of() {
    let tagged = json!({ "oneOf": [
        { "properties": { "tag": { "const": "cash" } }, "required": ["tag"], "additionalProperties": false },
        { "type": "string" },
    ] });
    let shown = json!({ "anyOf": [
        { "type": "object", "properties": { "tag": { "type": "string", "enum": ["cash"] } }, "required": ["tag"] },
        { "type": "string" },
    ] });
    assert_eq!(property(tagged, true), shown);
}

#[test]
fn types_are_stated_where_they_follow() {
    for (schema, kind) in [
        (json!({ "enum": ["a"] }), json!("string")),
        (json!({ "enum": ["a", 1] }), Value::Null),
        (json!({ "enum": [1, 1.5] }), json!("number")),
        (json!({ "const": 1.5 }), json!("number")),
        (json!({ "items": {} }), json!("array")),
        (json!({ "pattern": "^a" }), json!("string")),
        (json!({ "minimum": 0 }), json!("number")),
        (json!({ "properties": {} }), json!("object")),
    ] {
        assert_eq!(property(schema.clone(), true)["type"], kind, "{schema}");
    }
}

/// Models write an array of such values, so its items have types too.
#[test]
fn any_value_is_any_of_the_types() {
    let types = ["string", "number", "boolean", "object"].map(|name| json!({ "type": name }));
    let items = json!({ "type": "array", "items": { "anyOf": types } });
    let any = json!({ "anyOf": [types[0], types[1], types[2], types[3], items] });
    for schema in [json!({}), json!(true)] {
        assert_eq!(property(schema.clone(), true), any);
        let list = json!({ "type": "array", "items": schema });
        assert_eq!(property(list, false), json!({ "type": "array", "items": any }));
    }
    let mut described = any.clone();
    described["description"] = json!("Any JSON.");
    assert_eq!(property(json!({ "description": "Any JSON." }), true), described);
    assert_eq!(Compatible.output(&json!({ "type": "object", "properties": { "x": true } }))["properties"]["x"], true);
}

/// What is only data, or applies to what is not accepted, is not rewritten.
#[test]
fn other_values_are_left_alone() {
    for schema in [
        json!({ "type": "object", "properties": {}, "default": { "type": ["string", "null"], "const": "a" } }),
        json!({ "type": "object", "properties": {}, "examples": [{ "oneOf": [{ "const": "a" }] }] }),
        json!({ "not": { "type": ["string", "null"], "additionalProperties": false } }),
        json!({ "if": { "additionalProperties": false }, "then": { "type": "string" } }),
        json!({ "enum": [{ "additionalProperties": false }], "type": "object", "properties": {} }),
        json!(false),
    ] {
        assert_eq!(property(schema.clone(), true), schema);
    }
}

#[test]
fn a_schema_that_names_its_draft_is_rewritten() {
    let draft_2020 = "https://json-schema.org/draft/2020-12/schema";
    let draft_07 = "http://json-schema.org/draft-07/schema#";
    for (draft, stays) in [(draft_2020, false), (draft_07, true)] {
        let listed = json!({
            "$schema": draft,
            "type": "object",
            "properties": { "x": { "type": ["string", "null"] } },
            "additionalProperties": false,
        });
        let mut shown = json!({ "type": "object", "properties": { "x": { "type": "string" } } });
        if stays {
            shown["$schema"] = json!(draft);
        }
        assert_eq!(Compatible.input(&listed), shown);
        let result = json!({ "$schema": draft, "type": "object", "properties": { "x": { "enum": ["NaN"] } } });
        assert_eq!(Compatible.output(&result)["properties"]["x"], json!({ "enum": ["NaN"], "type": "string" }));
        assert_eq!(Compatible.output(&result).get("$schema").is_some(), stays);
    }
}

/// Each result that the checked schema accepts is accepted by the one that is shown.
#[test]
fn output_schemas_are_not_narrowed() {
    let schema = json!({
        "type": "object",
        "properties": { "line": { "type": ["integer", "null"] } },
        "additionalProperties": false,
    });
    let shown = json!({
        "type": "object",
        "properties": { "line": { "anyOf": [{ "type": "integer" }, { "type": "null" }] } },
        "additionalProperties": false,
    });
    assert_eq!(Compatible.output(&schema), shown);
    assert_eq!(Compatible.output(&json!({ "pattern": "^a" })), json!({ "pattern": "^a" }));
    let float = json!({ "anyOf": [{ "type": "number" }, { "enum": ["NaN", "Infinity", "-Infinity"] }] });
    let mut typed = float.clone();
    typed["anyOf"][1]["type"] = json!("string");
    assert_eq!(Compatible.output(&float), typed);
    assert_eq!(Compatible.output(&json!({ "enum": ["a", 1] })), json!({ "enum": ["a", 1] }));
}

/// It would mean something else: clients are shown it as it is.
#[test]
fn a_schema_whose_parts_depend_on_each_other_is_not_rewritten() {
    let optional = json!({ "anyOf": [{ "type": "null" }, { "type": "string" }, { "type": "integer" }] });
    for (keyword, value) in [
        ("a reference into a branch", json!({ "$ref": "#/properties/x/anyOf/1" })),
        ("a reference into a definition", json!({ "$ref": "#/$defs/d/anyOf/1" })),
        ("a reference to a name", json!({ "$ref": "#d" })),
        ("an anchor", json!({ "$anchor": "d" })),
        ("what no other keyword allows", json!({ "unevaluatedProperties": false })),
        ("a negated definition", json!({ "not": { "$ref": "#/$defs/d" } })),
        ("a condition", json!({ "if": { "allOf": [{ "$ref": "#/$defs/d" }] }, "then": false })),
    ] {
        let schema = json!({
            "type": "object",
            "properties": { "x": optional.clone(), "y": value },
            "$defs": { "d": optional.clone() },
        });
        assert_eq!(Compatible.input(&schema), schema, "{keyword}");
        assert_eq!(Compatible.output(&schema), schema, "{keyword}");
    }
    let schema = json!({
        "type": "object",
        "properties": { "x": optional.clone(), "y": { "$ref": "#/$defs/d" }, "z": { "$ref": "#" } },
        "$defs": { "d": optional },
    });
    assert_ne!(Compatible.input(&schema), schema, "a definition keeps its place");
}
