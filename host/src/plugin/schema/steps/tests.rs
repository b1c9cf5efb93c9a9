use std::time::{Duration, Instant};

use serde_json::json;

use crate::plugin::schema::{FEW_STEPS, MAX_STEPS, Schema, tree};

/// A name, a schema, and a function for the text of a value of about that many bytes.
type Expensive = (&'static str, String, fn(usize) -> String);

/// The most expensive schemas and values, each grown until it is refused.
fn expensive() -> Vec<Expensive> {
    let zeros = |bytes: usize| format!("[{}0]", "0,".repeat(bytes / 2));
    let fan = |inner: &str| {
        let refs = |name: &str, n: usize| vec![format!(r##"{{"$ref":"#/$defs/{name}"}}"##); n].join(",");
        format!(
            r##"{{"items":{{"allOf":[{}]}},"$defs":{{"a":{{"allOf":[{}]}},"b":{inner}}}}}"##,
            refs("a", 68),
            refs("b", 68)
        )
    };
    let letters = |bytes: usize| {
        let mut seed = 7_u32;
        let letters = (0..bytes).map(|_| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if seed >> 31 == 0 { 'a' } else { 'b' }
        });
        format!("\"{}\"", letters.collect::<String>())
    };
    let objects = |bytes: usize| format!("[{}0]", r#"{"a":[1,{"b":2}]},"#.repeat(bytes / 18));
    let members = |bytes: usize| {
        let members: Vec<String> = (0..bytes / 16).map(|n| format!(r#""{n:010}":0"#)).collect();
        format!("{{{}}}", members.join(","))
    };
    let many = |one: &str, n: usize| vec![one; n].join(",");
    vec![
        ("fan", fan(r#"{"minimum":0}"#), zeros),
        ("any", fan(r#"{"minimum":0}"#).replace("allOf", "anyOf").replace(r#""minimum":0"#, r#""minimum":1"#), zeros),
        ("one", format!(r#"{{"items":{{"oneOf":[{}]}}}}"#, many(r#"{"type":"string"}"#, 500)), zeros),
        ("not", format!(r#"{{"items":{}{{}}{}}}"#, r#"{"not":"#.repeat(30), "}".repeat(30)), zeros),
        ("states", r#"{"pattern":"[ab]*a[ab]{900}[^ab]"}"#.into(), letters),
        ("optional", r#"{"pattern":"(?:[ab]?){900}[^ab]"}"#.into(), letters),
        ("subsets", r#"{"pattern":"[ab]*a[ab]{12}[^ab]"}"#.into(), letters),
        ("backwards", r#"{"pattern":"[ab]{12}a[ab]*$"}"#.into(), letters),
        ("table", r#"{"pattern":"[^ab]$"}"#.into(), letters),
        ("words", r#"{"pattern":"\\b[^ab]\\b"}"#.into(), letters),
        (
            "patterns",
            format!(
                r#"{{"allOf":[{}]}}"#,
                (0..200).map(|n| format!(r#"{{"pattern":"^[ab]*(a|b{n})?$"}}"#)).collect::<Vec<_>>().join(",")
            ),
            letters,
        ),
        (
            "names",
            format!(
                r#"{{"patternProperties":{{{}}},"propertyNames":{{"pattern":"^(?:[0-9]?){{200}}$"}}}}"#,
                (0..100).map(|n| format!(r#""^[0-9]*{n}[0-9]*$":{{"type":"number"}}"#)).collect::<Vec<_>>().join(",")
            ),
            members,
        ),
        ("properties", {
            let names: Vec<String> = (0..3000).map(|n| format!(r#""p{n}":{{}}"#)).collect();
            format!(r#"{{"items":{{"properties":{{{}}}}}}}"#, names.join(","))
        }, |bytes| format!("[{}{{}}]", "{},".repeat(bytes / 3))),
        ("required", {
            let names: Vec<String> = (0..3000).map(|n| format!(r#""p{n}""#)).collect();
            format!(r#"{{"items":{{"anyOf":[{{"required":[{}]}},{{}}]}}}}"#, names.join(","))
        }, |bytes| format!("[{}{{}}]", "{},".repeat(bytes / 3))),
        ("unique", r#"{"uniqueItems":true,"items":{"uniqueItems":true}}"#.into(), objects),
        (
            "pairs",
            r#"{"items":{"uniqueItems":true}}"#.into(),
            |bytes| {
                let long = "x".repeat(200);
                let fifteen: Vec<String> = (0..15).map(|n| format!(r#"{{"k":"{long}{n:02}"}}"#)).collect();
                let one = format!("[{}],", fifteen.join(","));
                format!("[{}[]]", one.repeat(bytes / one.len()))
            },
        ),
        ("enum", {
            let constants: Vec<String> = (0..1500).map(|n| format!(r#"{{"a":[1,{{"b":{}}}]}}"#, n + 3)).collect();
            format!(r#"{{"items":{{"anyOf":[{{"enum":[{}]}},{{}}]}}}}"#, constants.join(","))
        }, objects),
        (
            "numbers",
            format!(r#"{{"items":{{"allOf":[{}]}}}}"#, many(r#"{"multipleOf":0.1,"minimum":0}"#, 50)),
            |bytes| format!("[{}0]", format!("{},", "1".repeat(100)).repeat(bytes / 101)),
        ),
        (
            "tree",
            r##"{"anyOf":[{"type":"number"},{"items":{"$ref":"#"}},{"items":{"$ref":"#"},"minItems":2}]}"##.into(),
            |bytes| "[".repeat(bytes.ilog2() as usize) + "\"\"" + &"]".repeat(bytes.ilog2() as usize),
        ),
        ("rest", {
            let mut nested = String::from(r#"{"required":["a"],"unevaluatedProperties":{"type":"number"}}"#);
            for _ in 0..4 {
                nested = format!(r#"{{"allOf":[{nested},true],"unevaluatedProperties":{{"type":"number"}}}}"#);
            }
            format!(r#"{{"items":{nested}}}"#)
        }, |bytes| format!("[{}0]", r#"{"a":1,"b":2},"#.repeat(bytes / 14))),
        (
            "draft-07",
            r#"{"$schema":"http://json-schema.org/draft-07/schema#","items":{"format":"regex","contentMediaType":"application/json"}}"#.into(),
            |bytes| format!("[{}0]", r#""[[0,0,0,0,0,0,0]]","#.repeat(bytes / 20)),
        ),
        (
            "group names",
            r#"{"$schema":"http://json-schema.org/draft-07/schema#","format":"regex"}"#.into(),
            |bytes| format!("\"{}\"", (0..bytes / 12).map(|n| format!("(?<g{n:06}>)")).collect::<String>()),
        ),
    ]
}

/// The size in bytes of the largest value whose validation is allowed, and how long that takes.
fn slowest(schema: &str, value: fn(usize) -> String) -> (usize, Duration) {
    let schema = Schema::compile(schema).unwrap_or_else(|why| panic!("{why}: {schema}"));
    let allowed = |bytes: usize| {
        let value = tree(&value(bytes)).expect("JSON");
        schema.effort(&value, MAX_STEPS).is_ok().then_some(value)
    };
    let (mut least, mut most) = (16, 4 << 20);
    let mut kept = allowed(least);
    // Geometric bisection: the size may be a few bytes or megabytes.
    for _ in 0..6 {
        let middle = (least * most).isqrt();
        match allowed(middle) {
            Some(value) => (least, kept) = (middle, Some(value)),
            None => most = middle,
        }
    }
    let Some(value) = kept else { return (0, Duration::ZERO) };
    let start = computed();
    let _ = schema.validate(&value);
    (least, computed() - start)
}

/// CPU time of this thread: other tests run in parallel.
fn computed() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let spent = text.split(' ').next().and_then(|nanos| nanos.parse().ok());
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    spent.map_or_else(|| START.get_or_init(Instant::now).elapsed(), Duration::from_nanos)
}

#[test]
fn validation_within_the_limit_is_fast() {
    // Unoptimized code takes many times as long.
    let limit = if cfg!(debug_assertions) { Duration::from_secs(8) } else { Duration::from_millis(150) };
    for (name, schema, value) in expensive() {
        let (bytes, took) = slowest(&schema, value);
        assert!(took < limit, "{name}: {took:?} for {bytes} bytes");
    }
}

#[test]
fn realistic_values_are_far_from_the_limit() {
    let rows = r#"{"type":"object","properties":{"rows":{"type":"array","items":{"type":"object",
        "properties":{"id":{"type":"integer","minimum":0},"name":{"type":"string","maxLength":200},
        "mail":{"type":"string","pattern":"^[^@\\s]+@[^@\\s]+$"},"tags":{"type":"array","items":{"enum":["a","b","c"]},
        "uniqueItems":true}},"required":["id","name"],"additionalProperties":false}}}}"#;
    let row = json!({"id": 7, "name": "Somebody", "mail": "somebody@example.org", "tags": ["a", "c"]});
    let schema = Schema::compile(rows).expect("a schema");
    let value = json!({"rows": vec![row; 40_000]});
    let steps = schema.effort(&value, u64::MAX).expect("no limit").steps;
    assert!(steps < MAX_STEPS, "{steps} for {} bytes", value.to_string().len());
    assert_eq!(schema.validate(&value), Ok(()));

    let text =
        Schema::compile(r#"{"properties":{"text":{"type":"string","pattern":"^[\\s\\S]*$"}}}"#).expect("a schema");
    assert_eq!(text.validate(&json!({"text": "a line\n".repeat(500_000)})), Ok(()));

    let small = Schema::compile(r#"{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}}}"#);
    assert!(small.expect("a schema").effort(&json!({"a": 1, "b": 2}), FEW_STEPS).is_ok());
}
