//! The stack use of the deepest validation that is allowed.

use crate::plugin::schema::{Schema, tree};

/// Half of the smallest stack on which values are validated: tokio's and Rust's default is 2 MiB.
const STACK: usize = 1 << 20;
/// Enough steps for the maximum depth: exponential schemas get no deeper with more.
const STEPS: u64 = 100_000;

/// Subschemas that apply another one to the same value.
const HERE: [&str; 10] = [
    r#"{"allOf":[@]}"#,
    r#"{"allOf":[{"minLength":1},@]}"#,
    r#"{"anyOf":[{"required":["z"],"minItems":9},@]}"#,
    r#"{"oneOf":[{"const":0},@]}"#,
    r#"{"not":{"not":@}}"#,
    r#"{"if":@,"then":true,"else":false}"#,
    r#"{"if":true,"then":@}"#,
    r#"{"dependentSchemas":{"a":@}}"#,
    r#"{"allOf":[@],"unevaluatedProperties":false,"unevaluatedItems":false}"#,
    "$ref",
];

/// Subschemas that apply the whole schema to a part of the value.
const INSIDE: [&str; 11] = [
    r#""properties":{"a":%}"#,
    r#""properties":{"a":%},"additionalProperties":false"#,
    r#""properties":{"a":%},"patternProperties":{"^b":false},"additionalProperties":false"#,
    r#""patternProperties":{"^a":%}"#,
    r#""patternProperties":{"^a[0-9]?$":%},"additionalProperties":false"#,
    r#""additionalProperties":%"#,
    r#""unevaluatedProperties":%"#,
    r#""items":%"#,
    r#""prefixItems":[%]"#,
    r#""contains":%"#,
    r#""unevaluatedItems":%"#,
];

/// A schema with that many subschemas around each level of the recursion.
fn recursive(here: &str, inside: &str, around: usize) -> String {
    let refers = r##"{"$ref":"#"}"##;
    let mut turn = format!("{{{},\"type\":[\"object\",\"array\"]}}", inside.replace('%', refers));
    let mut defs = String::new();
    for n in 0..around {
        if here == "$ref" {
            defs += &format!(r#","d{n}":{turn}"#);
            turn = format!(r##"{{"$ref":"#/$defs/d{n}"}}"##);
        } else {
            turn = here.replace('@', &turn);
        }
    }
    format!(r#"{{"$defs":{{"d":true{defs}}},{}"#, &turn[1..])
}

fn nested(inside: &str, levels: usize, leaf: &str) -> String {
    let (open, close) =
        if inside.contains("tems") || inside.contains("contains") { ("[", "]") } else { (r#"{"a":"#, "}") };
    open.repeat(levels) + leaf + &close.repeat(levels)
}

/// Runs the deepest validation that is allowed, reports included, and returns its depth.
fn check_deepest(here: &str, inside: &str, around: usize) -> u32 {
    // Some have too many subschemas to compile.
    let Ok(schema) = Schema::compile(&recursive(here, inside, around)) else { return 0 };
    let (mut least, mut most) = (0, crate::json::MAX_DEPTH);
    while least + 1 < most {
        let middle = (least + most) / 2;
        let value = tree(&nested(inside, middle, "{}")).expect("JSON");
        *if schema.effort(&value, STEPS).is_ok() { &mut least } else { &mut most } = middle;
    }
    let mut depth = 0;
    for leaf in ["{}", "[]", "0", "\"\""] {
        let value = tree(&nested(inside, least, leaf)).expect("JSON");
        let Ok(effort) = schema.effort(&value, STEPS) else { continue };
        depth = depth.max(effort.depth);
        let _ = schema.validate_with(&value, effort);
    }
    depth
}

fn on_half_a_stack<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    // A stack overflow aborts the process.
    std::thread::Builder::new().stack_size(STACK).spawn(work).expect("a thread").join().expect("no panic")
}

#[test]
fn the_deepest_validation_fits_half_a_stack() {
    let deepest = HERE.iter().flat_map(|here| INSIDE.map(|inside| (*here, inside))).map(|(here, inside)| {
        on_half_a_stack(move || [2, 12].map(|around| check_deepest(here, inside, around)).into_iter().max())
    });
    let deepest = deepest.max().flatten().expect("some");
    assert!(deepest + 5 > crate::plugin::schema::steps::MAX_DEPTH, "only {deepest} deep");
}

#[test]
fn the_deepest_text_fits_half_a_stack() {
    for (open, close) in [("(", ")"), ("[", "]"), ("{", "}"), ("(?=", ")"), ("(?:", ")*"), ("(a|", "b)"), ("[a&&", "]")]
    {
        let text = open.repeat(5_000) + "a" + &close.repeat(5_000);
        on_half_a_stack(move || {
            let draft = r#"{"$schema":"http://json-schema.org/draft-07/schema#","#;
            for asks in [r#""format":"regex"}"#, r#""contentMediaType":"application/json"}"#] {
                let schema = Schema::compile(&format!("{draft}{asks}")).expect("a schema");
                let value = serde_json::Value::from(text.clone());
                let effort = schema.effort(&value, crate::plugin::schema::MAX_STEPS).expect("few steps");
                let _ = schema.validate_with(&value, effort);
            }
        });
    }
}
