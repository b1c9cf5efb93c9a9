use super::*;

#[test]
fn valid_texts_pass() {
    for text in [
        "0",
        "-0.5e+10",
        "1e999",
        "123456789012345678901234567890",
        "\"\"",
        "null",
        " true ",
        "[]",
        "{}",
        "[1,[2,{\"a\":[]}]]",
        r#"{"a":"\ud83e\udd80\n","b":{}}"#,
        "\"é\u{7f}\"",
        "[ ]",
        "{ }",
        r#"{"a" : 1 , "a":2}"#,
    ] {
        assert_eq!(check_json(text, 64), Ok(()), "{text}");
        serde_json::from_str::<serde_json::Value>(text).expect(text);
    }
}

#[test]
fn invalid_texts_do_not() {
    for text in [
        "",
        " ",
        "01",
        "1.",
        ".5",
        "-",
        "+1",
        "1e",
        "[1,]",
        "[,1]",
        "{,}",
        "{\"a\"}",
        "{\"a\":}",
        "{a:1}",
        "\"",
        "\"\n\"",
        "\"\\x\"",
        "\"\\u12\"",
        "tru",
        "nul",
        "[1}",
        "{\"a\":1]",
        "1 2",
        "[]]",
        "'a'",
        "\"\\ud800\"",
        "\"\\udc00\"",
        "\"\\ud800\\u0041\"",
        "NaN",
        "[1",
        "{\"a\":1",
        "\u{feff}1",
        "{\"a\":1,}",
    ] {
        assert!(check_json(text, 64).is_err(), "{text:?}");
    }
}

#[test]
fn depth_is_bounded_without_recursion() {
    let nest = |n: usize| "[".repeat(n) + &"]".repeat(n);
    assert_eq!(check_json(&nest(64), 64), Ok(()));
    assert_eq!(check_json(&nest(65), 64), Err("nested too deep"));
    assert_eq!(check_json(&nest(1_000_000), 64), Err("nested too deep"));
}

#[test]
fn a_forged_line_becomes_one_line() {
    let forged = "[1,\n{\"jsonrpc\":\"2.0\", \"id\":8,\r\n\"result\":\" a \\\" \\n \"}\n,2]";
    let line = one_line(forged).expect("valid");
    assert!(!line.contains(['\n', '\r']));
    let parse = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("valid");
    assert_eq!(parse(&line), parse(forged));
    let plain = r#"{"spelling": 1.0e0}"#;
    assert!(matches!(one_line(plain), Ok(Cow::Borrowed(text)) if text == plain));
}
