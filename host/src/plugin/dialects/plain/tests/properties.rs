//! Properties of all shapes and values: a schema accepts exactly what is read, and values
//! round-trip.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::plugin::schema::Schema;

fn shapes() -> impl Strategy<Value = Shape> {
    let widths = [Width::S8, Width::S16, Width::S32, Width::S64, Width::U8, Width::U16, Width::U32, Width::U64];
    let leaf = prop_oneof![
        Just(Shape::Bool),
        prop::sample::select(widths.to_vec()).prop_map(Shape::Integer),
        Just(Shape::F32),
        Just(Shape::F64),
        Just(Shape::Char),
        Just(Shape::String),
        Just(Shape::Bytes),
        Just(Shape::Stream(Box::new(Shape::List(Box::new(Shape::String))))),
        Just(Shape::Future(Box::new(Shape::Bool))),
        (1..4usize).prop_map(|count| Shape::Enum(some_names(count))),
        (1..4usize).prop_map(|count| Shape::Flags(some_names(count))),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let many = prop::collection::vec(inner.clone(), 1..4);
        let cases = prop::collection::vec(prop::option::of(inner.clone()), 1..4);
        prop_oneof![
            inner.clone().prop_map(|shape| match shape {
                Shape::Integer(Width::U8) => Shape::Bytes,
                shape => Shape::List(Box::new(shape)),
            }),
            inner.clone().prop_map(option),
            many.clone().prop_map(Shape::Tuple),
            many.prop_map(|shapes| Shape::Record(some_names(shapes.len()).into_iter().zip(shapes).collect())),
            cases.prop_map(|cases| Shape::Variant(some_names(cases.len()).into_iter().zip(cases).collect())),
            (prop::option::of(inner.clone()), prop::option::of(inner))
                .prop_map(|(ok, err)| Shape::Result(Box::new(Sides { ok, err }))),
        ]
    })
}

fn some_names(count: usize) -> Vec<String> {
    ["a", "b-c", "tag", "val"].into_iter().take(count).map(str::to_owned).collect()
}

fn integers(width: Width) -> BoxedStrategy<Val> {
    match width {
        Width::S8 => any::<i8>().prop_map(Val::S8).boxed(),
        Width::S16 => any::<i16>().prop_map(Val::S16).boxed(),
        Width::S32 => any::<i32>().prop_map(Val::S32).boxed(),
        Width::S64 => any::<i64>().prop_map(Val::S64).boxed(),
        Width::U8 => any::<u8>().prop_map(Val::U8).boxed(),
        Width::U16 => any::<u16>().prop_map(Val::U16).boxed(),
        Width::U32 => any::<u32>().prop_map(Val::U32).boxed(),
        Width::U64 => any::<u64>().prop_map(Val::U64).boxed(),
    }
}

/// Values of a shape that JSON can express.
fn values(shape: &Shape) -> BoxedStrategy<Val> {
    let held = |shape: &Option<Shape>| match shape {
        Some(shape) => values(shape).prop_map(|value| Some(Box::new(value))).boxed(),
        None => Just(None).boxed(),
    };
    match shape {
        Shape::Bool => any::<bool>().prop_map(Val::Bool).boxed(),
        Shape::Integer(width) => integers(*width),
        Shape::F32 => any::<f32>().prop_filter("finite", |number| number.is_finite()).prop_map(Val::Float32).boxed(),
        Shape::F64 => any::<f64>().prop_filter("finite", |number| number.is_finite()).prop_map(Val::Float64).boxed(),
        Shape::Char => any::<char>().prop_map(Val::Char).boxed(),
        Shape::String => any::<String>().prop_map(Val::String).boxed(),
        Shape::Bytes => prop::collection::vec(any::<u8>().prop_map(Val::U8), 0..9).prop_map(Val::List).boxed(),
        Shape::List(shape) => prop::collection::vec(values(shape), 0..4).prop_map(Val::List).boxed(),
        Shape::Tuple(shapes) => shapes.iter().map(values).collect::<Vec<_>>().prop_map(Val::Tuple).boxed(),
        Shape::Record(fields) => {
            let names: Vec<String> = fields.iter().map(|(name, _)| name.clone()).collect();
            let all: Vec<_> = fields.iter().map(|(_, shape)| values(shape)).collect();
            all.prop_map(move |values| Val::Record(names.iter().cloned().zip(values).collect())).boxed()
        }
        Shape::Variant(cases) => {
            let case = |(name, shape): &(String, Option<Shape>)| {
                let name = name.clone();
                held(shape).prop_map(move |value| Val::Variant(name.clone(), value))
            };
            prop::strategy::Union::new(cases.iter().map(case)).boxed()
        }
        Shape::Stream(whole) | Shape::Future(whole) => values(whole),
        Shape::Enum(names) => prop::sample::select(names.clone()).prop_map(Val::Enum).boxed(),
        Shape::Flags(names) => prop::sample::subsequence(names.clone(), 0..=names.len()).prop_map(Val::Flags).boxed(),
        Shape::Option(shape) => {
            prop::option::of(values(shape)).prop_map(|value| Val::Option(value.map(Box::new))).boxed()
        }
        Shape::Result(sides) => prop_oneof![
            held(&sides.ok).prop_map(|value| Val::Result(Ok(value))),
            held(&sides.err).prop_map(|value| Val::Result(Err(value))),
        ]
        .boxed(),
    }
}

