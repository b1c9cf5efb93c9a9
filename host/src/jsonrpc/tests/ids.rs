//! Ids: acceptance, echo and equality.

use std::collections::HashSet;

use serde_json::value::RawValue;

use super::{invalid, reason, single};
use crate::jsonrpc::{Message, RequestId};

fn id(json: &str) -> RequestId {
    RequestId::parse(&RawValue::from_string(json.to_owned()).unwrap()).unwrap()
}

#[test]
fn a_valid_id_is_echoed_byte_for_byte() {
    let long = format!("\"{}\"", "x".repeat(1 << 20));
    for json in [
        "\"abc\"",
        "\"\"",
        "\"1\"",
        "1",
        "0",
        "-1",
        "-0",
        "9007199254740993",
        "9223372036854775808",
        "123456789012345678901234567890",
        "2.0",
        "1e2",
        "1E+2",
        "100e-2",
        "1.50e1",
        "0e99999999999999999999",
        "\"\\u0061\"",
        "\"\\ud83d\\ude00\"",
        "\" 1\"",
        &long,
    ] {
        let line = format!(r#"{{"jsonrpc":"2.0","id": {json} ,"method":"ping"}}"#);
        match single(line.as_bytes()) {
            Message::Request(request) => assert_eq!(request.id.to_string(), *json),
            other => panic!("{json}: {other:?}"),
        }
    }
}

#[test]
fn an_invalid_id_is_refused_and_not_echoed() {
    for json in [
        "null",
        "true",
        "false",
        "{}",
        "[]",
        "[1]",
        "1.5",
        "1e-3",
        "12e-2",
        "0.1",
        "1e-99999999999999999999",
        "1e99999999999999999999",
    ] {
        let line = format!(r#"{{"jsonrpc":"2.0","id":{json},"method":"tools/list"}}"#);
        let invalid = invalid(line.as_bytes());
        assert_eq!(
            (invalid.error.code, reason(&invalid), invalid.id.is_none()),
            (-32600, "invalid_id", true),
            "{json}"
        );
        assert!(invalid.error.message.contains("\"id\""), "{}", invalid.error.message);
    }
}

#[test]
fn ids_are_equal_by_type_and_value() {
    for (one, other) in [
        ("\"a\"", r#""\u0061""#),
        (r#""\/""#, "\"/\""),
        (r#""\u000a""#, r#""\n""#),
        ("1", "1.0"),
        ("100", "1e2"),
        ("100", "1E+2"),
        ("1200", "12e2"),
        ("1200", "1.2e3"),
        ("0", "-0"),
        ("0", "0.0e5"),
        ("10", "100e-1"),
        ("-10", "-1e1"),
        ("1", "0.1e1"),
    ] {
        assert_eq!(id(one), id(other), "{one} {other}");
        assert_eq!(HashSet::from([id(one), id(other)]).len(), 1, "{one} {other}");
    }
    for (one, other) in [
        ("1", "\"1\""),
        ("\"a\"", "\"A\""),
        ("\"a\"", "\" a\""),
        ("1", "-1"),
        ("1", "10"),
        ("9007199254740993", "9007199254740992"),
        ("123456789012345678901234567890", "123456789012345678901234567891"),
        ("\"1e2\"", "1e2"),
    ] {
        assert_ne!(id(one), id(other), "{one} {other}");
    }
    for number in [0, 1, 10, 100, u64::MAX] {
        assert_eq!(RequestId::new_number(number), id(&number.to_string()));
    }
}
