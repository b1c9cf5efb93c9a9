use super::*;

#[test]
fn line_breaks_between_tokens_are_removed() {
    let forged = "[1,\n{\"jsonrpc\":\"2.0\", \"id\":8,\r\n\"result\":\" a \\\" \\n \"}\n,2]";
    let line = one_line(forged).expect("valid");
    assert!(!line.contains(['\n', '\r']));
    let parse = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("valid");
    assert_eq!(parse(&line), parse(forged));
    let plain = r#"{"spelling": 1.0e0}"#;
    assert!(matches!(one_line(plain), Ok(Cow::Borrowed(text)) if text == plain));
}

#[test]
fn invalid_and_deep_json_is_refused() {
    let nest = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    assert!(one_line(&nest(MAX_DEPTH)).is_ok());
    assert!(one_line(&nest(MAX_DEPTH + 1)).is_err());
    assert!(one_line(&nest(1_000_000)).is_err());
    for text in ["", "{", "1 2", "\"\\ud800\"", "NaN", "\u{feff}1"] {
        assert!(one_line(text).is_err(), "{text:?}");
    }
    assert_eq!(object_line("[1]"), Err("not a JSON object".to_owned()));
}
