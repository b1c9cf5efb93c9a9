//! Shapes, names and documentation; tests that run components are in `components`.

mod components;
mod properties;

use super::names::{FunctionPath, short};
use super::read;
use super::read::Mismatch;
use super::*;

fn record(fields: &[(&str, Shape)]) -> Shape {
    Shape::Record(fields.iter().map(|(name, shape)| ((*name).to_owned(), shape.clone())).collect())
}

fn option(shape: Shape) -> Shape {
    Shape::Option(Box::new(shape))
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Reads a value and writes it again.
fn round_trip(text: &str, shape: &Shape) -> String {
    let value = read::value(text, shape).unwrap_or_else(|mismatch| panic!("{text}: {mismatch:?}"));
    write::write(&value, shape, 1 << 20).expect("it was read")
}

fn mismatch(text: &str, shape: &Shape) -> (String, String) {
    let Mismatch { path, reason } = read::value(text, shape).map(|_| ()).expect_err(text);
    (path, reason)
}

#[test]
fn each_type_has_a_json_form() {
    let variant = Shape::Variant(vec![("none".into(), None), ("some-thing".into(), Some(Shape::String))]);
    let result = Shape::Result(Box::new(Sides { ok: Some(Shape::Bool), err: None }));
    for (shape, text) in [
        (Shape::Bool, "true"),
        (Shape::Integer(Width::S8), "-128"),
        (Shape::Integer(Width::U64), "18446744073709551615"),
        (Shape::Integer(Width::S64), "-9223372036854775808"),
        (Shape::F64, "-0.0"),
        (Shape::F64, "5e-324"),
        (Shape::F32, "0.1"),
        (Shape::Char, r#""🦀""#),
        (Shape::String, r#""a\"b\n""#),
        (Shape::Bytes, r#""AAEC/w==""#),
        (Shape::List(Box::new(Shape::Integer(Width::U16))), "[1,65535]"),
        (Shape::Tuple(vec![Shape::Bool, Shape::String]), r#"[false,""]"#),
        (Shape::Enum(names(&["red", "light-green"])), r#""light-green""#),
        (Shape::Flags(names(&["read", "write"])), r#"["read","write"]"#),
        (variant.clone(), r#"{"tag":"none"}"#),
        (variant, r#"{"tag":"some-thing","val":"x"}"#),
        (result.clone(), r#"{"ok":true}"#),
        (result, r#"{"err":null}"#),
        (option(Shape::Bool), "null"),
        (option(option(Shape::Bool)), r#"{"some":null}"#),
        (option(option(Shape::Bool)), r#"{"some":true}"#),
        (option(option(Shape::Bool)), "null"),
        (record(&[("a-b", Shape::Bool), ("c", option(Shape::Char))]), r#"{"a-b":true,"c":null}"#),
    ] {
        assert_eq!(round_trip(text, &shape), text, "{shape:?}");
    }
}

#[test]
fn equivalent_spellings_are_read() {
    for (shape, text, same) in [
        (Shape::Integer(Width::U8), "1e2", "100"),
        (Shape::Integer(Width::U8), "100.0", "100"),
        (Shape::Integer(Width::U8), "1000e-1", "100"),
        (Shape::Integer(Width::S8), "-0.0e5", "0"),
        (Shape::Integer(Width::U64), "9007199254740993.0", "9007199254740993"),
        (Shape::F64, "1", "1.0"),
        (Shape::Bytes, r#""AAEC/w""#, r#""AAEC/w==""#),
        (Shape::Flags(names(&["read", "write"])), r#"["write","read"]"#, r#"["read","write"]"#),
        (
            Shape::Variant(vec![("a".into(), Some(Shape::Bool))]),
            r#"{"val":true,"tag":"a"}"#,
            r#"{"tag":"a","val":true}"#,
        ),
        (record(&[("a", option(Shape::Bool))]), "{}", r#"{"a":null}"#),
        (record(&[("a", Shape::Bool)]), r#"{"a":false,"a":true}"#, r#"{"a":true}"#),
    ] {
        assert_eq!(round_trip(text, &shape), same, "{shape:?}");
    }
}

#[test]
fn a_mismatch_reports_path_and_reason() {
    let byte = Shape::Integer(Width::U8);
    for wrong in ["256", "-1", "1.5", "1e-1", "1e3", "1e99999999999999999999", r#""1""#, "true", "null", "[1]"] {
        assert_eq!(mismatch(wrong, &byte), (String::new(), "expected an integer from 0 to 255".into()), "{wrong}");
    }
    let deep = record(&[("a/b", Shape::List(Box::new(Shape::Tuple(vec![Shape::Bool, Shape::Char]))))]);
    let (path, reason) = mismatch(r#"{"a/b":[[true,"x"],[true,"xy"]]}"#, &deep);
    assert_eq!((path.as_str(), reason.as_str()), ("/a~1b/1/1", "expected a string of one character"));
    assert_eq!(mismatch(r#"{"a/b":[[true]]}"#, &deep).0, "/a~1b/0");
    assert_eq!(mismatch(r#"{"a/b":[[true,"x",1]]}"#, &deep).1, "expected an array of 2 elements");
    assert_eq!(mismatch("{}", &deep).1, r#"missing member "a/b""#);
    assert_eq!(mismatch(r#"{"a/b":[],"c":1}"#, &deep), ("/c".into(), "unknown member".into()));
    assert_eq!(mismatch(r#""=""#, &Shape::Bytes).1, "expected bytes as a base64 string");
    assert_eq!(mismatch(r#"["read","read"]"#, &Shape::Flags(names(&["read"]))).0, "");
    assert_eq!(mismatch("1e39", &Shape::F32).1, "expected a number in the range of a 32-bit float");
    assert_eq!(mismatch("1e400", &Shape::F64).1, "expected a number in the range of a 64-bit float");
    let held = Shape::Variant(vec![("a".into(), Some(Shape::Bool)), ("b".into(), None)]);
    for wrong in [r#"{"tag":"a"}"#, r#"{"tag":"b","val":null}"#, r#"{"val":true}"#, r#"{"tag":"c"}"#, r#""a""#] {
        assert!(mismatch(wrong, &held).1.starts_with("expected an object with the member \"tag\""), "{wrong}");
    }
    assert_eq!(mismatch(r#"{"tag":"a","val":1}"#, &held), ("/val".into(), "expected true or false".into()));
    let result = Shape::Result(Box::default());
    for wrong in ["{}", r#"{"ok":null,"err":null}"#, r#"{"ok":1}"#, "null"] {
        mismatch(wrong, &result);
    }
}

#[test]
fn the_number_of_values_is_limited() {
    let list = Shape::List(Box::new(Shape::Bool));
    let text = format!("[{}true]", "true,".repeat(1 << 20));
    assert_eq!(mismatch(&text, &list).1, "it has more than 1048576 values");
    let bytes = format!("\"{}\"", "AAAA".repeat(1 << 19));
    assert_eq!(mismatch(&bytes, &Shape::Bytes).1, "it has more than 1048576 values");
}

#[test]
fn nan_and_infinities_are_written_as_strings() {
    for (value, text) in [(f64::NAN, "\"NaN\""), (f64::INFINITY, "\"Infinity\""), (f64::NEG_INFINITY, "\"-Infinity\"")]
    {
        assert_eq!(write::write(&Val::Float64(value), &Shape::F64, 100).as_deref(), Ok(text));
        assert_eq!(write::write(&Val::Float32(value as f32), &Shape::F32, 100).as_deref(), Ok(text));
        let accepts = |way| {
            let schema = crate::plugin::schema::Schema::compile(&schema(&Shape::F64, way)).expect("a schema");
            schema.validate_text(text).is_ok()
        };
        assert!(accepts(Direction::Out) && !accepts(Direction::In), "{text}");
        mismatch(text, &Shape::F64);
    }
}

#[test]
fn large_values_are_not_written() {
    for (value, shape) in [
        (Val::String("x".repeat(100)), Shape::String),
        (Val::List(vec![Val::U8(0); 100]), Shape::Bytes),
        (Val::List(vec![Val::Bool(true); 100]), Shape::List(Box::new(Shape::Bool))),
    ] {
        assert_eq!(write::write(&value, &shape, 99), Err(write::WriteError::TooLarge), "{shape:?}");
        assert!(write::write(&value, &shape, 1000).is_ok());
    }
    assert_eq!(write::write(&Val::Bool(true), &Shape::String, 99), Err(write::WriteError::Mismatch));
}

#[test]
fn names_are_as_short_as_possible() {
    let at = |interface, function| FunctionPath { interface, function };
    let places = [
        at(None, "run"),
        at(Some("local:time-server/time"), "get-current-time"),
        at(Some("a:one/store@1.0.0"), "get"),
        at(Some("b:two/cache@2.1.0"), "get"),
        at(Some("c:x/dup"), "f"),
        at(Some("d:x/dup@1.0.0"), "f"),
        at(Some("c:x/runner"), "run"),
    ];
    let expected = ["run", "get-current-time", "store_get", "cache_get", "c_x_dup_f", "d_x_dup_1_0_0_f", "runner_run"];
    assert_eq!(short(&places), expected);
    let wassette: Vec<String> = places.iter().map(FunctionPath::wassette).collect();
    assert_eq!(wassette[..3], ["run", "local_time-server_time_get-current-time", "a_one_store_1_0_0_get"]);
}

#[test]
fn documentation_of_both_format_versions_is_read() {
    let component = |version: u8, json: &str| {
        let mut component = wat::parse_str("(component)").expect("a component");
        let content = [&[12], b"package-docs".as_slice(), &[version], json.as_bytes()].concat();
        component.push(0);
        // An unsigned LEB128 of two bytes.
        component.extend([(content.len() & 0x7f) as u8 | 0x80, (content.len() >> 7) as u8]);
        component.extend(content);
        component
    };
    let first = Docs::of(&component(
        0,
        r#"{"worlds":{"w":{"funcs":{"run":" Runs.\n"}}},"interfaces":{"time":{"docs":"Times.","funcs":{"now":"Now.","then":null}}}}"#,
    ));
    let now = r#"{"worlds":{"w":{"func_exports":{"run":{"docs":"Runs."}},"funcs":{"run":{"docs":"An import."}},"interface_exports":{"own":{"funcs":{"f":{"docs":"Own."}}}}}},"interfaces":{"time":{"funcs":{"now":{"docs":"Now.","stability":{"unstable":{"feature":"x"}}}}}}}"#;
    let second = Docs::of(&component(1, now));
    for docs in [&first, &second] {
        assert_eq!(docs.function(None, "run").as_deref(), Some("Runs."));
        assert_eq!(docs.function(Some("a:b/time@0.1.0"), "now").as_deref(), Some("Now."));
        assert_eq!(docs.function(Some("a:b/time"), "then"), None);
        assert_eq!(docs.function(Some("a:b/other"), "now"), None);
    }
    assert_eq!(second.function(Some("own"), "f").as_deref(), Some("Own."));
    for nothing in
        [component(2, now), component(1, "{"), component(1, "[]"), wat::parse_str("(component)").expect("one")]
    {
        assert_eq!(Docs::of(&nothing).function(None, "run"), None);
    }
    let long =
        Docs::of(&component(1, &format!(r#"{{"worlds":{{"w":{{"funcs":{{"run":"{}"}}}}}}}}"#, "é".repeat(1500))));
    assert_eq!(long.function(None, "run").map(|text| text.len()), Some(2048));
}
