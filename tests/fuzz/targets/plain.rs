//! Arguments of a plain component are read or refused with a path; values that were read round-trip.

use wharf::plugin::Schema;
use wharf::plugin::plain::{Direction, Shape, Sides, Width, read, schema, write};

use super::{JSON_WORDS, Target, bytes};

pub(super) fn target() -> Target {
    let seeds = bytes(&[
        r#"{"a-b":[1,-2e1,18446744073709551615],"c":{"tag":"x","val":[null,{"some":null}]},"d":"AAEC/w=="}"#,
        r#"{"c":{"val":[0.5,{"some":true}],"tag":"x"},"a-b":[],"d":"","e":["r","w"],"f":{"err":"é"}}"#,
        r#"{"a-b":[1.0],"c":{"tag":"y"},"d":"AA","e":[],"f":{"ok":null},"g":"\u0041"}"#,
    ]);
    let mut words = vec!["\"tag\"", "\"val\"", "\"some\"", "\"ok\"", "\"err\"", "AA==", "e-1", "e+20", ".0", "\"a-b\""];
    words.extend(JSON_WORDS);
    Target { name: "plain", seeds, words, run }
}

fn shape() -> Shape {
    let option = |shape| Shape::Option(Box::new(shape));
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let held = Shape::Tuple(vec![option(Shape::F32), option(option(Shape::Bool))]);
    let fields = [
        ("a-b", Shape::List(Box::new(Shape::Integer(Width::U64)))),
        ("c", Shape::Variant(vec![("x".into(), Some(held)), ("y".into(), None)])),
        ("d", Shape::Bytes),
        ("e", option(Shape::Flags(names(&["r", "w"])))),
        ("f", option(Shape::Result(Box::new(Sides { ok: None, err: Some(Shape::Char) })))),
        ("g", option(Shape::String)),
        ("h", option(Shape::Enum(names(&["one", "two"])))),
        ("i", option(Shape::F64)),
    ];
    Shape::Record(fields.into_iter().map(|(name, shape)| (name.to_owned(), shape)).collect())
}

fn run(input: &[u8]) {
    // Plugins get only text that has passed the JSON check.
    let text = String::from_utf8_lossy(input);
    if wharf::json::check(&text, wharf::json::MAX_DEPTH).is_err() {
        return;
    }
    let shape = shape();
    let value = match read::value(&text, &shape) {
        Ok(value) => value,
        Err(mismatch) => {
            assert!(mismatch.path.is_empty() || mismatch.path.starts_with('/'), "{mismatch:?}");
            return assert!(!mismatch.reason.is_empty());
        }
    };
    let written = write::write(&value, &shape, 1 << 20).expect("it was read");
    assert_eq!(read::value(&written, &shape).as_ref(), Ok(&value), "{written}");
    let schema = Schema::compile(&schema(&shape, Direction::Out)).expect("a schema");
    assert!(schema.validate_text(&written).is_ok(), "{written}");
}
