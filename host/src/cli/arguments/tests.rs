use serde_json::{Value, json};

use super::Arguments;

fn given(words: &[&str], schema: &Value) -> Value {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    Arguments::read(&words, schema).and_then(|read| read.typed(schema)).expect("arguments")
}

#[test]
fn values_have_the_types_of_the_schema() {
    let schema = json!({
        "properties": {
            "text": { "type": "string" },
            "maybe": { "anyOf": [{ "type": "string" }, { "type": "null" }] },
            "count": { "type": "integer" },
            "ratio": { "type": ["number", "null"] },
            "on": { "type": "boolean" },
            "choice": { "$ref": "#/$defs/choice" },
            "ids": { "type": "array", "items": { "type": "integer" } },
            "names": { "type": "array", "items": { "type": "string" } },
            "point": { "type": "object" },
            "any": {},
        },
        "$defs": { "choice": { "enum": [1, 2] } },
    });
    for (words, expected) in [
        (&["text=5"][..], json!({ "text": "5" })),
        (&["text=a=b", "count=5"], json!({ "text": "a=b", "count": 5 })),
        (&["text="], json!({ "text": "" })),
        (&["maybe=null"], json!({ "maybe": "null" })),
        (&["maybe:=null"], json!({ "maybe": null })),
        (&["ratio=-1.5"], json!({ "ratio": -1.5 })),
        (&["ratio=null", "on=true"], json!({ "ratio": null, "on": true })),
        (&["choice=2"], json!({ "choice": 2 })),
        (&["ids=1"], json!({ "ids": [1] })),
        (&["ids=1", "ids=2", "ids:=3"], json!({ "ids": [1, 2, 3] })),
        (&["ids=[1,2]"], json!({ "ids": [1, 2] })),
        (&["names=1", "names=[2]"], json!({ "names": ["1", "[2]"] })),
        (&[r#"point={"x":1}"#], json!({ "point": { "x": 1 } })),
        (&["any=5"], json!({ "any": 5 })),
        (&["any=five"], json!({ "any": "five" })),
        // The check of the arguments reports the error.
        (&["count=many"], json!({ "count": "many" })),
        (&[r#"{"count":1}"#], json!({ "count": 1 })),
        (&[], json!({})),
    ] {
        assert_eq!(given(words, &schema), expected, "{words:?}");
    }
}

#[test]
fn names_of_no_parameter_are_refused() {
    let of = |words: &[&str], schema: &Value| {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let read = Arguments::read(&words, schema).and_then(|read| read.typed(schema));
        read.map_err(|failure| failure.into_parts())
    };
    let schema = json!({ "properties": { "count": { "type": "integer" } } });
    let (reason, hint) = of(&["cuont=1"], &schema).expect_err("misspelt");
    assert!(reason.contains("cuont"), "{reason}");
    assert_eq!(hint.as_deref(), Some("did you mean count?"));
    assert!(of(&["other=1"], &schema).is_err());
    let (_, hint) = of(&["count.a=1"], &schema).expect_err("a member");
    assert_eq!(hint.as_deref(), Some(r#"write the members of count as JSON: 'count={"a":"VALUE"}'"#));
    assert_eq!(of(&[r#"{"other":1}"#], &schema).expect("as it is"), json!({ "other": 1 }));
    for open in [json!({}), json!({ "properties": {}, "additionalProperties": { "type": "string" } })] {
        assert_eq!(of(&["other=x"], &open).expect("an open object"), json!({ "other": "x" }));
    }
}

#[test]
fn hints_have_arguments_of_the_tool() {
    let hint = |word: &str, schema: &Value| {
        let read = Arguments::read(&[word.to_owned()], schema).and_then(|read| read.typed(schema));
        read.map(|_| ()).expect_err("wrong").into_parts().1.expect("a hint")
    };
    let numbers = json!({ "type": "array", "items": { "type": "number" } });
    let schema = json!({
        "properties": { "on": { "type": "boolean" }, "numbers": numbers, "mode": { "enum": ["fast", "slow"] } },
        "required": ["numbers"],
    });
    let example = r#"write numbers=1 numbers=2 on=true, or one JSON object in quotes: '{"numbers":[1,2],"on":true}'"#;
    assert_eq!(hint("{", &schema), example);
    let words = "write each item as an argument of its own: numbers=1 numbers=2 …";
    assert_eq!(hint("numbers=1, 2,3", &schema), words);
    assert!(hint("numbers=-1,a b", &schema).ends_with(": numbers=-1 'numbers=a b' …"));
    let texts = json!({ "properties": { "names": { "type": "array", "items": { "type": "string" } } } });
    assert_eq!(given(&["names=a,b"], &texts), json!({ "names": ["a,b"] }));
    assert_eq!(given(&["numbers=[1,2]"], &schema), json!({ "numbers": [1, 2] }));
    let only = json!({ "properties": { "mode": { "enum": ["fast", "slow"] }, "a b": { "type": "string" } } });
    assert_eq!(hint("{", &only), r#"write mode=fast, or one JSON object in quotes: '{"mode":"fast"}'"#);
    let general = r#"write KEY=VALUE for each argument, or one JSON object in quotes: '{"KEY":"VALUE"}'"#;
    let endless = json!({ "properties": { "a": { "type": "array", "items": { "$ref": "#/properties/a" } } } });
    for schema in [json!({}), endless, json!({ "properties": { "point": { "type": "object" } } })] {
        assert_eq!(hint("{", &schema), general);
    }
}

#[test]
fn schemas_that_refer_to_themselves_end() {
    let schema = json!({ "properties": { "a": { "$ref": "#/properties/b" }, "b": { "$ref": "#/properties/a" } } });
    assert_eq!(given(&["a=1"], &schema), json!({ "a": 1 }));
    let schema = json!({ "properties": { "a": { "anyOf": [{ "$ref": "#/properties/a" }, {}] } } });
    assert_eq!(given(&["a=x"], &schema), json!({ "a": "x" }));
}

#[test]
fn an_array_that_is_no_json_is_told_as_that() {
    let schema = json!({ "properties": {
        "numbers": { "type": "array", "items": { "type": "number" } },
        "names": { "type": "array", "items": { "type": "string" } },
    } });
    for (word, hint) in [
        ("numbers=[1,2,3", None),
        ("names=[\"a\"", Some("write each item as an argument of its own: names=TEXT names=TEXT")),
        ("names=['a']", Some("write each item as an argument of its own: names=TEXT names=TEXT")),
    ] {
        let words = [word.to_owned()];
        let failed = Arguments::read(&words, &schema).and_then(|read| read.typed(&schema)).expect_err("no JSON");
        let (what, given) = failed.into_parts();
        assert!(what.contains(" as JSON: "), "{what}");
        assert_eq!(given.as_deref(), hint, "{word}");
    }
    let words = ["{\"numbers\":[]}", "names=a"].map(str::to_owned);
    assert!(Arguments::read(&words, &schema).is_err(), "JSON and a pair");
    assert_eq!(given(&["names=[a,b"], &schema), json!({ "names": ["[a,b"] }));
}
