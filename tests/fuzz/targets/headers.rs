//! A header passes if, and only if, its value equals that in the body.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use serde_json::value::RawValue;
use wharf::protocol::params::Params;
use wharf::server::Headers;

use super::{Target, bytes};

pub(super) fn target() -> Target {
    let seeds = bytes(&[
        "tool\ntool",
        "=?base64?aMOpbGxv?=\nhéllo",
        "=?base64?aMOpbGxv\nhéllo",
        "=?base64??=\n",
        "=?base64?PT9iYXNlNjQ/YT89?=\n=?base64?a?=",
        "42.0\n42",
        "1e2\n100",
        "9007199254740993\n9007199254740992",
        "true\ntrue",
        "null\nnull",
    ]);
    let words =
        vec!["=?base64?", "?=", "=", "/w==", "=?BASE64?", "1", "0", ".", "e", "-", "NaN", "inf", "\u{e9}", "\"", "\\"];
    Target { name: "headers", seeds, words, run }
}

/// The first line is the value of the header, the rest the value in the body.
fn run(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let (header, value) = text.split_once('\n').unwrap_or((&text, ""));
    let body = RawValue::from_string(json!({"name": value, "arguments": {}}).to_string()).expect("JSON");
    let passes = |header: &str| {
        let headers = Headers { method: Some("tools/call".into()), name: Some(header.into()), ..Headers::default() };
        headers.check("tools/call", &Params::read(Some(&body))).is_ok()
    };
    let coded = |text: &str| format!("=?base64?{}?=", STANDARD.encode(text));
    assert!(passes(&coded(value)), "base64 can encode any value");
    let inside = header.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?="));
    let same = match inside {
        Some(code) => STANDARD.decode(code).is_ok_and(|bytes| bytes == value.as_bytes()),
        None => header == value,
    };
    assert_eq!(passes(header), same, "{header:?} for {value:?}");

    let path = ["value".to_owned()];
    let headers = Headers { params: vec![("value".into(), header.into())], ..Headers::default() };
    let checks = |arguments: &str| headers.check_params(&[("Value", &path)], arguments).is_ok();
    assert_eq!(checks(&json!({"value": value}).to_string()), same, "a string argument");
    assert!(!checks("{}"), "a missing argument");
    // A number is compared by its value.
    if let Ok(value) = serde_json::from_str::<i64>(value) {
        let arguments = json!({"value": value}).to_string();
        if inside.is_none()
            && let Ok(header) = header.parse::<i64>()
        {
            assert_eq!(checks(&arguments), header == value, "{header} for {value}");
        }
    }
}