fn shaped() -> impl Strategy<Value = (Shape, Val)> {
    shapes().prop_flat_map(|shape| (Just(shape.clone()), values(&shape)))
}

/// Replacements for parts of a value.
fn oddities() -> impl Strategy<Value = Value> {
    let odd = [
        r#"null"#,
        "true",
        "0",
        "-1",
        "255",
        "256",
        "1.0",
        "1.5",
        "1e2",
        "65536",
        "1e10",
        "-129",
        "4294967296",
        "9223372036854775808",
        "18446744073709551616",
        r#""""#,
        r#""a""#,
        r#""ab""#,
        r#""b-c""#,
        r#""AA==""#,
        "[]",
        r#"["a"]"#,
        r#"["a","a"]"#,
        "[1,2]",
        "{}",
        r#"{"a":1}"#,
        r#"{"tag":"a"}"#,
        r#"{"tag":"a","val":null}"#,
        r#"{"some":null}"#,
        r#"{"ok":null}"#,
        r#"{"err":null}"#,
        r#"{"ok":null,"err":null}"#,
    ];
    prop::sample::select(odd.to_vec()).prop_map(|text| serde_json::from_str(text).expect("JSON"))
}

/// Replaces the part with that number, in pre-order.
fn replaced(value: &mut Value, part: &mut usize, with: &Value) {
    if *part == 0 {
        *value = with.clone();
    }
    *part = part.wrapping_sub(1);
    match value {
        Value::Array(elements) => elements.iter_mut().for_each(|element| replaced(element, part, with)),
        Value::Object(members) => members.values_mut().for_each(|member| replaced(member, part, with)),
        _ => {}
    }
}

/// Whether a shape contains bytes, which are base64 strings: no schema expresses which strings are valid.
fn has_bytes(shape: &Shape) -> bool {
    match shape {
        Shape::Bytes => true,
        Shape::List(shape) | Shape::Option(shape) => has_bytes(shape),
        Shape::Tuple(shapes) => shapes.iter().any(has_bytes),
        Shape::Record(fields) => fields.iter().any(|(_, shape)| has_bytes(shape)),
        Shape::Variant(cases) => cases.iter().any(|(_, shape)| shape.as_ref().is_some_and(has_bytes)),
        Shape::Result(sides) => [&sides.ok, &sides.err].into_iter().flatten().any(has_bytes),
        _ => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn every_value_round_trips((shape, value) in shaped()) {
        let text = write::write(&value, &shape, 1 << 20).expect("a value of the shape");
        for way in [Direction::In, Direction::Out] {
            let compiled = Schema::compile(&schema(&shape, way)).expect("a schema");
            prop_assert!(compiled.validate_text(&text).is_ok(), "{way:?} {text}");
        }
        let again = read::value(&text, &shape);
        prop_assert_eq!(again.as_ref(), Ok(&value), "{}", text);
    }

    #[test]
    fn a_schema_accepts_what_is_read(
        (shape, value) in shaped(),
        part in 0..6usize,
        odd in oddities(),
    ) {
        let text = write::write(&value, &shape, 1 << 20).expect("a value of the shape");
        let mut json: Value = serde_json::from_str(&text).expect("JSON");
        replaced(&mut json, &mut part.clone(), &odd);
        let text = json.to_string();
        let accepted = Schema::compile(&schema(&shape, Direction::In)).expect("a schema").validate(&json);
        let read = read::value(&text, &shape);
        if accepted.is_ok() && has_bytes(&shape) && let Err(mismatch) = &read {
            prop_assert_eq!(&mismatch.reason, "expected bytes as a base64 string");
        } else {
            prop_assert_eq!(accepted.is_ok(), read.is_ok(), "{} {:?} {:?}", text, accepted, read);
        }
    }

    #[test]
    fn no_text_panics(shape in shapes(), text in "[\\[\\]{}:,\"a-z0-9.eE+-]{0,40}") {
        if let Ok(value) = read::value(&text, &shape) {
            prop_assert!(write::write(&value, &shape, 1 << 20).is_ok());
        }
    }
}

#[test]
fn arguments_are_an_object_of_the_parameters() {
    let params = [("to".to_owned(), Shape::String), ("times".to_owned(), option(Shape::Integer(Width::U8)))];
    let schema: Value = serde_json::from_str(&members_schema(&params, Direction::In)).expect("JSON");
    let expected = json!({
        "type": "object",
        "properties": {
            "to": { "type": "string" },
            "times": { "anyOf": [{ "type": "integer", "minimum": 0, "maximum": 255 }, { "type": "null" }] },
        },
        "required": ["to"],
        "additionalProperties": false,
    });
    assert_eq!(schema, expected);
    assert_eq!(read::members(r#"{"to":"x"}"#, &params), Ok((vec![Val::String("x".into()), Val::Option(None)], 1)));
}
