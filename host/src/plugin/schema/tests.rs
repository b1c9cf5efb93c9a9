use super::*;

#[test]
fn a_violation_says_where_why_and_what_was_expected() {
    let schema =
        Schema::compile(r#"{"type":"object","properties":{"n":{"type":"integer","maximum":9}},"required":["n"]}"#)
            .expect("a schema");
    assert_eq!(schema.validate_text(r#"{"n":3}"#), Ok(()));
    let wrong = schema.validate_text(r#"{"n":"x"}"#).expect_err("a violation");
    assert_eq!(wrong.len(), 1);
    assert_eq!(wrong[0].path, "/n");
    assert_eq!(wrong[0].expected, r#"{"type":"integer"}"#);
    assert!(wrong[0].reason.contains("integer"), "{}", wrong[0].reason);
    let missing = schema.validate_text("{}").expect_err("a violation");
    assert_eq!(missing[0].path, "");
    assert!(missing[0].reason.contains("\"n\""), "{}", missing[0].reason);
}

/// Clients know the values, but not how the schema writes them.
#[test]
fn a_violation_is_explained_as_the_schema_is_shown() {
    let schema = Schema::compile(
        r##"{
            "type": "object",
            "properties": {
                "form": { "$ref": "#/$defs/form" },
                "maybe": { "anyOf": [{ "$ref": "#/$defs/form" }, { "type": "null" }] },
                "digits": { "type": ["null", "integer"] },
                "must": { "type": ["null", "integer"] },
                "shape": { "anyOf": [
                    { "type": "object", "properties": { "tag": { "const": "circle" }, "val": {} }, "required": ["tag", "val"] },
                    { "type": "object", "properties": { "tag": { "const": "square" } }, "required": ["tag"] }
                ] }
            },
            "required": ["must"],
            "$defs": { "form": { "oneOf": [
                { "const": "auto", "description": "a text that is longer than what is wrong" },
                { "enum": ["exact", "hex"] }
            ] } }
        }"##,
    )
    .expect("a schema");
    let values = r#"{"enum":["auto","exact","hex"]}"#;
    let named = r#"value is not one of "auto", "exact", "hex""#;
    for (given, reason, expected) in [
        (r#"{"must":1,"form":"nope"}"#, named, values),
        (r#"{"must":1,"maybe":"nope"}"#, named, values),
        (r#"{"must":1,"digits":"abc"}"#, r#"value is not of type "integer""#, r#"{"type":"integer"}"#),
        (r#"{"must":1,"shape":"square"}"#, r#"value is not of the form {"tag":"square"}"#, ""),
        (r#"{"must":1,"shape":{"tag":"circle"}}"#, r#"value is not of the form {"tag":"circle","val":…}"#, ""),
        (
            r#"{"must":1,"shape":3}"#,
            r#"value is not of one of the forms {"tag":"circle","val":…}, {"tag":"square"}"#,
            "",
        ),
        (r#"{"mst":1}"#, r#""must" is a required property; did you mean "must" for "mst"?"#, ""),
    ] {
        let wrong = schema.validate_text(given).expect_err(given);
        assert_eq!(wrong[0].reason, reason);
        assert!(expected.is_empty() || wrong[0].expected == expected, "{}", wrong[0].expected);
    }
    let other = schema.validate_text(r#"{"must":"x"}"#).expect_err("a required one");
    assert!(other[0].reason.contains("null"), "{}", other[0].reason);
    let unlike = schema.validate_text(r#"{"unlike":1,"digits":1}"#).expect_err("a missing one");
    assert_eq!(unlike[0].reason, r#""must" is a required property"#);
}

#[test]
fn a_tool_without_arguments_allows_no_members() {
    let schema = Schema::compile(r#"{"type":"object","additionalProperties":false}"#).expect("a schema");
    let violations = schema.validate_text(r#"{"city":"Ulm"}"#).expect_err("a member");
    assert_eq!(violations[0].reason, "no members are allowed");
}

#[test]
fn only_two_drafts_are_supported() {
    let of = |draft: &str| format!(r#"{{"$schema":"{draft}","items":[{{"type":"string"}}]}}"#);
    let seven = Schema::compile(&of("http://json-schema.org/draft-07/schema#")).expect("draft-07");
    assert!(seven.validate_text("[1]").is_err());
    assert!(Schema::compile(&of("https://json-schema.org/draft/2020-12/schema")).is_err());
    assert!(Schema::compile(&of("http://json-schema.org/draft-04/schema#")).is_err());
    let now = Schema::compile(r#"{"prefixItems":[{"type":"string"}]}"#).expect("2020-12");
    assert!(now.validate_text("[1]").is_err());
}

#[test]
fn references_stay_within_the_schema() {
    for reference in ["https://example.com/s.json", "file:///etc/passwd", "other.json", "#anchor", "#/$defs/none"] {
        let schema = format!(r#"{{"properties":{{"a":{{"$ref":"{reference}"}}}}}}"#);
        let why = Schema::compile(&schema).expect_err(reference);
        assert!(why.contains("a $ref ") && why.contains(reference), "{why}");
    }
}

#[test]
fn exponential_references_are_refused_and_trees_are_not() {
    let mut defs = String::from(r#""d0":{"type":"integer"}"#);
    for level in 1..=26 {
        let below = format!(r##"{{"$ref":"#/$defs/d{}"}}"##, level - 1);
        defs += &format!(r#","d{level}":{{"allOf":[{below},{below}]}}"#);
    }
    let bomb = format!(r##"{{"$ref":"#/$defs/d26","$defs":{{{defs}}}}}"##);
    assert!(Schema::compile(&bomb).is_err());

    let tree = r##"{"$ref":"#/$defs/node","$defs":{"node":{"type":"object","properties":{
        "left":{"$ref":"#/$defs/node"},"right":{"$ref":"#/$defs/node"},
        "rest":{"type":"array","items":{"$ref":"#/$defs/node"}}}}}}"##;
    let tree = Schema::compile(tree).expect("a tree");
    assert!(tree.validate_text(r#"{"left":{"rest":[{"right":3}]}}"#).is_err());
    assert!(tree.validate_text(r#"{"left":{"rest":[{"right":{}}]}}"#).is_ok());

    for endless in [
        r##"{"$ref":"#"}"##,
        r##"{"anyOf":[{"type":"null"},{"$ref":"#"}]}"##,
        r##"{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}"##,
    ] {
        assert!(Schema::compile(endless).is_err(), "{endless}");
    }
}

#[test]
fn exponential_recursion_bounds_the_depth_of_values() {
    let nest = |levels: usize| r#"{"a":"#.repeat(levels) + "{}" + &"}".repeat(levels);
    for doubling in [
        r##"{"properties":{"a":{"allOf":[{"$ref":"#"},{"$ref":"#"}]}}}"##,
        r##"{"properties":{"a":{"$ref":"#"}},"patternProperties":{"^a":{"$ref":"#"}}}"##,
    ] {
        let schema = Schema::compile(doubling).expect("a schema");
        assert_eq!(schema.validate_text(&nest(10)), Ok(()));
        assert!(schema.validate_text(&nest(60)).is_err(), "{doubling}");
    }
    let single = Schema::compile(r##"{"properties":{"a":{"$ref":"#"}}}"##).expect("a schema");
    assert_eq!(single.validate_text(&nest(60)), Ok(()));
}

#[test]
fn patterns_cannot_backtrack_or_grow() {
    for pattern in [r"^((a*)*)\\1b$", "((a{1000}){1000}){10}"] {
        let schema = format!(r#"{{"type":"string","pattern":"{pattern}"}}"#);
        assert!(Schema::compile(&schema).is_err(), "{pattern}");
    }
    let nested = Schema::compile(r#"{"pattern":"^((a*)*)*b$"}"#).expect("a linear pattern");
    let start = std::time::Instant::now();
    assert!(nested.validate_text(&format!("\"{}\"", "a".repeat(50_000))).is_err());
    assert!(start.elapsed() < std::time::Duration::from_secs(5));
}

#[test]
fn invalid_schemas_are_refused() {
    for text in ["", "[]", "3", "{\"type\":3}", "{\"type\":\"thing\"}", "{\"properties\":[]}", "{\"required\":[1]}"] {
        assert!(Schema::compile(text).is_err(), "{text}");
    }
    let deep = r#"{"not":"#.repeat(5000) + "{}" + &"}".repeat(5000);
    assert!(Schema::compile(&deep).is_err());
}

#[test]
fn other_schemas_are_wrapped_if_their_meaning_is_kept() {
    let of = |text: &str| Wrapping::of(&Schema::compile(text).unwrap_or_else(|why| panic!("{text}: {why}")), text);
    assert_eq!(of(r##"{"type":"object","properties":{"a":{"$ref":"#"}}}"##), Wrapping::None);
    for (text, wrapped) in [
        (
            r#"{"type":"array","items":{"maximum":1e400}}"#,
            r#"{"type":"object","properties":{"result":{"type":"array","items":{"maximum":1e400}}},"required":["result"]}"#,
        ),
        (
            r##"{"$schema":"http://json-schema.org/draft-07/schema#","title":"t","definitions":{"a":true},"anyOf":[{"$ref":"#/definitions/a"}]}"##,
            r##"{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"a":true},"type":"object","properties":{"result":{"title":"t","anyOf":[{"$ref":"#/definitions/a"}]}},"required":["result"]}"##,
        ),
        (
            r##"{"$ref":"#/$defs/tree","$defs":{"tree":{"type":"object","properties":{"z":{"$ref":"#/$defs/tree"},"a":{}}}}}"##,
            r##"{"$defs":{"tree":{"type":"object","properties":{"z":{"$ref":"#/$defs/tree"},"a":{}}}},"type":"object","properties":{"result":{"$ref":"#/$defs/tree"}},"required":["result"]}"##,
        ),
        ("{}", r#"{"type":"object","properties":{"result":{}},"required":["result"]}"#),
    ] {
        assert_eq!(of(text), Wrapping::Result(wrapped.into()), "{text}");
        Schema::compile(wrapped).unwrap_or_else(|why| panic!("{wrapped}: {why}"));
    }
    for text in [
        r##"{"type":"array","items":{"$ref":"#"}}"##,
        r##"{"items":{"$ref":"#/properties/a"},"properties":{"a":{}}}"##,
        r#"{"$id":"https://example.org/a","type":"array"}"#,
        r#"{"type":"array","items":{"$anchor":"a"}}"#,
    ] {
        assert_eq!(of(text), Wrapping::Impossible, "{text}");
    }
}

mod stack;
