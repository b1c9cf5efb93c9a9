//! What is JSON, what is not, and reading one level of it.

use serde_json::Value;

use super::{DEPTH_CAP, Kind, MembersError, NESTING, check, entries, items, members, quote, single_line, string};

const GOOD: &[&str] = &[
    "null",
    " true ",
    "false",
    "0",
    "-0",
    "10",
    "-1.5e+10",
    "1E400",
    "0.0",
    "\"\"",
    "{}",
    "[]",
    "[1,[2,{\"a\":[]}],3]",
    "{\"a\":{\"b\":{}},\"c\":[]}",
    "\t\r\n[ 1 , 2 ]\n",
    r#""\"\\\/\b\f\n\r\t\u00e9""#,
    r#""\ud83d\ude00""#,
    "\"\u{7f}\u{2028}é😀\"",
    r#"{"":{"":""}}"#,
    "[[],{},[]]",
    r#"{"a":1,"a":2}"#,
];

const BAD: &[&str] = &[
    "",
    " ",
    "nul",
    "nulll",
    "True",
    "01",
    "-",
    "+1",
    "1.",
    ".5",
    "1e",
    "1e+",
    "0x1",
    "--1",
    "NaN",
    "Infinity",
    "\"",
    "\"a",
    "\"\\",
    "\"\\x\"",
    "\"\\u12\"",
    "\"\\u12g4\"",
    "\"\n\"",
    "\"\t\"",
    "\"\0\"",
    "'a'",
    "[",
    "]",
    "[1",
    "[1,",
    "[1,]",
    "[,1]",
    "[1 2]",
    "[1}",
    "{",
    "}",
    "{]",
    "{\"a\"",
    "{\"a\":",
    "{\"a\":1",
    "{\"a\":1,",
    "{\"a\":1,}",
    "{a:1}",
    "{1:1}",
    "{\"a\" 1}",
    "{\"a\":1]",
    "{\"a\":1 \"b\":2}",
    "1 2",
    "{}{}",
    "[] x",
    "\u{feff}1",
    "1\0",
    "// a\n1",
    "/* */1",
    "\u{a0}1",
    "{\"a\":}",
    "[1}]",
];

#[test]
fn the_check_agrees_with_the_grammar() {
    for text in GOOD {
        assert_eq!(check(text, 8), Ok(()), "{text}");
        assert!(serde_json::from_str::<Value>(text).is_ok(), "{text}");
    }
    for text in BAD {
        assert!(check(text, 8).is_err(), "{text:?}");
        assert!(serde_json::from_str::<Value>(text).is_err(), "{text:?}");
    }
}

/// Every text one edit away from a good one: the check and a full parser say the same.
#[test]
fn the_check_agrees_with_a_parser_on_mutations() {
    let alphabet = b"{}[]\",:\\ud8019.-+eE ntf\n\0/a";
    let (mut tried, mut valid) = (0, 0);
    for text in GOOD.iter().filter(|text| text.is_ascii()) {
        for at in 0..text.len() {
            for byte in alphabet {
                for insert in [true, false] {
                    let mut bytes = text.as_bytes().to_vec();
                    if insert {
                        bytes.insert(at, *byte)
                    } else {
                        bytes[at] = *byte
                    }
                    let mutated = String::from_utf8(bytes).unwrap();
                    let parsed = serde_json::from_str::<Value>(&mutated).is_ok();
                    assert_eq!(check(&mutated, 100).is_ok(), parsed, "{mutated:?}");
                    tried += 1;
                    valid += usize::from(parsed);
                }
            }
        }
    }
    assert!(tried > 5_000 && valid > 500, "{tried} {valid}");
}

#[test]
fn a_surrogate_needs_its_partner() {
    for text in [
        r#""\ud800""#,
        r#""\udfff""#,
        r#""\ud800\ud800""#,
        r#""\ude00\ud83d""#,
        r#""\ud83dx""#,
        r#""\ud83d\n""#,
        r#"{"\ud800":1}"#,
        r#"[["\uDBFF"]]"#,
    ] {
        assert!(check(text, 8).unwrap_err().reason.contains("surrogate"), "{text}");
    }
}

#[test]
fn depth_is_counted_without_recursion() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}"), ("[{\"[\":", "}]")] {
        let levels = open.matches(['[', '{']).count() - usize::from(open.contains("\"[\""));
        let nested = |times: usize| format!("{}1{}", open.repeat(times), close.repeat(times));
        let times = 12 / levels;
        assert_eq!(check(&nested(times), 12), Ok(()));
        assert_eq!(check(&nested(times), 11).unwrap_err().reason, NESTING);
        assert_eq!(check(&nested(1_000_000), usize::MAX).unwrap_err().reason, NESTING);
        assert_eq!(check(&nested(DEPTH_CAP / levels), usize::MAX), Ok(()));
    }
    assert_eq!(check("1", 0), Ok(()));
    assert_eq!(check("[]", 0).unwrap_err().offset, 0);
    assert_eq!(check("[[],[],[]]", 2), Ok(()));
}

#[test]
fn an_error_says_where() {
    let error = check("[1, tru]", 8).unwrap_err();
    assert_eq!(error.to_string(), "expected a value at byte 4");
}

#[test]
fn a_line_keeps_its_strings() {
    assert!(matches!(single_line("[1, 2]"), std::borrow::Cow::Borrowed("[1, 2]")));
    assert_eq!(single_line("{\r\n\t\"a \\\" b\\\\\" : [ 1 ,\n\" \" ]\n}"), r#"{"a \" b\\":[1," "]}"#);
    assert!(!single_line("\"a\nb\" \n").contains('\n'));
}

#[test]
fn strings_are_written_as_a_parser_reads_them() {
    let all: String = (0..=0x2100).filter_map(char::from_u32).collect();
    for text in ["", "plain", "\"\\/", "é😀\u{2028}", &all] {
        let quoted = quote(text);
        assert_eq!(check(&quoted, 0), Ok(()));
        assert_eq!(serde_json::from_str::<String>(&quoted).unwrap(), *text);
    }
}

#[test]
fn members_are_read_once_and_kept_as_text() {
    let text = r#"{ "b" : [1, 2] , "\u0061":null,"c":123456789012345678901234567890,"z":1,"z":2}"#;
    let [a, b, c, d] = members(text, ["a", "b", "c", "d"]).unwrap();
    assert_eq!(a.map(|raw| raw.get()), Some("null"));
    assert_eq!(b.map(|raw| raw.get()), Some("[1, 2]"));
    assert_eq!(c.map(|raw| raw.get()), Some("123456789012345678901234567890"));
    assert!(d.is_none());
    assert_eq!(members(text, ["z"]).unwrap_err(), MembersError::Repeated("z".to_owned()));
    assert_eq!(members("[1]", ["z"]).unwrap_err(), MembersError::NotAnObject);
    assert!(matches!(members("{\"z\":", ["z"]), Err(MembersError::Syntax(_))));
    assert!(matches!(members("{} {}", ["z"]), Err(MembersError::Syntax(_))));
}

/// These names are how serde_json speaks to itself; a client may send them too.
#[test]
fn no_name_is_magic() {
    for name in ["$serde_json::private::Number", "$serde_json::private::RawValue"] {
        let text = format!(r#"{{"{name}":"x","a":{{"{name}":"1"}}}}"#);
        let [a] = members(&text, ["a"]).unwrap();
        assert_eq!(a.unwrap().get(), format!(r#"{{"{name}":"1"}}"#));
        assert_eq!(entries(&text).unwrap()[0].0, name);
    }
}

#[test]
fn items_stop_at_their_limit() {
    let read = items(" [1, \"a\", {}] ", 2).unwrap();
    assert_eq!((read.first.len(), read.count, Kind::of(read.first[1])), (2, 3, Kind::String));
    assert_eq!(string(read.first[1]).as_deref(), Some("a"));
    assert!(items("{}", 2).is_none());
}
